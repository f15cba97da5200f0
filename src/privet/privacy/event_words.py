"""Events in plain words: what was asked, how an answer was found, and how far noise may have moved it.

For people who read a receipt and know no lemma by its name. Everything here follows from the event alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from privet.privacy.event import Event, add_up
from privet.privacy.fixed_point import GRADIENT_ONE, ONE, TARGET_ONE
from privet.privacy.lemmas import Lemma
from privet.privacy.meaning import short, short_at_most
from privet.privacy.sensitivity import EUCLIDEAN, SUMS


@dataclass(frozen=True)
class EventWords:
    """``asked`` is a question, ``how`` says what the answer is found by, ``noise`` how far it may be off."""

    asked: str
    how: str
    noise: str

    def __str__(self) -> str:
        return f"{self.asked} {self.how} {self.noise}"


_ASKED = {
    "choose a split": "Which split is best here?",
    "choose a split with its labels": "Which split, and which label on each side of it, is best here?",
    "choose a label": "Which label should this leaf have?",
    "choose a model": "Which of the models predicts best?",
    "evaluate": "How often is the finished model right?",
    "owner sum": "How pure could this attribute make the records, at each owner?",
    "quantile": "Where should this feature be cut?",
    "joint quantiles": "Where should this feature be cut, at several points at once?",
    "quantile of the target": "Where does a share of the targets end?",
    "quantile of residuals": "How large are the errors that are left?",
    "peek": "What are the exact numbers?",
}

_COUNTED = {
    "tally": ("How many records are here, in all or of each kind?", "Records are counted."),
    "target_tally": ("What is the mean target of each part?", "Targets are added up, each as a part of its range."),
    "clipped_gradient_tally": (
        "By how much are predictions off in each part?",
        "Each record adds how far its predicted chance is off, cut at one half.",
    ),
    "residual_tally": (
        "By how much are predictions off in each part?",
        "Each record adds its error, cut at a size that was asked for before.",
    ),
    "least_impurity": ("How pure could each attribute make the records?", "Owners add up their least impurities."),
}
"""The questions of sums, by their lemma, and what is added up."""

_SCORED = "Records are counted in a table of what is said against what is so."


def _mixed(weight: int) -> str:
    purity = "how pure the classes are on each side"
    if weight == ONE:
        return f"Splits compete by {purity}."
    right = "how many records the best labels would get right"
    if weight == 0:
        return f"Splits compete by {right}."
    return f"Splits compete by {right} ({1 - weight / ONE:.0%}) and {purity} ({weight / ONE:.0%})."


def _share(numerator: int, denominator: int) -> str:
    if (numerator, denominator) == (1, 2):
        return "Points compete by how evenly they part the records: the median wins."
    return f"Points compete by how close the share below them is to {numerator / denominator:.0%}."


_COMPETE: dict[str, Callable[..., str]] = {
    "gini": lambda: "Candidates compete by how pure the classes are on each side (Gini impurity).",
    "mixed": _mixed,
    "entropy": lambda cap: "Candidates compete by how pure the classes are on each side (entropy).",
    "root_gini": lambda cap: "Candidates compete by how pure the two classes are on each side (geometric mean).",
    "correct_count": lambda: "Candidates compete by how many records they would label right.",
    "worth": lambda most: "Models compete by how well they predict records that they were not learned from.",
    "squared_error": lambda span: "Candidates compete by how close the targets are to the mean of their side.",
    "quantile": _share,
    "joint_quantiles": lambda *_: "Sets of points compete by how close the shares between them are to what is wanted.",
    "clipped_gradient_norm": lambda of: "Groupings of features compete by how much of the remaining error they show.",
    "residual_norm": lambda clamp: "Groupings of features compete by how much of the remaining error they show.",
}
"""What candidates are compared by, from the name of the score's lemma and its numbers."""

_UNITS: dict[str, Callable[..., int]] = {
    **dict.fromkeys(("gini", "mixed", "entropy", "root_gini", "least_impurity"), lambda *_: ONE),
    **dict.fromkeys(("clipped_gradient_norm", "residual_norm"), lambda *_: GRADIENT_ONE),
    **dict.fromkeys(("clipped_gradient_tally", "residual_tally"), lambda *_: GRADIENT_ONE),
    "target_tally": lambda *_: TARGET_ONE,
    "squared_error": lambda span: span * span,
    "quantile": lambda numerator, denominator: denominator,
    "joint_quantiles": lambda smallest, whole: whole,
    "worth": lambda most: most,
}
"""How much a record is worth in a lemma's whole numbers, where it is not one."""


