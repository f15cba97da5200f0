"""How far noise may have moved what each round of boosting adds: from released numbers alone, and free.

A round adds to each part a share of G / (H + ridge), where G is a noisy sum of gradients or residuals and H a noisy
count. The noise in G has a known spread, so to first order what is added has that spread over H + ridge. The noise in
H, which changes the size of a step and hardly its sign, is left out; so is what chance did to the choice of parts.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from privet.privacy.event import Event
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.privacy.gradients import HESSIAN_BITS
from privet.privacy.lemmas import Lemma
from privet.privacy.receipt import Receipt
from privet.privacy.residuals import RESIDUAL_COUNT
from privet.privacy.sensitivity import EUCLIDEAN
from privet.tree.additive import Additive, Round, Term
from privet.tree.rounds import FULL_STEPS
from privet.tree.rounds import RIDGE as GRADIENT_RIDGE
from privet.tree.target_rounds import RIDGE as RESIDUAL_RIDGE

STEPS = ("clipped_gradient_tally", "residual_tally")


def round_noise(boosted: Additive, receipt: Receipt) -> list[np.ndarray]:
    """For each round, the standard deviation that noise gives to what each part adds, in units of score."""
    paid, clamps = _paid(receipt.events)
    each = len(boosted.rounds) / max(boosted.n_outputs, 1)
    # Of the most rounds that there are, the step may have been smaller: then the noise is less than is said here.
    step = 1.0 if boosted.calibration is not None else min(1.0, (FULL_STEPS / max(each, 1.0)) ** (1 / 3))
    return [_of_round(own, paid, clamps, receipt.weight, step) for own in boosted.rounds]


def term_noise(boosted: Additive, receipt: Receipt, term: Term) -> np.ndarray:
    """The standard deviation of what a term adds, in units of score: in the form of its values."""
    variance = np.zeros(term.values.shape)
    firsts = [np.unique(own, return_index=True)[1] for own in term.stretches]  # a cell of each stretch
    for own, errors in zip(boosted.rounds, round_noise(boosted, receipt)):
        if own.features != term.features:
            continue
        parts = [np.frombuffer(part, np.uint8) for _, part in own.factors]
        sizes = [int(part.max()) + 1 for part in parts]
        table = np.ravel_multi_index(np.ix_(*(part[first] for part, first in zip(parts, firsts))), sizes)
        variance[..., own.output if boosted.n_outputs > 1 else 0] += errors[table] ** 2
    return np.sqrt(variance)


def _paid(events: tuple[Event, ...]) -> tuple[dict[str, list[Event]], dict[str, list[float]]]:
    """The sums that rounds were paid by, scope by scope, and the clamps that their choices name (1 of gradients)."""
    sums: dict[str, list[Event]] = defaultdict(list)
    clamps: dict[str, list[float]] = defaultdict(list)
    for event in events:
        lemma = Lemma.parse(event.lemma)
        if lemma.name.removeprefix(EUCLIDEAN) in STEPS:
            sums[event.scope].append(event)
        elif lemma.name == "residual_norm":
            clamps[event.scope].append(lemma.arguments[0] / TARGET_ONE)
    return sums, clamps


def _of_round(
    own: Round, paid: dict[str, list[Event]], clamps: dict[str, list[float]], weight: int, step: float
) -> np.ndarray:
    sums = paid.get(own.scope, [])
    if own.paid >= len(sums):
        return np.zeros(len(own.values))
    event = sums[own.paid]
    noise = math.sqrt(event.variance) / (GRADIENT_ONE * weight)
    residual = Lemma.parse(event.lemma).name.removeprefix(EUCLIDEAN) == "residual_tally"
    unit = RESIDUAL_COUNT if residual else GRADIENT_ONE >> HESSIAN_BITS
    counts = np.maximum(np.array(own.hessians) / unit, 0)
    clamp = clamps[own.scope][min(own.paid, len(clamps[own.scope]) - 1)] if residual and clamps[own.scope] else 1.0
    ridge = RESIDUAL_RIDGE if residual else GRADIENT_RIDGE
    return step * clamp * noise / (counts + ridge * noise)
