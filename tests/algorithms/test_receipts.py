"""A fit's receipt has everything that was charged at its desk."""

import math
from fractions import Fraction

from privet import Categorical, Ledger, MemoryCurator, Schema
from privet.algorithms.receipts import receipt_of
from privet.questions.tally import Tally

SCHEMA = Schema({"s": Categorical(["a"], other=False)}, classes=["n"])
F = Fraction


def desk_of(ledger):
    return MemoryCurator([["a"]], ["n"], SCHEMA, ledger=ledger).open()


def test_roots_add_up_and_a_delta_that_was_given_is_stated():
    desk = desk_of(Ledger(math.inf))
    for _ in range(2):
        desk.tally({desk.root(): Tally()}, F(1, 4))
    receipt = receipt_of(desk, F(1), F(1, 10**6))
    assert receipt.verify()
    assert (receipt.spent, receipt.delta, receipt.shortfall) == (F(1, 2), F(1, 10**6), "")
    short = receipt_of(desk, F(1, 4), F(0), "the paper forgot one")
    assert short.verify()
    assert short.shortfall == "the paper forgot one"


def test_in_rho_what_was_reserved_is_converted():
    desk = desk_of(Ledger(math.inf, delta=1e-6))
    rho = desk.rho_within(F(1), F(1, 10**6))
    desk.tally({desk.root(rho, "rho"): Tally()}, rho / 2)
    receipt = receipt_of(desk, F(1), F(1, 10**6))
    assert receipt.verify()
    assert receipt.reserved == rho
    assert receipt.spent <= 1
