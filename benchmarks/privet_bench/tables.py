"""Tables in Markdown, from the store alone: means with errors, what was printed; under each its command and commits."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from privet_bench.experiment import TITLES, Experiment, Task, canonical
from privet_bench.store import Mean, Row, mean


def row(head: str, cells: Sequence[str]) -> str:
    return f"| {' | '.join([head, *cells])} |"


def head(first: str, columns: Sequence[str]) -> list[str]:
    return [row(first, columns), "|---|" + "---|" * len(columns)]


def cell(found: Mean | None, measure: str, usual: int = 0) -> str:
    """The mean with its error; the number of runs where it is not the usual one."""
    if found is None:
        return ""
    factor, digits = (1000, 2) if measure == "mse" else (1, 3)
    value = f"{factor * found.value:.{digits}f}" if abs(found.value) < 100 else f"{found.value:,.0f}"
    error = "" if math.isnan(found.error) else f" ± {factor * found.error:.{digits}f}"
    return value + error + (f" ({found.runs})" if usual and found.runs != usual else "")


def said(setting: str) -> str:
    """A setting in words."""
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" if isinstance(value, int | float) else f"{name} {value}"
                     for name, value in json.loads(setting).items())  # fmt: skip


def provenance(experiment: Experiment, rows: Sequence[Row], only: str = "") -> str:
    """The line under a table: how each number is made again, of which code, and what its error is."""
    runs = sorted({found.runs for found in _groups(rows, experiment.pooled).values()})
    how = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}" if runs else "no"
    return (
        f"*`benchmarks/privet-bench run {experiment.name}{only}`; mean ± standard error of {how} runs; code of "
        f"{commits(rows)}.*"
    )


def commits(rows: Sequence[Row]) -> str:
    known = sorted({row.commit for row in rows})
    plain, older = [c for c in known if not c.startswith(("in ", "unknown"))], [c for c in known if c.startswith("in ")]
    words = [f"commit {', '.join(plain)}"] if plain else []
    words += [f"results kept before the store, in {', '.join(c[3:] for c in older)}"] if older else []
    words += ["results imported with their commit unknown"] if "unknown" in known else []
    return "; ".join(words) or "nothing yet"


def _groups(rows: Sequence[Row], pooled: Sequence[str] = ()) -> dict[Key, Mean]:
    groups: dict[Key, list[Row]] = {}
    for own in rows:
        setting = (
            canonical({k: v for k, v in json.loads(own.setting).items() if k not in pooled}) if pooled else own.setting
        )
        groups.setdefault(("" if "set" in pooled else own.set, own.method, setting, own.measure), []).append(own)
    return {key: average for key, own in groups.items() if (average := mean(own))}


Key = tuple[str, str, str, str]
"""Set, method, setting, measure."""


def tables(experiment: Experiment, rows: Sequence[Row]) -> Iterator[str]:
    """All tables of an experiment: one for each combination of what stands neither across nor down it."""
    found = _groups(rows, experiment.pooled)
    for rest in dict.fromkeys(_rest(key, experiment) for key in sorted(found, key=_order(experiment))):
        yield from _table(experiment, {key: own for key, own in found.items() if _rest(key, experiment) == rest}, rest)
    if rows:
        yield "\n" + provenance(experiment, rows)
    weaker = [f"- **{name}**: {m.weaker}" for name, m in experiment.methods.items() if m.weaker]
    if weaker and rows:
        yield "\n" + "\n".join(weaker)


def _order(experiment: Experiment) -> Callable[[Key], tuple[Any, ...]]:
    """As the experiment lists them; what it does not list comes after."""
    places = [
        {name: i for i, name in enumerate(names)}
        for names in (experiment.sets, experiment.methods, map(canonical, experiment.settings), experiment.measures)
    ]
    most = 10**6

    def of(key: Key) -> tuple[Any, ...]:
        ranked = [own.get(name, most) for own, name in zip(places, key)]
        return (ranked[3], ranked[2], ranked[0], ranked[1], key)

    return of


def _across(key: Key, columns: str) -> str:
    value = {"set": key[0], "method": key[1], "measure": key[3], "value": "ratio"}.get(columns) or json.loads(
        key[2]
    ).get(columns)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _rest(key: Key, experiment: Experiment) -> tuple[str, str]:
    """The measure and the settings that a table's title names."""
    elsewhere = (experiment.columns, *experiment.down)
    setting = {name: value for name, value in json.loads(key[2]).items() if name not in elsewhere}
    return "" if experiment.columns in ("measure", "value") else key[3], canonical(setting)


def _name(key: Key, experiment: Experiment, *, method: bool) -> str:
    """What stands at the beginning of a row."""
    own = json.loads(key[2])
    setting = canonical({name: own[name] for name in experiment.down if name in own})
    last = key[3] if experiment.columns == "value" else ""
    return ", ".join(filter(None, (key[0], key[1] if method else "", said(setting), last)))


def _table(experiment: Experiment, found: dict[Key, Mean], rest: tuple[str, str]) -> Iterator[str]:
    by, one = experiment.columns, len({key[1] for key in found}) == 1
    keys = sorted(found, key=_order(experiment))
    columns = list(dict.fromkeys(_across(key, by) for key in keys))
    usual = max(own.runs for own in found.values())
    down: dict[str, dict[str, str]] = {}
    values: dict[str, list[float]] = {column: [] for column in columns}
    gains: dict[str, list[float]] = {column: [] for column in columns}
    for key in keys:
        paper = experiment.printed(Task(experiment.name, *key[:3], 0), key[3])
        note = f" [printed {cell(Mean(*paper, 1, frozenset()), key[3])}]" if paper else ""
        name, column = _name(key, experiment, method=by != "method" and not one), _across(key, by)
        down.setdefault(name, {})[column] = cell(found[key], key[3], usual) + note
        values[column].append(found[key].value)
        gains[column] += [found[key].value - paper[0]] if paper else []
    title = ", ".join(filter(None, (TITLES.get(rest[0], rest[0]), said(rest[1]))))
    yield f"\n**{title or experiment.title}**\n"
    yield from head("set" if by == "method" or one else "set, method", columns)
    yield from (row(name, [cells.get(column, "") for column in columns]) for name, cells in down.items())
    if len(down) > 2 and (by == "method" or one) and all(len(own) == len(down) for own in values.values()):
        means = [Mean(float(np.mean(own)), math.nan, usual, frozenset()) for own in values.values()]
        yield row("**mean**", [cell(own, rest[0]) for own in means])
    if any(len(own) > 2 for own in gains.values()):
        yield row("**gain over printed**", [f"{np.mean(own):+.4f}" if own else "" for own in gains.values()])
