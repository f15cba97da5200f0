"""A quote: what a fit would do with its budget, before any record is seen or anything is spent.

The estimator itself grows on a stand-in of as many records, drawn from the schema (``stand_in.py``), and its receipt is
read: how deep, how often each question, what each costs, and how large its noise is beside the records that it meets.
Nothing private is used, so a quote is free. What depends on the data, such as how records spread over a tree, differs.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sklearn.base import clone

from privet.algorithms.advice import boosting_instead
from privet.algorithms.parameters import checked_budget
from privet.algorithms.stand_in import stand_in
from privet.curators.memory import MemoryCurator
from privet.errors import BudgetWarning, PrivetError
from privet.privacy.amounts import checked_delta
from privet.privacy.event import Event
from privet.privacy.ledger import Ledger
from privet.privacy.lemmas import Lemma
from privet.privacy.meaning import as_float, in_words, short, warnings_about
from privet.privacy.mechanisms import mechanisms
from privet.privacy.receipt import Receipt
from privet.schema import Schema

MOST_RECORDS = 1_000_000
"""The largest stand-in. With more records there is only less noise beside them."""

_TOO_NOISY = 0.25
"""Noise of this share of the records that a question meets hides what they could show."""


@dataclass(frozen=True)
class QuotedStep:
    """One kind of question on one level: ``nodes`` disjoint sets of records are asked, each ``times`` times.

    ``cost`` is what one answer costs, in epsilon or, with a delta, in rho. ``noise`` is its scale, as how many records
    could move the answer so far; ``records`` is about how many a node has.
    """

    question: str
    level: int
    nodes: int
    times: int
    cost: float
    noise: float
    records: float

    def __str__(self) -> str:
        where = f"{self.nodes} nodes of about {self.records:,.0f}" if self.nodes > 1 else f"{self.records:,.0f}"
        times = f"{self.times} times " if self.times > 1 else ""
        asked = self.question.replace("tally", "count").replace("sums", "add up")
        return f"{times}{asked}: {self.cost:.3g} each, noise of about {short(self.noise)} beside {where}"


@dataclass(frozen=True)
class Quote:
    """What a fit on ``n_records`` would do. ``depth`` is None for a model without trees.

    ``counted``: the fit asks how many records there are, since no public ``n_records`` says so.
    """

    model: str
    n_records: int
    epsilon: float
    delta: float
    spent: float
    depth: int | None
    unit: str
    steps: tuple[QuotedStep, ...]
    warnings: tuple[str, ...]
    held_out: int = 0
    counted: bool = False
    hint: str = ""

    def __str__(self) -> str:
        currency = "rho" if self.delta else "epsilon"
        grown = "" if self.depth is None else f", depth {self.depth}"
        delta = f", delta {self.delta:g}" if self.delta else ""
        who, each = ("person", "persons") if "person" in self.unit else ("row", "records")
        head = f"{self.model} on {self.n_records:,} {each}: epsilon {self.spent:g} of {self.epsilon:g}{delta}{grown}"
        lines = [head, f"costs in {currency}, for {self.unit}:", *(f"  {step} {each}" for step in self.steps)]
        if self.held_out:
            lines.append(
                f"  then one noisy table scores the model on the {self.held_out:,} {each} that are held out: it costs "
                "as much as learning, but nobody pays for both, so the whole fit costs no more"
            )
        if self.counted:
            in_all = self.n_records + self.held_out
            lines.append(
                f"the number of {each} is counted privately; where it is public, n_records={in_all} (`fit --n-records "
                f"{in_all}`) saves that and may grow deeper"
            )
        lines += [self.hint] if self.hint else []
        lines += [in_words(self.epsilon, self.delta, who), *(f"WARNING: {words}" for words in self.warnings)]
        return "\n".join(lines)


def quote(
    model: Any, n_records: int, schema: Schema | None = None, seed: int = 0, *, holdout: float | None = None
) -> Quote:
    """What ``model`` would do with its budget on about ``n_records`` records of its schema, or of this one.

    Those that are held out are not learned from, and what scores them costs nothing more.
    """
    schema = schema or model.schema
    if not isinstance(schema, Schema):
        raise PrivetError("A quote needs a schema: PrivateTreeClassifier(schema=...).quote(10_000).")
    if not 1 <= n_records <= MOST_RECORDS:
        raise PrivetError(f"A quote is for 1 to {MOST_RECORDS:,} records; with more there is only less noise.")
    if holdout is not None and not 0 < holdout < 1:
        raise PrivetError("holdout is the share of the records that scores the model, between 0 and 1, such as 0.2.")
    in_all, n_records = n_records, max(1, round(n_records * (1 - (holdout or 0))))
    tried = clone(model).set_params(schema=schema, random_state=None)
    if getattr(tried, "n_records", None) is not None:  # of all, as in a fit
        tried.set_params(n_records=tried.n_records * n_records / in_all)
    if "progress" in tried.get_params():
        tried.set_params(progress=False)
    fit_apart(tried, *stand_in(schema, n_records, seed), seed)
    receipt: Receipt = tried.privacy_
    steps = tuple(_steps(receipt.events, n_records))
    epsilon, delta = as_float(checked_budget(model.epsilon)), float(checked_delta(model.delta)) if model.delta else 0.0
    grown = getattr(tried, tried._released)
    return Quote(
        model=type(model).__name__,
        n_records=n_records,
        epsilon=epsilon,
        delta=delta,
        spent=math.inf if receipt.spent == math.inf else as_float(Fraction(receipt.spent)),
        depth=_planned_depth(getattr(grown, "depth", None), steps),
        unit=receipt.unit,
        steps=steps,
        warnings=(*warnings_about(epsilon, delta, n_records), *_too_noisy(steps, getattr(grown, "depth", None))),
        held_out=in_all - n_records,
        counted=getattr(tried, "n_records", 0) is None and tried.n_records_ is not None,
        hint=boosting_instead(tried, n_records),
    )


def fit_apart(model: Any, X: Any, y: Any, ids: Any, seed: int) -> None:
    """Fit on public records: no surrounding ledger is charged, and the noise can be drawn again."""
    budget, ledger = model._budget(), Ledger(math.inf, model.delta)
    curator = MemoryCurator(X, y, model.schema, groups=ids, ledger=ledger, mechanisms=mechanisms(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)  # who asks for a quote is told in it
        model._fit(curator, budget)


def _steps(events: Sequence[Event], n_records: int) -> list[QuotedStep]:
    """Equal questions of one level together, in the order in which they were first asked."""
    kinds: dict[tuple[int, str, str], list[Event]] = {}
    for event in events:
        kinds.setdefault((event.scope.count("/") - 1, event.question, event.mechanism), []).append(event)
    steps = []
    for (level, question, _), own in kinds.items():
        asked = Counter(event.scope for event in own)
        middle = sorted(own, key=_noise)[len(own) // 2]
        times = round(len(own) / len(asked))
        records = n_records / len(asked)
        steps.append(QuotedStep(question, level, len(asked), times, float(middle.charged), _noise(middle), records))
    return steps


def _planned_depth(grown: int | None, steps: Sequence[QuotedStep]) -> int | None:
    """How deep splits were asked for: the stand-in's own tree may have come out simpler, and yours may not."""
    levels = {step.level for step in steps if step.question.startswith("choose a split")}
    return None if grown is None else max(grown, len(levels))


def _noise(event: Event) -> float:
    """The noise's scale, in records: how many of them could move an answer so far."""
    lemma = Lemma.parse(event.lemma)
    tables = lemma.arguments[0] if lemma.name.endswith("tally") and lemma.arguments else 1
    return event.scale / float(event.sensitivity) * max(1, tables) if event.sensitivity else 0.0


def _too_noisy(steps: Sequence[QuotedStep], depth: int | None) -> list[str]:
    if depth == 0:
        return ["this budget supports no split at all: every record would be predicted the same."]
    for step in steps[1:] or steps:  # the first one may be how many records there are, which noise hardly hurts
        if step.noise > _TOO_NOISY * step.records:
            where = "at the root" if step.level == 0 else f"from level {step.level} on"
            return [
                f"{where} noise of about {short(step.noise)} records meets nodes of about {step.records:,.0f}: what is "
                "asked there is mostly noise. A larger epsilon, more records or a smaller max_depth helps."
            ]
    return []
