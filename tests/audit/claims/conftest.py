from collections.abc import Callable
from functools import cache

import pytest

from claims_by_key import claim
from privet.audit.claims import Outcome


@pytest.fixture(scope="session")
def finding() -> Callable[[str], Outcome]:
    """What an attack on the claim of a key finds; each claim is attacked once."""
    return cache(lambda key: claim(key).attack())
