"""What different records paid for: those that are learned from, those that choose among models, those that score.

A hold-out parts the records by lot. Nobody is in two parts, so a release costs what its dearest part costs, and not the
sum. Readers of a receipt see this only if each part has its own list and its own sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privet.privacy.amounts import Amount
from privet.privacy.event import Event, add_up

LEARNING = "learning"
SCORE, CHOOSE = SPECIAL = ("evaluate", "choose a model")
ON_ALL = "on all records"

Step = tuple[str, int]
"""A draw of parts, and the number of one of its parts."""


@dataclass(frozen=True)
class Part:
    """What was asked of some of the records. ``spent`` is what one of them paid here at most."""

    name: str
    events: tuple[Event, ...]

    @property
    def spent(self) -> Amount:
        return add_up(self.events)


def steps_of(scope: str) -> list[Step]:
    """The parts of the records that a path leads through."""
    steps = scope.split("/")
    ends = [i + 1 for i, step in enumerate(steps) if step.startswith("parts")]
    draws = ["/".join(steps[:end]).rpartition(":") for end in ends]
    return [(draw, int(number)) for draw, _, number in draws]


def parts_of(events: Sequence[Event]) -> list[Part]:
    """The events by what their records were for, if one draw of parts tells that; else all of them as one part.

    Of draws inside draws the outermost counts: what is asked inside one of its parts is of no record of another. Parts
    that all do the same, such as those of a forest's trees, are not told apart here.
    """
    roles: dict[str, dict[int, set[str]]] = {}
    for event in events:
        for draw, number in steps_of(event.scope):
            roles.setdefault(draw, {}).setdefault(number, set()).add(
                event.question if event.question in SPECIAL else ""
            )
    differ = {draw for draw, found in roles.items() if len(set(map(frozenset, found.values()))) > 1}
    outermost = [next((step for step in steps_of(event.scope) if step[0] in differ), None) for event in events]
    if len({step[0] for step in outermost if step is not None}) != 1:
        return [Part(LEARNING, tuple(events))]
    found: dict[Step | None, list[Event]] = {}
    for step, event in zip(outermost, events):
        found.setdefault(step, []).append(event)
    return [Part(ON_ALL if step is None else _name(own), tuple(own)) for step, own in found.items()]


def _name(events: Sequence[Event]) -> str:
    questions = {event.question for event in events}
    if SCORE in questions:
        return "scoring"
    if CHOOSE in questions:
        return "choosing among models" if questions == {CHOOSE} else "choosing a model and learning it"
    return LEARNING


def disjoint_sum(parts: Sequence[Part], shown: Sequence[str], who: str) -> str:
    """What the parts' sums mean together, in a sentence; ``shown`` are the sums as text. Nothing for a single part."""
    if len(parts) == 1:
        return ""
    told = ", ".join(f"{part.name} {amount}" for part, amount in zip(parts, shown))
    if any(part.name == ON_ALL for part in parts):
        return f"{told}. What was asked of all records comes on top of the rest; no {who} is in two of the other parts."
    dearest = max(zip(parts, shown), key=lambda own: own[0].spent)[1]
    two = "both" if len(parts) == 2 else "two of them"
    return f"{told}. No {who} is in {two}, so each pays {dearest} at most, and not the sum."
