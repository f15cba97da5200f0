"""Tables of tests are small, and would be fetched from DuckDB: here its SQL counts, as on a full disk."""

import pytest

from privet.curators.scratch import Scratch
from rooms import no_space


@pytest.fixture(autouse=True)
def counted_by_sql(request, monkeypatch):
    if request.path.name != "test_fetched.py":
        monkeypatch.setattr(Scratch, "array", no_space)
