"""A curator of records that were read before is as one that has read them, with a ledger of its own."""

from fractions import Fraction

from privet import Categorical, Ledger, MemoryCurator, PrivateTreeClassifier, Schema
from privet.audit.read_once import OfTheSameRecords
from privet.audit.release import released
from privet.privacy.mechanisms import mechanisms

SCHEMA = Schema({"s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
X, Y = [["a"], ["b"], ["a"]] * 20, ["n", "y", "n"] * 20
MODEL = PrivateTreeClassifier(epsilon=1.0, max_depth=2)


def test_it_answers_as_one_that_has_read_them_and_spends_from_its_own_ledger():
    read = MemoryCurator(X, Y, SCHEMA, ledger=Ledger(1), mechanisms=mechanisms(3))
    again = OfTheSameRecords(read, ledger=Ledger(1), mechanisms=mechanisms(3))
    assert released(MODEL.fit_curator(again)) == released(MODEL.fit_curator(read))
    assert read.ledger is not again.ledger
    assert read.ledger.spent == again.ledger.spent == Fraction(1)
    assert again.trust == read.trust
    assert again.void == read.void
