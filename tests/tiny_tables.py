"""All tables of a few records over tiny schemas, and the largest loss of an estimator between neighbours among them.

No sampling and no statistics: every private answer's probability is computed, in log space, for every sequence of
answers (``privet.audit.exact``).
"""

from itertools import combinations_with_replacement, product

import pandas

from privet import Categorical, Ledger, MemoryCurator, Numeric, Schema
from privet.audit.exact import check_draws_nothing, loss, transcripts
from privet.audit.release import released

AB = Categorical(["a", "b"], other=False)
SCHEMAS = {
    "two categories": Schema({"s": AB, "t": AB}, classes=["n", "y"]),
    "unlisted values": Schema({"s": Categorical(["a", "b"])}, classes=["n", "y"]),
    "integers": Schema({"i": Numeric(0, 2, integer=True)}, classes=["n", "y"]),
    "missing values": Schema({"i": Numeric(0, 1, integer=True, missing=True)}, classes=["n", "y"]),
    "three classes": Schema({"s": AB}, classes=["n", "m", "y"]),
    "one class": Schema({"s": AB}, classes=["n"]),
}
TARGETS = {
    "a target and a category": Schema({"s": AB}, target=(0, 1)),
    "a target and integers": Schema({"i": Numeric(0, 1, integer=True)}, target=(0, 1)),
    "a target on both sides of zero": Schema({"i": Numeric(0, 2, integer=True)}, target=(-1, 3)),
}
VALUES = {
    "two categories": ("ab", "ab"),
    "unlisted values": (("a", "b", "?"),),
    "integers": ((0, 1, 2),),
    "missing values": ((0.0, 1.0, float("nan")),),
    "three classes": ("ab",),
    "one class": ("ab",),
    "a target and a category": ("ab",),
    "a target and integers": ((0, 1),),
    "a target on both sides of zero": ((0, 2),),
}


def worst_loss(case, model, most_records, window=(-2, 6)):
    """The largest loss over all pairs of tables of at most ``most_records`` records that differ by one.

    An estimator that draws public structure without a seed is refused: its transcripts cannot be compared.
    """
    schema = (SCHEMAS | TARGETS)[case]
    kinds = list(product(*VALUES[case], schema.classes or (schema.target[0], 0.75)))
    tables = {}

    def law(table):
        table = tuple(sorted(table, key=repr))
        if table not in tables:
            tables[table] = transcripts(fit(table), window)
        return tables[table]

    def fit(table):
        X = pandas.DataFrame({name: [record[i] for record in table] for i, name in enumerate(schema.names)})
        y = [record[-1] for record in table]

        def run(mechanisms):
            return model.fit_curator(MemoryCurator(X, y, schema, ledger=Ledger(1e9), mechanisms=mechanisms))

        return run

    ends = (fit(kinds[:1]), fit(kinds[-1:]))
    check_draws_nothing(*(lambda mechanisms, run=run: released(run(mechanisms)) for run in ends))
    return max(
        loss(law(table), law((*table, added)))
        for n in range(most_records)
        for table in combinations_with_replacement(kinds, n)
        for added in kinds
    )
