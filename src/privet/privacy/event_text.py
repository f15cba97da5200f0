"""Events as text that people read: in words, part by part; the technical name is at the end of each line."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from privet.privacy.amounts import Amount
from privet.privacy.event import Event, add_up
from privet.privacy.event_parts import disjoint_sum, parts_of, steps_of
from privet.privacy.event_words import in_plain_words


def event_lines(events: Sequence[Event], weight: int = 1, in_rho: bool = False) -> list[str]:
    """What was asked and what it cost, equal answers together in one line, with a sum for each part of the records."""
    if not events:
        return []
    parts = parts_of(events)
    sums = [_brief(part.spent) for part in parts]
    explained = disjoint_sum(parts, sums, "record" if weight == 1 else "person")
    lines = [f"cost      {explained}"] if explained else []
    lines += ["          In rho, which adds up; the whole is converted to epsilon once."] if in_rho else []
    for part, total in zip(parts, sums):
        lines.append(f"{part.name}: {total}" if explained else "cost      answer by answer:")
        lines += _part_lines(part.events, weight)
    return lines


def _part_lines(events: Sequence[Event], weight: int) -> list[str]:
    # Answers of one kind and price on one depth of the tree are one line; of very many prices all are.
    kinds: dict[tuple[Any, ...], list[Event]] = {}
    many = _of_many_prices(events)
    for e in events:
        price = None if _kind(e) in many else e.charged
        kinds.setdefault((*_kind(e), price), []).append(e)
    draws: dict[str, set[int]] = {}
    for e in events:
        for draw, number in steps_of(e.scope):
            draws.setdefault(draw, set()).add(number)
    lines = []
    for own in kinds.values():
        words, scopes = in_plain_words(own[0], weight), [e.scope for e in own]
        often = f"{_times_text(own)}{_part_text(scopes, draws)}"
        paid = _brief(add_up(own) if _kind(own[0]) in many else own[0].charged)
        lines.append(
            f"  {paid:>11}   {words.asked} {words.how}{f' {often}' if often else ''} [{technical_name(own[0])}]"
        )
    if any(len(numbers) > 1 for numbers in draws.values()):
        lines.append("  Parts have no record in common: of their costs the largest counts, not the sum.")
    return lines


LISTED = 8
"""Answers of one kind with more prices than this are one line, with the sum of what a record pays for them."""


def _kind(event: Event) -> tuple[Any, ...]:
    return event.scope.count("/"), event.question, event.mechanism, event.lemma


def _of_many_prices(events: Sequence[Event]) -> set[tuple[Any, ...]]:
    prices: dict[tuple[Any, ...], set[Amount]] = {}
    for event in events:
        prices.setdefault(_kind(event), set()).add(event.charged)
    return {kind for kind, own in prices.items() if len(own) > LISTED}


def technical_name(event: Event) -> str:
    """The question, the mechanism and the lemma, as the theory calls them."""
    return f"{event.question}: {event.mechanism.replace('_', '-')}, {event.lemma.replace('_', ' ')}"


def _part_text(scopes: Sequence[str], draws: Mapping[str, set[int]]) -> str:
    """In which part of the records something was asked, if in one alone, and in which part of that."""
    common = os.path.commonpath(scopes)
    words = [
        f"part {sorted(draws[draw]).index(number) + 1} of {len(draws[draw])}"
        for draw, number in steps_of(common)
        if len(draws[draw]) > 1
    ]
    return f"({', in it '.join(words)})" if words else ""


def _times_text(events: Sequence[Event]) -> str:
    """How often something was asked; that it counts once only where that is so."""
    scopes = [event.scope for event in events]
    if len(scopes) == 1:
        return ""
    charges = [event.charged for event in events]
    if len(set(charges)) > 1:
        return f"({len(scopes)} times, for {_brief(min(charges))} to {_brief(max(charges))} each: all together)"
    # Of equally long paths, different ones are disjoint if they part inside one group of scopes.
    groups: dict[str, set[str]] = {}
    for scope in set(scopes):
        steps = scope.split("/")
        for i, step in enumerate(steps[1:], start=1):
            groups.setdefault("/".join(steps[:i]), set()).add(step.partition(":")[0])
    if len(set(scopes)) == len(scopes) and all(len(group) == 1 for group in groups.values()):
        return f"({len(scopes)} nodes, a record is in one of them: counted once)"
    return f"({len(scopes)} times)"


def _brief(amount: Amount) -> str:
    """An amount short enough for a column; the receipt itself has the exact fraction."""
    return "infinity" if amount == math.inf else f"{float(amount):.6g}"
