"""docs/benchmarks.md: generated from the store, never edited. Its words live here, its numbers nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from privet_bench.experiment import TITLES, canonical
from privet_bench.experiments.peers import EPSILONS, METHODS, OURS, PLAIN, SMALL
from privet_bench.peers import LIMIT, TOO_LONG
from privet_bench.registry import EXPERIMENTS
from privet_bench.runner import CHECKED, changes_since
from privet_bench.store import Store
from privet_bench.summary import Means, at, means, place, ranks
from privet_bench.tables import cell, chosen, commits, head, provenance, row, tables, values

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
AGE = re.compile(r"<!-- age -->.*?<!-- /age -->", re.S)
RIVALS = [name for name in METHODS if not name.startswith(OURS)]
NOT_BROKEN = [name for name in RIVALS if not METHODS[name].weaker.startswith("broken")]
AS_STATED = [name for name in RIVALS if not METHODS[name].weaker]
AND = " and "
READINGS = {
    "all that promise privacy": RIVALS,
    "broken promises left out": NOT_BROKEN,
    "promises that hold as stated": AS_STATED,
}
"""Whom to compare with: readers see all three."""

MEASURES = ("accuracy", "auc", "mse")

OURS_BY_EXPERIMENT = {
    name: tuple(method for method, own in EXPERIMENTS[name].methods.items() if not own.peer)
    for name in ("peers", "privatree")
}
"""The learners of ours on this page, whose results can become older than the code."""


MARKED = re.compile(r"<!-- bench ([\w-]+)((?: \w+=[^ \n]+)*) -->\n.*?<!-- /bench -->", re.S)
"""Where another page of the docs has the tables of an experiment, or of some of its values: ``epsilon=0.1,1.0``."""


def write(store: Store) -> None:
    PAGE.write_text(AGE.sub(age(store), text(store)), encoding="utf-8")
    for file in marked_pages():
        old = file.read_text(encoding="utf-8")
        new = filled(old, store)
        if new != old:
            file.write_text(new, encoding="utf-8")


def marked_pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(PAGE.parent.glob("*.md"))]


def filled(page: str, store: Store) -> str:
    """A page of the docs with the tables that the store has for it now."""

    def of(mark: re.Match[str]) -> str:
        lines = claims(store) if mark[1] == "claims" else _some(store, mark[1], mark[2].split())
        return f"<!-- bench {mark[1]}{mark[2]} -->\n{lines}\n<!-- /bench -->"

    return MARKED.sub(of, page)


def _some(store: Store, name: str, words: list[str]) -> str:
    only = values(words)
    rows = [row for row in store.rows(name) if chosen(row, only)]
    return "\n".join(tables(EXPERIMENTS[name], rows, f" --only {' '.join(words)}" if words else ""))


def text(store: Store) -> str:
    """The page, but for what it says about its age."""
    return "\n".join([*_introduction(), *_guarantees(), *_wins(store), *_ranks(store), *_sets(store), *_honesty(store),
                      *_costs(store), *_others(store), ""])  # fmt: skip


# -- whether it is up to date ----------------------------------------------------------------------------------------


def stale(store: Store) -> list[str]:
    """What the page lacks: results that came after it, or learners that changed after their results."""
    found = []
    written = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if AGE.sub("", written) != AGE.sub("", text(store)):
        found.append("docs/benchmarks.md is not what the store says: write it anew by `benchmarks/privet-bench page`")
    for file in marked_pages():
        if filled(old := file.read_text(encoding="utf-8"), store) != old:
            found.append(f"{file.name} has numbers that are not what the store says")
    return found + [line for line in [newer_code(store)] if line]


def newer_code(store: Store) -> str:
    """Empty, or which commits changed the learners after the oldest of our results."""
    counts = _changes(store)
    known = {commit: n for commit, n in counts.items() if n is not None}
    most = max(known.values(), default=0)
    if not most or _checked(store):
        return ""
    oldest = max(known, key=known.__getitem__)
    return (
        f"**Older than the code.** The learners changed in {most} commits since the oldest of our results "
        f"({oldest.removeprefix('in ')}); `benchmarks/privet-bench run {' '.join(OURS_BY_EXPERIMENT)} --anew` makes "
        "them again."
    )


def _changes(store: Store) -> dict[str, int | None]:
    """For each commit that made results of ours how many commits have changed the learners since; None: unknown."""
    rows = (row for name, methods in OURS_BY_EXPERIMENT.items() for row in store.rows(name) if row.method in methods)
    return {commit: changes_since(commit) for commit in {row.commit for row in rows}}


def _checked(store: Store) -> str:
    """Empty, or that the learners of today make the same results."""
    for own in store.rows(CHECKED):
        if changes_since(own.commit) == 0 and not own.commit.endswith("+"):
            return (
                f"The learners are those of the results: at {own.commit} {own.value:.0f} of our runs, one of each set "
                "and setting drawn at\nrandom among those of less than ten seconds, were made again, and none differed "
                "(`benchmarks/privet-bench check`)."
            )
    return ""


def age(store: Store) -> str:
    said = newer_code(store) or _checked(store)
    if not said and any(n is None for n in _changes(store).values()):
        said = "How old these results are is not known here: that takes the repository's history."
    said = said or "No learner has changed since the results on this page."
    return f"<!-- age -->\n{said}\n<!-- /age -->"


# -- the parts of the page -------------------------------------------------------------------------------------------


def _introduction() -> Iterator[str]:
    yield """# Benchmarks

