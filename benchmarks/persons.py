"""People, not rows: what a promise to persons costs in accuracy, and what a promise to rows is worth to persons.

    python benchmarks/persons.py            the tables of docs/persons.md (a quarter of an hour on one core)
    python benchmarks/persons.py --seeds 5  the same with fewer seeds

*Patients.* Each has 1 to 20 visits, evenly. Age, a chronic burden and a treatment belong to the patient, three
measurements to the visit; whether a visit ends in hospital follows from both, with noise. A tree learns at epsilon 1
for one person in three ways: from all visits, one vote for each patient; from one visit of each patient, drawn at
random; and from all visits at epsilon 1 / 20 for each row, which the lemma of groups makes epsilon 1 for a person.
Accuracies are on the visits of 2,000 other patients, each patient counting the same: means over seeds, each with
patients, noise and draws of its own, and their standard errors. Differences are between fits on the same patients.

*Four people.* They have 100,000 rows, 25,000 each, and a rule that any tree finds: a person's own. Who is in the table?
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from privet import Categorical, Numeric, PrivateTreeClassifier, Schema

FEATURES = {
    "age": Numeric(18, 98),
    "burden": Numeric(0, 6),
    "treatment": Categorical(["none", "pills", "surgery"], other=False),
    "pressure": Numeric(80, 200),
    "lactate": Numeric(0, 10),
    "oxygen": Numeric(80, 100),
}
ROWS = Schema(FEATURES, classes=["home", "hospital"])
PERSONS = Schema(FEATURES, classes=["home", "hospital"], person="patient_id", records_per_person=20)
MOST_VISITS = 20
EPSILON = 1.0
SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)


def patients(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Visits of ``n`` patients, with their outcome in the column ``label``."""
    visits = rng.integers(1, MOST_VISITS + 1, n)
    who = np.repeat(np.arange(n), visits)
    age, burden = rng.uniform(18, 98, n), rng.gamma(2, 0.8, n)
    treatment = rng.integers(0, 3, n)
    n_visits = len(who)
    pressure = rng.normal(125, 18, n_visits) + 4 * burden[who]
    lactate = rng.gamma(2, 0.9, n_visits)
    oxygen = 99 - rng.gamma(1.5, 2.2, n_visits) - 0.6 * burden[who]
    risk = (
        0.03 * (age[who] - 60)
        + 0.5 * (burden[who] - 1.6)
        + 0.9 * (lactate > 2.5)
        + 1.1 * (oxygen < 93)
        + 0.02 * (pressure - 130)
        - 0.6 * (treatment[who] == 2)
        + 0.8 * rng.normal(size=n)[who]  # what nobody measured of a patient
    )
    label = np.where(rng.random(n_visits) < 1 / (1 + np.exp(-1.5 * risk)), "hospital", "home")
    names = np.array(["none", "pills", "surgery"])[treatment[who]]
    columns = {"age": age[who], "burden": burden[who], "treatment": names}
    measured = {"pressure": pressure, "lactate": lactate, "oxygen": oxygen}
    return pd.DataFrame({"patient_id": who, **columns, **measured, "label": label})


def one_visit_each(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return table.iloc[rng.permutation(len(table))].drop_duplicates("patient_id")


def accuracy(model: PrivateTreeClassifier, test: pd.DataFrame) -> float:
    """Of an average visit of an average patient."""
    right = pd.Series(model.predict(test[list(FEATURES)]) == test.label.to_numpy())
    return float(right.groupby(test.patient_id.to_numpy()).mean().mean())


def compare(n: int, seed: int) -> tuple[float, float, float]:
    """The accuracies of all visits, one visit each, and the lemma of groups, on the same patients."""
    rng = np.random.default_rng([seed, n])
    table, test = patients(n, rng), patients(2_000, rng)
    single = one_visit_each(table, rng)

    def fit(schema: Schema, epsilon: float, rows: pd.DataFrame) -> float:
        model = PrivateTreeClassifier(schema, epsilon=epsilon, random_state=int(rng.integers(2**31)))
        return accuracy(model.fit(rows, rows.label), test)

    return fit(PERSONS, EPSILON, table), fit(ROWS, EPSILON, single), fit(ROWS, EPSILON / MOST_VISITS, table)


def patients_table(seeds: int, sizes: Sequence[int]) -> None:
    print("| patients | all visits, a vote each | one visit each | difference | epsilon / 20 for a row |")
    print("|---|---|---|---|---|")
    differences = []
    for n in sizes:
        found = np.array([compare(n, seed) for seed in range(seeds)])
        gain = found[:, 0] - found[:, 1]
        differences.append(gain)
        cells = [_mean(found[:, 0]), _mean(found[:, 1]), _mean(gain, sign="+"), _mean(found[:, 2])]
        print(f"| {n:,} | {' | '.join(cells)} |", flush=True)
    print(f"\nMean difference over the table: {_mean(np.mean(differences, axis=0), sign='+')}.")


def _mean(values: np.ndarray, sign: str = "") -> str:
    return f"{values.mean():{sign}.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def four_people(seeds: int) -> None:
    """Three people are 'home' whatever is measured, and the fourth, if there, is 'hospital'."""
    print("\n| promise to | accuracy on these people's rows | right about the fourth person | by its own counts |")
    print("|---|---|---|---|")
    for name, schema in (("one row", ROWS), ("one person", PERSONS)):
        right, told, sizes = [], [], []
        for seed in range(seeds):
            rng = np.random.default_rng([seed, 4])
            table = four(rng)
            test = four(rng)
            fits = [
                PrivateTreeClassifier(schema, epsilon=EPSILON, leaves="counts", random_state=int(rng.integers(2**31)))
                for _ in range(2)
            ]
            there = fits[0].fit(table, table.label)
            fewer = table[table.patient_id < 3]
            not_there = fits[1].fit(fewer, fewer.label)
            fourth = test[test.patient_id == 3].head(1)[list(FEATURES)]
            guesses = [model.predict(fourth)[0] == "hospital" for model in (there, not_there)]
            told.append((guesses[0] + (not guesses[1])) / 2)
            right.append(float((there.predict(test[list(FEATURES)]) == test.label).mean()))
            sizes.append(float(sum(np.sum(there.tree_.nodes[leaf].counts) for leaf in there.tree_.leaves)))
        print(f"| {name} | {_mean(np.array(right))} | {np.mean(told):.0%} of the time | {np.mean(sizes):,.0f} |")


def four(rng: np.random.Generator) -> pd.DataFrame:
    table = patients(12_000, rng).iloc[:100_000]
    who = np.arange(len(table)) % 4
    return table.assign(patient_id=who, age=20.0 + 20 * who, label=np.where(who == 3, "hospital", "home"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="numbers of patients")
    parser.add_argument("--tables", nargs="*", default=["patients", "four"])
    asked = parser.parse_args()
    if "patients" in asked.tables:
        patients_table(asked.seeds, asked.sizes)
    if "four" in asked.tables:
        four_people(asked.seeds)


if __name__ == "__main__":
    main()
