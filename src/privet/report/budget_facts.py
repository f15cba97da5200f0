"""A receipt as plain data for pages: where the budget went, scope by scope, and every kind of answer in words.

Charges are floats here, for drawing; the receipt itself has the exact fractions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from privet.privacy.amounts import show
from privet.privacy.event import PARALLEL, SAMPLE, Event, amplified
from privet.privacy.event_parts import disjoint_sum, parts_of
from privet.privacy.event_words import in_plain_words, is_size, size_words, spread
from privet.privacy.receipt import Receipt
from privet.rounding import at_most


class BudgetFacts:
    """Scopes are numbered, parents first; groups are answers of one kind on one depth of scopes."""

    def __init__(self, receipt: Receipt) -> None:
        self._receipt = receipt
        self._number = {"": 0}
        self._parents = [-1]
        self._spent: list[dict[int, float]] = [defaultdict(float)]
        self._groups: dict[tuple[Any, ...], list[Event]] = {}
        self._parts = parts_of(receipt.events) if receipt.events else []
        for number, part in enumerate(self._parts):
            for event in part.events:
                size = is_size(event, part.events)
                key = (number, event.scope.count("/"), event.question, event.mechanism, event.lemma, size)
                self._groups.setdefault(key, []).append(event)
        self._order = {key: i for i, key in enumerate(self._groups)}
        for key, events in self._groups.items():
            for event in events:
                self._spent[self._enter(event.scope)][self._order[key]] += float(event.charged)

    def _enter(self, scope: str) -> int:
        """The number of a scope; those above it are entered, too."""
        if scope not in self._number:
            above = self._enter(scope.rpartition("/")[0])
            self._number[scope] = len(self._parents)
            self._parents.append(above)
            self._spent.append(defaultdict(float))
        return self._number[scope]

    def number(self, scope: str) -> int:
        """The number of a scope, or of the nearest above it that something was charged to."""
        while scope not in self._number:
            scope = scope.rpartition("/")[0]
        return self._number[scope]

    def facts(self) -> dict[str, Any]:
        receipt = self._receipt
        finite = receipt.spent != math.inf
        return {
            "currency": "rho" if receipt.at_delta else "epsilon",
            "total": _number(receipt.reserved if receipt.at_delta else receipt.spent),
            "epsilon": _number(receipt.epsilon),
            "parts": [self._part(number) for number in range(len(self._parts))],
            "together": self._together(),
            "groups": [{**self._group(events, key[-1]), "part": key[0]} for key, events in self._groups.items()],
            "parents": self._parents,
            "spent": [[[g, _plain(amount)] for g, amount in own.items()] for own in self._spent],
            "dearest": self._dearest(range(len(self._groups))) if finite else [],
        }

    def _part(self, number: int) -> dict[str, Any]:
        """What the records of one part paid: its sum, and the groups along the path that cost most."""
        part = self._parts[number]
        groups = [i for key, i in self._order.items() if key[0] == number]
        finite = part.spent != math.inf
        return {"name": part.name, "spent": _number(part.spent), "dearest": self._dearest(groups) if finite else []}

    def _together(self) -> str:
        who = "record" if self._receipt.weight == 1 else "person"
        return disjoint_sum(self._parts, [at_most(float(part.spent), 4) for part in self._parts], who)

    def _group(self, events: Sequence[Event], size: bool) -> dict[str, Any]:
        """The words are of the answer in the middle, by its noise: others differ by little."""
        middle = sorted(events, key=lambda event: event.scale)[len(events) // 2]
        words = (size_words if size else in_plain_words)(middle, self._receipt.weight)
        scopes = len({event.scope for event in events})
        counted = words.noise.startswith("Noise") and not size  # what leaves have, which the rough count is no part of
        charges = sorted(float(event.charged) for event in events)
        return {
            "asked": words.asked,
            "how": words.how,
            "noise": words.noise,
            "times": len(events),
            "scopes": scopes,
            "parallel": scopes > 1 and _are_disjoint({event.scope for event in events}),
            "least": _plain(charges[0]),
            "most": _plain(charges[-1]),
            "mechanism": middle.mechanism.replace("_", " "),
            "lemma": middle.lemma.replace("_", " "),
            "sensitivity": show(middle.sensitivity),
            "scale": f"{middle.scale:.6g}",
            **({"spread": _brief(spread(middle, self._receipt.weight))} if counted else {}),
        }

    def _dearest(self, groups: Iterable[int]) -> list[list[float]]:
        """[group, amount] of these groups along the scopes that cost most, as a receipt adds them up: root first."""
        kept_groups = set(groups)
        below: list[list[str]] = [[] for _ in self._parents]
        for scope, number in self._number.items():
            if number:
                below[self._parents[number]].append(scope)
        costs: dict[int, float] = {}
        paths: dict[int, dict[int, float]] = {}
        for number in reversed(range(len(self._parents))):  # children before their parents
            own = {group: amount for group, amount in self._spent[number].items() if group in kept_groups}
            path = defaultdict(float, own)
            for kept in _counted(below[number], self._number, costs):
                inner, factor = self._number[kept], 1.0
                step = kept.rpartition("/")[2]
                if step.startswith(SAMPLE) and costs[inner]:
                    rate = int(step.partition(":")[2])
                    factor = float(amplified(Fraction(costs[inner]), rate)) / costs[inner]
                for group, amount in paths[inner].items():
                    path[group] += amount * factor
            paths[number], costs[number] = path, float(sum(path.values()))
        return [[group, _brief(paths[0][group])] for group in sorted(paths[0])]


def _counted(scopes: Sequence[str], numbers: dict[str, int], costs: dict[int, float]) -> list[str]:
    """Of scopes with one parent those that count: all that share records, and of disjoint ones the dearest."""
    kept: dict[str, str] = {}
    for scope in scopes:
        group, _, _ = scope.rpartition("/")[2].partition(":")
        key = group if group.rstrip("0123456789") in PARALLEL else scope
        if key not in kept or costs[numbers[scope]] > costs[numbers[kept[key]]]:
            kept[key] = scope
    return list(kept.values())


def _are_disjoint(scopes: set[str]) -> bool:
    """Whether all of these part inside one group of disjoint scopes at each place where they part."""
    groups: dict[str, set[str]] = {}
    for scope in scopes:
        steps = scope.split("/")
        for i, step in enumerate(steps[1:], start=1):
            groups.setdefault("/".join(steps[:i]), set()).add(step.partition(":")[0])
    return all(len(group) == 1 for group in groups.values())


def _number(amount: Any) -> float | None:
    """As JSON has it: infinity is null."""
    return None if amount == math.inf else float(amount)


def _plain(amount: float) -> float | None:
    return None if amount == math.inf else _brief(amount)


def _brief(amount: float) -> float:
    return amount if not math.isfinite(amount) else float(f"{amount:.6g}")
