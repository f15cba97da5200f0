"""Tables of tests are small, and would be fetched from DuckDB: here its SQL counts, as it does with large ones."""

import pytest

from privet.curators.sql import fetched


@pytest.fixture(autouse=True)
def counted_by_sql(request, monkeypatch):
    if request.path.name != "test_fetched.py":
        monkeypatch.setattr(fetched, "FETCHED", 0)
