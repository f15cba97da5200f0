"""What is asked of held-out records, and what it costs."""

from fractions import Fraction

import numpy as np

from privet import Categorical, Ledger, MemoryCurator, PrivateTreeClassifier, Schema
from privet.evaluate.ask import ask

SCHEMA = Schema({"s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
X, Y = np.array([["a"], ["b"]] * 500, dtype=object), ["n", "y"] * 500
MODEL = PrivateTreeClassifier(SCHEMA, epsilon=10).fit(X, Y)


def test_a_table_costs_the_budget_with_or_without_a_hint():
    for hint, questions in ((None, ["tally", "evaluate"]), (1000.0, ["evaluate"])):
        desk = MemoryCurator(X, Y, SCHEMA, ledger=Ledger(20)).open()
        reading, counts = ask(desk.curtain, desk.root(Fraction(20)), MODEL.tree_, None, Fraction(20), 0.01, hint)
        assert [event.question for event in desk.events] == questions
        assert desk.ledger.spent == 20
        assert counts.shape == reading.scorer.shape
        assert abs(counts[0] - 500 * np.eye(2)).max() < 10  # of noise at epsilon 19.6: one chance in e^190