Generated by `benchmarks/privet-bench page` from `benchmarks/results.parquet`: never edited. Under each table stand the
command that makes its runs again, the commit of the code that made them, and what the error is. `make bench` fills the
quick table, `make bench-full` runs all that is missing; both can be stopped and taken up again.

<!-- age --><!-- /age -->

Sets are the shared ones, at most 40,000 rows of each; every run is a fresh 80/20 split, the same for all methods. A
name with a colon is a numeric column of a set of classes, predicted from the others. Everybody is told the schema's
ranges, categories and classes; all else is as each library comes, but for DP-XGBoost, which has no default for the
number of trees, and whose examples are made for 100,000 records. We searched for it, on magic and california, and
checked on adult, which flatters it there: a tree for every 2,000 of records times epsilon, from 1 to 50, on all
records, with at least a tenth of their weight in each leaf (a fifth, and larger steps, for numbers); and it is told the
number of records. *Privet* is `PrivateForestClassifier` or `PrivateForestRegressor` with `delta=1e-6`, which is
DP-EBM's delta, too; *Privet, pure* has no delta. Accuracy is of `aim="labels"` and AUC of `aim="probabilities"`: one
model but where n * epsilon is small. DP-EBM and DP-XGBoost have no model of more than two classes."""
    yield (
        f"A fit of a peer that takes longer than {LIMIT // 60} minutes is stopped, and its cell says so; a number in "
        "brackets is that of the runs\nwhere it is not the usual one."
    )


def _guarantees() -> Iterator[str]:
    yield "\n## What the same epsilon promises\n"
    yield from head("method", ["its guarantee at the stated epsilon"])
    yield row(
        OURS, ["holds; the number of records is measured too, noise is discrete; a receipt that anybody can re-add"]
    )
    for name, method in (METHODS | PLAIN).items():
        if not name.startswith(OURS):
            yield row(name, [method.weaker or "holds, told ranges and classes"])
    yield (
        "\nPublic codes that do not build here, and are not compared: DPBoost and its heirs are not on PyPI; FedTree's "
        "wheel\nneeds a library of its own (NTL) and states no unit for its budget."
    )


def _wins(store: Store) -> Iterator[str]:
    yield "\n## Wins and losses\n"
    yield (
        "*First*: no mean of a rival is better. *Level*: behind by at most one standard error of the difference. The "
        "first three\ncolumns count all that promise privacy, broken promises included; the last three are *first or "
        "level* among all of these,\nwithout those whose promise is broken, and among those alone whose promise holds "
        f"as it is stated: {AND.join(AS_STATED)}.\n"
    )
    yield from head("", ["first", "level", "behind", *READINGS])
    rows = store.rows("peers")
    known, behind = means(rows), []
    everything: dict[str, list[str]] = {name: [] for name in READINGS}
    for measure in MEASURES:
        for epsilon in EPSILONS:
            own = at(known, measure, epsilon)
            places = {r: [place(m, OURS, rivals, measure) for m in own.values()] for r, rivals in READINGS.items()}
            if any(places["all that promise privacy"]):
                yield row(f"{TITLES[measure].removesuffix(' x 1000')}, epsilon {epsilon:g}", _read(places))
            for reading, said in places.items():
                everything[reading] += said
            behind += [
                (name, measure, epsilon, m)
                for name, m in sorted(own.items())
                if place(m, OURS, RIVALS, measure) == "behind"
            ]
    yield row("**all**", _read(everything))
    yield "\n" + provenance(EXPERIMENTS["peers"], rows)
    yield "\n### Where we are behind\n"
    if not behind:
        yield "Nowhere."
        return
    yield from head("set, measure, epsilon", [OURS, "best", "why"])
    for name, measure, epsilon, own in behind:
        best = max((m for m in RIVALS if m in own), key=lambda m: (-1 if measure == "mse" else 1) * own[m].value)
        cells = [cell(own[OURS], measure), f"{best}: {cell(own[best], measure)}", _why(name, measure, best)]
        yield row(f"{name}, {TITLES[measure]}, {epsilon:g}", cells)


def claims(store: Store) -> str:
    """What README says of all this."""
    every = [(name, m, k) for (name, _, k), m in means(store.rows("peers")).items() if k in MEASURES]
    said = {reading: [place(m, OURS, rivals, k) for _, m, k in every] for reading, rivals in READINGS.items()}
    *_, everybody, sound, stated = _read(said)
    sets = {name for name, m, k in every if place(m, OURS, RIVALS, k)}
    slow = len({name for name, m, _ in every if "DP-XGBoost" in m})
    light = [row.value for row in store.rows("speed") if "against LightGBM (" in row.measure]
    took = sum(light) / max(len(light), 1)
    fast = f" One tree on 1,000,000 x 28\ntakes {took:.2f} of the time of LightGBM's one tree." if light else ""
    return (
        f"On {len(sets)} sets of classes and numbers, at epsilon 0.01, 0.1, 1 and 4, our default is first or within a "
        f"standard error of first\nin {everybody} comparisons of accuracy, AUC and squared error with the "
        f"private models of interpret, dp-xgboost and\ndiffprivlib; in {sound} with those whose guarantee is not "
        f"broken, in {stated} with those whose\nguarantee holds as stated ({AND.join(AS_STATED)}). "
        f"What it loses is listed. (dp-xgboost has run on {slow}\nof the sets.){fast}"
    )


def _read(places: dict[str, list[str]]) -> list[str]:
    """How often first, level and behind among all; and how often first or level by each reading."""
    counts = [[said.count(word) for word in ("first", "level", "behind")] for said in places.values()]
    shares = [f"{a + b} of {a + b + c} ({(a + b) / max(a + b + c, 1):.0%})" for a, b, c in counts]
    return [*map(str, counts[0]), *shares]


FEW = "adding up all features, as DP-EBM does, suits so few records better than a few chosen ones"
RANDOM = "random trees pay for labels alone; and what they truly cost is up to 19 times the stated epsilon"
WHY = {
    ("heart_cleveland", "accuracy", "DP-EBM"): "one tree is grown, by a threshold that was set on larger sets; "
    "boosting has more labels right here",
    ("breast_w", "auc", "DP-EBM"): FEW,
    ("banknote", "auc", "diffprivlib forest"): RANDOM,
    ("breast_w", "auc", "diffprivlib forest"): RANDOM,
    ("titanic", "auc", "diffprivlib forest"): RANDOM,
}
"""Why we are behind, by set, measure and who is ahead; a loss of another kind is not explained until somebody did."""

UNEXPLAINED = "not explained yet"


def _why(name: str, measure: str, best: str) -> str:
    few = f"{SMALL[name] * 4 // 5} records to learn from: " if name in SMALL and best == "DP-EBM" else ""
    said = WHY.get((name, measure, best))
    return few + said if said else UNEXPLAINED


def _ranks(store: Store) -> Iterator[str]:
    yield "\n## Average ranks\n"
    yield (
        "Over the sets of two classes or of numbers that all of these methods have: 1 is best. Methods whose ranks "
        "differ by\nless than the critical difference (Nemenyi, 5%) are not told apart.\n"
        "![Average ranks](benchmarks_ranks.png)\n"
    )
    rows = store.rows("peers")
    known = means(rows)
    for measure in MEASURES:
        methods = ranked(known, measure)
        found = {e: ranks(list(at(known, measure, e).values()), methods, measure) for e in EPSILONS}
        if not any(found.values()):
            continue
        yield from head(TITLES[measure].removesuffix(" x 1000"), [*methods, "sets", "critical difference"])
        for epsilon, own in found.items():
            if own:
                cells = [f"{own.average[m]:.2f}" for m in methods]
                yield row(f"epsilon {epsilon:g}", [*cells, str(own.sets), f"{own.critical:.2f}"])
        yield ""
    yield provenance(EXPERIMENTS["peers"], rows)


def ranked(known: Means, measure: str) -> list[str]:
    """The methods that two thirds of a measure's sets have, at every epsilon."""
    tables = [list(at(known, measure, epsilon).values()) for epsilon in EPSILONS]
    return [name for name in METHODS if all(3 * sum(name in own for own in sets) > 2 * len(sets) for sets in tables)]


