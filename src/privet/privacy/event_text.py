"""Events as text that people read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from privet.privacy.amounts import Amount
from privet.privacy.event import Event


def event_lines(events: Sequence[Event]) -> list[str]:
    """What was asked and what it cost, equal answers together in one line."""
    # Answers of one kind and price on one depth of the tree are one line: "4 disjoint nodes in parallel".
    kinds: dict[tuple[Any, ...], list[str]] = {}
    for e in events:
        kinds.setdefault((e.scope.count("/"), e.question, e.mechanism, e.charged, e.lemma), []).append(e.scope)
    parts, lines = {part for e in events if (part := _part(e.scope))}, []
    for (_, question, mechanism, charged, lemma), scopes in kinds.items():
        lines.append(
            f"  {_brief(charged):>11}   {question}: {mechanism.replace('_', '-')}, {lemma.replace('_', ' ')}"
            f"{_times_text(scopes)}{_part_text(scopes, parts)}"
        )
    if len(parts) > 1:
        lines.append("  Parts have no record in common: of their costs the largest counts, not the sum.")
    return lines


def _part(scope: str) -> str:
    """The part of the records that a path begins in: "parts0:1"; nothing if it is about all of them."""
    return next((step for step in scope.split("/") if step.startswith("parts")), "")


def _part_text(scopes: Sequence[str], parts: set[str]) -> str:
    """In which of several parts of the records something was asked, if in one alone."""
    own = {_part(scope) for scope in scopes}
    if len(parts) < 2 or len(own) > 1 or not own <= parts:
        return ""
    return f", part {sorted(parts).index(own.pop()) + 1} of {len(parts)}"


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
