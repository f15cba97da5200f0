import pytest

pytest.importorskip("cryptography")
pytest.importorskip("Crypto")