def _sets(store: Store) -> Iterator[str]:
    rows, plain = store.rows("peers"), store.rows("without-privacy")
    known = means(rows)
    free = {(name, measure): own for (name, _, measure), own in means(plain).items()}
    methods, usual = [*METHODS], EXPERIMENTS["peers"].seeds
    for measure in MEASURES:
        yield f"\n## {TITLES[measure]} against epsilon\n"
        yield f"![{TITLES[measure]} against epsilon](benchmarks_{measure}.png)\n"
        shown = [m for m in methods if any(m in own for (_, _, k), own in known.items() if k == measure)]
        yield from head("set, epsilon", [*(_marked(m) for m in shown), *(f"{m}, no privacy" for m in PLAIN), "ours"])
        for name in EXPERIMENTS["peers"].sets:
            for epsilon in EPSILONS:
                own = known.get((name, canonical({"epsilon": epsilon}), measure))
                if own:
                    without = free.get((name, measure), {})
                    slow = known.get((name, canonical({"epsilon": epsilon}), TOO_LONG), {})
                    cells = [cell(own.get(m), measure, usual) or (TOO_LONG if m in slow else "") for m in shown]
                    cells += [cell(without.get(m), measure) for m in PLAIN]
                    yield row(f"{name}, {epsilon:g}", [*cells, place(own, OURS, RIVALS, measure)])
        yield "\n" + provenance(EXPERIMENTS["peers"], [r for r in rows if r.measure == measure])
    yield f"\nWithout privacy: {provenance(EXPERIMENTS['without-privacy'], plain)}"


