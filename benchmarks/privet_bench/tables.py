"""Tables in Markdown, from the store alone: means with errors, what was printed; under each its command and commits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from privet_bench.experiment import TITLES, Experiment, Task, canonical
from privet_bench.store import Mean, Row, mean


def values(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """``NAME=A,B``: values by name; a comma before a space is part of a name, such as "Privet, pure"."""
    found: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, listed = word.partition("=")
        if not equals:
            raise SystemExit("--only wants NAME=A,B, such as set=adult,vote")
        found[name] = (*found.get(name, ()), *re.split(r",(?! )", listed))
    return found


def chosen(row: Row, only: Mapping[str, Sequence[str]]) -> bool:
    """Whether a row has one of the values of each name; ``measure`` is a name, too."""
    return all(str(row.measure if name == "measure" else row.task.value(name)) in own for name, own in only.items())


def row(head: str, cells: Sequence[str]) -> str:
    return f"| {' | '.join([head, *cells])} |"


def head(first: str, columns: Sequence[str]) -> list[str]:
    return [row(first, columns), "|---|" + "---|" * len(columns)]


def cell(found: Mean | None, measure: str, usual: int = 0, digits: int = 3, sign: str = "") -> str:
    """The mean with its error; the number of runs where it is not the usual one."""
    if found is None:
        return ""
    if measure.startswith("minutes") or (found.value >= 2 and found.value.is_integer() and math.isnan(found.error)):
        return f"{found.value:,.0f}"
    factor, digits = (1000, 2) if measure == "mse" else (1, digits)
    value = f"{factor * found.value:{sign}.{digits}f}" if abs(found.value) < 100 else f"{found.value:,.0f}"
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
    said_how = "one run each" if runs == [1] else f"mean ± standard error of {how} runs"
    return f"*`benchmarks/privet-bench run {experiment.name}{only}`; {said_how}; code of {commits(rows)}.*"


def commits(rows: Sequence[Row]) -> str:
    known = sorted({row.commit for row in rows})
    plain, older = [c for c in known if not c.startswith(("in ", "unknown"))], [c for c in known if c.startswith("in ")]
    words = [f"commit {', '.join(plain)}"] if plain else []
    words += [f"results that came with {', '.join(c[3:] for c in older)}"] if older else []
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


def measured(rows: Sequence[Row]) -> dict[tuple[str, str, str], dict[str, Mean]]:
    """By set, method and setting: the mean of each measure, for layouts of an experiment's own."""
    found: dict[tuple[str, str, str], dict[str, Mean]] = {}
    for (*known, measure), own in _groups(rows).items():
        found.setdefault(tuple(known), {})[measure] = own
    return found


def tables(experiment: Experiment, rows: Sequence[Row], only: str = "") -> Iterator[str]:
    """All tables of an experiment: one for each combination of what stands neither across nor down it."""
    if experiment.layout:
        yield from experiment.layout(experiment, rows, only)
        return
    found = _groups(_gains(rows, experiment.against) if experiment.against else rows, experiment.pooled)
    for rest in dict.fromkeys(_rest(key, experiment) for key in sorted(found, key=_order(experiment))):
        yield from _table(experiment, {key: own for key, own in found.items() if _rest(key, experiment) == rest}, rest)
    if rows:
        yield "\n" + provenance(experiment, rows, only)
    shown = {own.method for own in rows}
    weaker = [f"- **{name}**: {m.weaker}" for name, m in experiment.methods.items() if m.weaker and name in shown]
    if weaker:
        yield "\n" + "\n".join(weaker)


def _gains(rows: Sequence[Row], baseline: str) -> list[Row]:
    """Each run less the baseline's on the same records; the baseline's own as they are."""
    base = {(own.set, own.setting, own.seed, own.measure): own.value for own in rows if own.method == baseline}
    return [
        replace(own, value=own.value - base[key]) if own.method != baseline else own
        for own in rows
        if (key := (own.set, own.setting, own.seed, own.measure)) in base
    ]


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
    value = {"set": key[0], "method": key[1], "measure": key[3], "value": "value"}.get(columns) or json.loads(
        key[2]
    ).get(columns)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _rest(key: Key, experiment: Experiment) -> tuple[str, str]:
    """The measure and the settings that a table's title names."""
    elsewhere = (experiment.columns, *experiment.down)
    setting = {name: value for name, value in json.loads(key[2]).items() if name not in elsewhere}
    return "" if experiment.columns in ("measure", "value") else key[3], canonical(setting)


def _in_order(columns: Iterable[str]) -> list[str]:
    """Numbers by size, words as the experiment lists them."""
    listed = list(columns)
    try:
        return sorted(listed, key=float)
    except ValueError:
        return listed


def _name(key: Key, columns: str, vary: Sequence[str], *, method: bool) -> str:
    """What stands at the beginning of a row: of the settings down a table those that vary in it."""
    own = json.loads(key[2])
    setting = canonical({name: own[name] for name in vary if name in own})
    last = key[3] if columns == "value" else ""
    words = ("" if columns == "set" else key[0], key[1] if method else "", said(setting), last)
    return ", ".join(filter(None, words))


def _table(experiment: Experiment, found: dict[Key, Mean], rest: tuple[str, str]) -> Iterator[str]:
    by, one = experiment.columns, len({key[1] for key in found}) == 1
    keys = sorted(found, key=_order(experiment))
    columns = _in_order(dict.fromkeys(_across(key, by) for key in keys))
    own = [json.loads(key[2]) for key in found]
    vary = [name for name in experiment.down if len({str(setting.get(name)) for setting in own}) > 1]
    fixed = {name: own[0][name] for name in experiment.down if name in own[0] and name not in vary}
    most = {column: max(own.runs for key, own in found.items() if _across(key, by) == column) for column in columns}
    usual = most if by == "measure" else dict.fromkeys(columns, max(most.values()))
    down: dict[str, dict[str, str]] = {}
    values: dict[str, list[float]] = {column: [] for column in columns}
    gains: dict[str, list[float]] = {column: [] for column in columns}
    for key in keys:
        paper = experiment.printed(Task(experiment.name, *key[:3], 0), key[3])
        note = f" [printed {cell(Mean(*paper, 1, frozenset()), key[3])}]" if paper else ""
        sign = "+" if experiment.against and key[1] != experiment.against else ""
        name, column = _name(key, by, vary, method=by != "method" and not one), _across(key, by)
        down.setdefault(name, {})[column] = cell(found[key], key[3], usual[column], experiment.digits, sign) + note
        values[column].append(found[key].value)
        gains[column] += [found[key].value - paper[0]] if paper else []
    title = ", ".join(filter(None, (TITLES.get(rest[0], rest[0]), said(canonical(json.loads(rest[1]) | fixed)))))
    yield f"\n**{title or experiment.title}**\n"
    first = "method" if by == "set" else "set" if by == "method" or one else "set, method"
    yield from head(f"{first}, by {by.replace('_', ' ')}" if by in own[0] else first, columns)
    yield from (row(name, [cells.get(column, "") for column in columns]) for name, cells in down.items())
    if (
        len(down) > 2
        and by not in ("measure", "value")
        and (by == "method" or one)
        and all(len(own) == len(down) for own in values.values())
    ):
        means = [Mean(float(np.mean(own)), math.nan, 0, frozenset()) for own in values.values()]
        yield row("**mean**", [cell(own, rest[0], digits=experiment.digits) for own in means])
    if by != "set" and any(len(own) > 2 for own in gains.values()):
        yield row("**gain over printed**", [f"{np.mean(own):+.4f}" if own else "" for own in gains.values()])
