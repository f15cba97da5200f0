"""How many bits the numbers of a hidden training need: known before it, because all of its questions are public."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from privet.privacy.joint import JointMechanisms
from privet.privacy.joint_scores import score_bits, score_range
from privet.privacy.mechanisms import selection_scale
from privet.privacy.scores import CorrectCount, Score
from privet.questions.candidates import Candidates
from privet.questions.linear_maps import prior_points
from privet.questions.shape import Shape
from privet.tree.hidden_growth import last_options


class Width:
    """Takes the steps of a growth without growing anything; ``finished`` says how many bits they need."""

    def __init__(self, joint: JointMechanisms, shape: Shape, n_classes: int, most: int) -> None:
        """``most``: no node has more records."""
        self.shape = shape
        self._joint = joint
        self._most = most
        self._splits = Candidates(shape.splits, n_classes)
        self._labels = Candidates(None, n_classes, labelled=True, stop=True)
        self._bits = most.bit_length() + 2

    def choose(self, budget: Fraction, score: Score, mechanism: str = "permute_and_flip") -> None:
        self._need(self._splits, score, budget, mechanism)

    def choose_exactly(self) -> None:
        self._at_least(self._joint.hidden_bits("exact", self._most, len(self._splits), 1.0))

    def choose_last(self, budget: Fraction) -> None:
        options = last_options(self.shape, self._splits.n_classes, budget)
        self._need(options, CorrectCount(), budget, "permute_and_flip")

    def label(self, budget: Fraction, mechanism: str) -> None:
        self._need(self._labels, CorrectCount(), budget, mechanism)

    def label_exactly(self) -> None:
        self._at_least(self._joint.hidden_bits("exact", self._most, len(self._labels), 1.0))

    def draw(self, generator: Any) -> None:
        self._at_least(self._joint.draw_bits(len(self._splits)))

    def finished(self) -> int:
        return self._bits

    def _need(self, options: Candidates, score: Score, budget: Fraction, mechanism: str) -> None:
        scale = selection_scale(score.sensitivity, budget)
        low, high = score_range(score, self._most)
        span = high - low + int(np.ptp(prior_points(options.log_prior, scale)))
        self._at_least(score_bits(score, self._most))
        self._at_least(self._joint.hidden_bits(mechanism, span, len(options), scale))

    def _at_least(self, bits: int) -> None:
        self._bits = max(self._bits, bits)