def _marked(method: str) -> str:
    word = METHODS[method].weaker.partition(":")[0]
    return f"{method} ({word})" if word else method


def _honesty(store: Store) -> Iterator[str]:
    rows = store.rows("privatree")
    if not rows:
        return
    yield "\n## What honest accounting costs, and what better algorithms win back\n"
    yield (
        "PrivaTree's Table II claims epsilon 0.1. *Published* is its algorithm with its own accounting, whose true\n"
        "cost is larger ([privatree](privatree.md)); *sound* pays what each question costs; *joint* is our single\n"
        "tree of the same depth and budget.\n"
    )
    yield from tables(EXPERIMENTS["privatree"], rows)


def _costs(store: Store) -> Iterator[str]:
    rows = store.rows("speed")
    if not rows:
        return
    yield "\n## Speed and memory, as ratios\n"
    yield from tables(EXPERIMENTS["speed"], rows)


def _others(store: Store) -> Iterator[str]:
    yield "\n## All experiments\n"
    yield from head("experiment", ["what", "source", "runs kept", "code"])
    for own in EXPERIMENTS.values():
        rows = store.rows(own.name)
        kept = len({row.task for row in rows})
        yield row(f"`{own.name}`", [own.title, own.source, str(kept), commits(rows) if rows else "nothing yet"])
    yield "\n`benchmarks/privet-bench table NAME` prints any of them."
