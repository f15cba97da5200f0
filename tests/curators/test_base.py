"""What every curator promises, whatever it can do."""

from privet import MemoryCurator, Numeric, Schema
from privet.curators.base import Curator, reasons_void
from privet.curators.desk import Desk
from privet.questions.grid import public_grid

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=["n", "y"])


def test_a_curator_opens_a_desk_for_each_fit_and_answers_nothing_itself():
    curator = MemoryCurator([[0.5]], ["n"], SCHEMA)
    assert isinstance(curator, Curator)
    one, other = curator.open(), curator.open()
    assert type(one) is Desk
    assert one is not other
    assert one.ledger is other.ledger is curator.ledger
    assert (one.trust, one.void, one.capabilities) == (curator.trust, curator.void, curator.capabilities)
    for question in ("root", "tally", "choose", "peek", "curtain"):
        assert not hasattr(curator, question)


def test_a_fit_that_has_ended_ends_no_other():
    curator = MemoryCurator([[0.5]], ["n"], SCHEMA)
    one, other = curator.open(), curator.open()
    one.close()
    other.grid(public_grid(SCHEMA))
    assert other.root() is not None


def test_reasons_why_nothing_is_guaranteed_are_listed():
    inferred = Schema({"x": Numeric(0, 1, inferred=True)}, classes=["n", "y"], inferred=True)
    assert reasons_void(SCHEMA, reproducible=False) == ()
    assert reasons_void(SCHEMA, reproducible=True) == ("random_state: the noise can be reproduced",)
    assert reasons_void(inferred, reproducible=False)[0].startswith("schema inferred from the data")
    assert len(reasons_void(inferred, reproducible=True)) == 2
