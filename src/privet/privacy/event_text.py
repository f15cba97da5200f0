"""Events as text that people read."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from privet.privacy.amounts import Amount
from privet.privacy.event import Event


def event_lines(events: Sequence[Event]) -> list[str]:
    """What was asked and what it cost, equal answers together in one line."""
    # Answers of one kind and price on one depth of the tree are one line: "4 disjoint nodes in parallel".
    kinds: dict[tuple[Any, ...], list[str]] = {}
    for e in events:
        kinds.setdefault((e.scope.count("/"), e.question, e.mechanism, e.charged, e.lemma), []).append(e.scope)
    parts: dict[str, set[int]] = {}
    for e in events:
        for draw, number in _parts(e.scope.split("/")):
            parts.setdefault(draw, set()).add(number)
    lines = []
    for (_, question, mechanism, charged, lemma), scopes in kinds.items():
        lines.append(
            f"  {_brief(charged):>11}   {question}: {mechanism.replace('_', '-')}, {lemma.replace('_', ' ')}"
            f"{_times_text(scopes)}{_part_text(scopes, parts)}"
        )
    if any(len(numbers) > 1 for numbers in parts.values()):
        lines.append("  Parts have no record in common: of their costs the largest counts, not the sum.")
    return lines


def _parts(steps: Sequence[str]) -> list[tuple[str, int]]:
    """The parts of the records that a path leads through, each as the draw that made it and its number there."""
    ends = [i + 1 for i, step in enumerate(steps) if step.startswith("parts")]
    draws = ["/".join(steps[:end]).rpartition(":") for end in ends]
    return [(draw, int(number)) for draw, _, number in draws]


def _part_text(scopes: Sequence[str], parts: Mapping[str, set[int]]) -> str:
    """In which part of the records something was asked, if in one alone, and in which part of that."""
    common = os.path.commonpath(scopes).split("/")
    words = [
        f"part {sorted(parts[draw]).index(number) + 1} of {len(parts[draw])}"
        for draw, number in _parts(common)
        if len(parts[draw]) > 1
    ]
    return f", {', in it '.join(words)}" if words else ""


def _times_text(scopes: Sequence[str]) -> str:
    """How often something was asked; "in parallel" only where that is so."""
    if len(scopes) == 1:
        return ""
    # Of equally long paths, different ones are disjoint if they part inside one group of scopes.
    groups: dict[str, set[str]] = {}
    for scope in set(scopes):
        steps = scope.split("/")
        for i, step in enumerate(steps[1:], start=1):
            groups.setdefault("/".join(steps[:i]), set()).add(step.partition(":")[0])
    if len(set(scopes)) == len(scopes) and all(len(group) == 1 for group in groups.values()):
        return f", {len(scopes)} disjoint nodes in parallel"
    return f", {len(scopes)} times"


def _brief(amount: Amount) -> str:
    """An amount short enough for a column; the receipt itself has the exact fraction."""
    return "infinity" if amount == math.inf else f"{float(amount):.6g}"