def in_plain_words(event: Event, weight: int = 1) -> EventWords:
    """What an answer of a receipt with this ``weight`` was about.

    >>> from fractions import Fraction
    >>> event = Event("", "choose a split", "permute_and_flip", Fraction(256), 2560.0, Fraction(1, 10), "mixed(256)")
    >>> print(in_plain_words(event).how)
    Splits compete by how pure the classes are on each side.
    """
    lemma = Lemma.parse(event.lemma)
    name = lemma.name.removeprefix(EUCLIDEAN)
    if event.mechanism == "peek":
        return EventWords(_ASKED["peek"], "They were read as they are.", "No noise hides one record.")
    if event.mechanism == "random_stopping":
        return EventWords(
            "Which model is best, of a secret number that were learned and scored?",
            "The one with the largest noisy score is released; how many there were, and the others, nobody is told.",
            "What is released costs three times what one of them may spend.",
        )
    if name in SUMS:
        asked, how = _COUNTED[name]
        noise = _noise_of_sums(event, spread(event, weight), lemma)
        if event.question == "evaluate":
            how, noise = _SCORED, noise.replace("each number", "each number of the table")
        return EventWords(_ASKED.get(event.question, asked), how, noise)
    how = _COMPETE[name](*lemma.arguments) if name in _COMPETE else "Candidates compete by a score."
    return EventWords(
        _ASKED.get(event.question, f"{event.question.capitalize()}?"), how, _noise_of_choice(event, weight)
    )


def is_size(event: Event, others: Sequence[Event]) -> bool:
    """Whether an answer is the rough count of all records that a plan begins with (``algorithms/size.py``).

    It is the first of ``others``, those of one fit or one scoring, all of which are asked at its scope or below; and it
    costs hardly any of what they cost.
    """
    if event is not others[0] or len(others) == 1 or (event.question, event.lemma) != ("tally", "tally(1)"):
        return False
    inside = all(own.scope == event.scope or own.scope.startswith(f"{event.scope}/") for own in others)
    return inside and event.charged * LEAST_OF_A_PLAN <= add_up(others)


LEAST_OF_A_PLAN = 40
"""A fiftieth of the budget is for the rough count; what a tree costs may be a little less than its budget."""


def size_words(event: Event, weight: int = 1) -> EventWords:
    """What is said of that count: its noise is in no number that was released."""
    noise = _noise_of_sums(event, spread(event, weight), Lemma.parse(event.lemma)).replace("each number", "this count")
    return EventWords(
        "About how many records are there in all?",
        "Records are counted roughly, for hardly any budget, and only to plan what to ask next. The count is not in "
        "the model.",
        f"{noise} No other number has this noise.",
    )


def spread(event: Event, weight: int = 1) -> float:
    """The standard deviation of the noise in each number of a sum, in records (persons, where these are the unit)."""
    return math.sqrt(event.variance) / (_unit(event) * weight)


def reach(event: Event, weight: int = 1) -> float:
    """By how many records a candidate has to be worse to be chosen about 2.7 times less often."""
    return event.scale / (_unit(event) * weight)


def _unit(event: Event) -> int:
    lemma = Lemma.parse(event.lemma)
    unit = _UNITS.get(lemma.name.removeprefix(EUCLIDEAN))
    return 1 if unit is None else unit(*lemma.arguments)


def _noise_of_sums(event: Event, deviation: float, lemma: Lemma) -> str:
    # Of a normal law 95% are within 1.96 deviations; of a two-sided geometric one within ln(20) scales, 2.12 of them.
    within = deviation * (1.96 if event.mechanism in ("gaussian", "skellam_shares") else math.log(20) / math.sqrt(2))
    tables = f" in each of {lemma.arguments[0]} tables" if lemma.arguments and lemma.arguments[0] > 1 else ""
    by = ", which the owners add in shares," if event.mechanism.endswith("_shares") else ""
    return f"Noise{by} moves each number{tables} by less than {short_at_most(within)} in 95 of 100 cases."


def _noise_of_choice(event: Event, weight: int) -> str:
    worse = f"One that is worse by {short(reach(event, weight))} records wins about 2.7 times less often"
    return f"The best is the most likely to win. {worse}."
