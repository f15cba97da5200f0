"""One status for every role: what its files say, and what the others say in a dry run."""

import pytest

pytest.importorskip("cryptography")

from consortium.servers.town import Town
from privet.cli.roles import checked, status_of
from privet.consortium.consortium_file import Consortium
from privet.consortium.servers import status


def test_everybody_has_a_status_with_the_consortiums_fingerprint(tmp_path, monkeypatch):
    town = Town(tmp_path)
    try:
        digest = Consortium.read(tmp_path / "ann.consortium.toml").fingerprint
        for name in ("server0", "hospital", "trainer", "ann"):
            found = status_of(tmp_path / f"{name}.toml")
            assert found["consortium"] == digest
            assert found["certificates"][0]["name"] == f"{name} (own)"
        monkeypatch.setattr(status, "TO_CHECK", 0.2)
        assert all(each["problems"] for each in checked(tmp_path / "ann.toml", None, None))
    finally:
        town.held.close()
