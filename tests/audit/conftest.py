import pytest

from privet.audit import auditor


@pytest.fixture
def search_only(monkeypatch):
    """Audits end with their search: so they may have all the time in the world, and take as long as their pairs do."""
    monkeypatch.setattr(auditor, "_confirmed", lambda *_: ([], ""))
