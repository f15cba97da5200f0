"""All tables of a few records over tiny schemas, and the largest loss of an estimator between neighbours among them.

No sampling and no statistics: every private answer's probability is computed, in log space, for every sequence of
answers (``privet.audit.exact``).
"""

from itertools import combinations_with_replacement, product

import pandas

from exact_transcripts import loss, transcripts
from privet import Categorical, Ledger, Numeric, Schema
from privet.audit.exact import check_draws_nothing
from privet.audit.release import released
from rooms import hold

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
CASES = SCHEMAS | TARGETS | {"one category": Schema({"s": AB}, classes=["n", "y"])}
VALUES = {
    "one category": ("ab",),
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


def worst_loss(case, model, most_records, window=(-2, 6), room="memory", kinds=None):
    """The largest loss over all pairs of tables of at most ``most_records`` records that differ by one.

    With ``kinds``, of tables of these records alone.
    An estimator that draws public structure without a seed is refused: its transcripts cannot be compared.
    """
    schema = CASES[case]
    return _worst(schema, model, [(kind,) for kind in kinds or kinds_of(case)], most_records, window, room)


def worst_person_loss(case, model, most_persons, most_records, cap, window=(-2, 6), room="memory"):
    """The same of tables that differ by a person, who has up to ``most_records`` of which ``cap`` count.

    Which of them count is drawn, and so is who has the remainder of a weight: all draws are followed.
    """
    plain = CASES[case]
    schema = Schema(plain.features, classes=plain.classes, target=plain.target, person="who", records_per_person=cap)
    kinds = kinds_of(case)
    people = [own for n in range(1, most_records + 1) for own in combinations_with_replacement(kinds, n)]
    return _worst(schema, model, people, most_persons, window, room)


def kinds_of(case):
    """All records that there are."""
    schema = CASES[case]
    return list(product(*VALUES[case], schema.classes or (schema.target[0], 0.75)))


def _worst(schema, model, people, most, window, room):
    """The largest loss between tables of at most ``most`` people, tuples of records, one of whom comes or goes."""
    tables = {}

    def law(table):
        table = tuple(sorted(table, key=repr))
        if table not in tables:
            tables[table] = transcripts(fit(table), window)
        return tables[table]

    def fit(table):
        records = [record for person in table for record in person]
        X = pandas.DataFrame({name: [record[i] for record in records] for i, name in enumerate(schema.names)})
        y = [record[-1] for record in records]
        groups = None if schema.person is None else [who for who, person in enumerate(table) for _ in person]

        make = hold(room, X, y, schema, groups)
        return lambda mechanisms: model.fit_curator(make(ledger=Ledger(1e9), mechanisms=mechanisms))

    ends = (fit(people[:1]), fit(people[-1:]))
    check_draws_nothing(*(lambda mechanisms, run=run: released(run(mechanisms)) for run in ends))
    return max(
        loss(law(table), law((*table, added)))
        for n in range(most)
        for table in combinations_with_replacement(people, n)
        for added in people
    )
