"""An evaluation: a noisy table of how a model did, and everything that follows from it, each with an interval.

The table is what was released. All else here is post-processing of it, and free.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from privet.errors import PrivetError
from privet.evaluate.intervals import Estimate, Z, area_under_curve, mean_area, positive_mean, quantile, ratio
from privet.evaluate.scorers import LEAST_CHANCE, Groups, Reading
from privet.privacy.receipt import Receipt
from privet.privacy.unit import MOST_WEIGHT
from privet.strict_json import as_list, as_number, as_text, as_whole, only

QUANTILES = (0.5, 0.9)

SHARE = "accuracy"
"""The one of the main numbers that is a share of records: it is shown in percent."""

TOO_WIDE = 0.4
"""An interval of an accuracy that is wider says nothing, and neither does its middle."""

MOST_VARIANCE = 2.0**128
"""No noise that can be drawn has more, whatever the number of those who add some."""

WIDEST = 4 * -math.log(LEAST_CHANCE)
"""The log-odds of all chances between a millionth and one less a millionth are this far apart; no bin is wider."""

CLEAR_GAIN = 0.03
"""What a model must be better by than always saying the commonest class to be clearly better."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Noisy counts of (group, bin of the predicted score, true class), or of bins of a target's errors.

    ``marks`` is what the bins say: of two classes the chance of the second in each, of several that of the predicted
    class, of a target the cuts between errors. ``widths`` is how far log-odds reach inside each bin of two classes, and
    ``predicts`` the class that a bin stands for. ``variance`` is that of
    the noise in each count, ``weight`` how much of a count a record, or a person, is. ``scope`` is where the receipt
    has the answer; ``privacy_`` is the receipt of an evaluation on records of its own, and None where the model's
    receipt has it.
    """

    classes: tuple[Any, ...] | None
    counts: np.ndarray = field(repr=False)
    marks: np.ndarray = field(repr=False)
    widths: np.ndarray = field(repr=False)
    predicts: np.ndarray = field(repr=False)
    variance: float
    weight: int = 1
    by: str = ""
    groups: tuple[str, ...] = ("all",)
    scope: str = ""
    privacy_: Receipt | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls, reading: Reading, groups: Groups | None, counts: np.ndarray, variance: float, weight: int
    ) -> Evaluation:
        by, names = ("", ("all",)) if groups is None else (groups.feature, groups.names)
        classes = reading.scorer.grid.schema.classes
        predicts = np.zeros(0, dtype=np.int64) if classes is None else reading.scorer.predicts
        own = None if classes is None else tuple(classes)
        return cls(own, counts, reading.marks, reading.widths, predicts, variance, weight, by, names)

    # -- what there is ------------------------------------------------------------------------------------------------

    @cached_property
    def _table(self) -> np.ndarray:
        """Of all groups together, in records or persons: (bins, classes)."""
        return np.asarray(self.counts.sum(axis=0) / self.weight)

    @property
    def _variance(self) -> float:
        """That of the noise in each number of the table."""
        return self.variance * len(self.counts) / self.weight**2

    @property
    def n(self) -> float:
        """About how many records, or persons, were scored."""
        return float(self._table.sum())

    @property
    def size(self) -> Estimate:
        """The same with its interval, which is of the noise alone: how many there are is no matter of chance.

        Whole numbers, as they are shown: the interval is rounded outward.
        """
        reach = Z * math.sqrt(self._variance * self._table.size)
        return Estimate(max(self.n, 0.0), max(self.n - reach, 0.0), max(self.n + reach, 0.0)).outward(0)

    @property
    def void(self) -> tuple[str, ...]:
        """Why nothing is promised to the records that score the model, where a receipt of their own says so."""
        return () if self.privacy_ is None else self.privacy_.void

    def group(self, name: str) -> Evaluation:
        """How the model did in one group."""
        if not self.by or name not in self.groups:
            raise PrivetError(f"This evaluation has no group {name!r}; it has {', '.join(map(repr, self.groups))}.")
        return replace(self, counts=self.counts[[self.groups.index(name)]], groups=(name,), by="")

    @property
    def by_group(self) -> dict[str, Evaluation]:
        """The groups, each an evaluation of its own."""
        return {name: self.group(name) for name in self.groups} if self.by else {}

    # -- classes ------------------------------------------------------------------------------------------------------

    @property
    def accuracy(self) -> Estimate:
        """The share of records whose class is predicted right."""
        return self._mean(self._right)

    @property
    def _right(self) -> np.ndarray:
        return (self.predicts[:, None] == np.arange(len(self._known_classes))).astype(float)

    @property
    def confusion(self) -> np.ndarray:
        """About how many records of each true class (row) are predicted to be of each class (column)."""
        n = len(self._known_classes)
        return np.array([[self._table[self.predicts == k, true].sum() for k in range(n)] for true in range(n)])

    @property
    def commonest(self) -> tuple[str, float]:
        """The class that most scored records have, and its share: what always saying it would get right."""
        of_class = self.confusion.sum(axis=1).clip(0)
        best = int(of_class.argmax())
        return str(self._known_classes[best]), float(of_class[best] / max(of_class.sum(), 1e-9))

    @property
    def baseline(self) -> tuple[str, Estimate]:
        """The same with its interval: the accuracy of a model that knows nothing but the commonest class."""
        common, _ = self.commonest
        k = [str(label) for label in self._known_classes].index(common)
        return common, self._mean(np.tile(np.arange(self._table.shape[1]) == k, (len(self._table), 1)).astype(float))

    @property
    def gain(self) -> Estimate:
        """By how much the accuracy is above the baseline: both are of the same records, so the interval is of pairs.

        A record of another class that is predicted right is worth 1, one of the commonest that is predicted wrong -1.
        """
        common, _ = self.commonest
        said = np.array([str(label) == common for label in self._known_classes], dtype=float)
        return self._mean(self._right - said, -1.0, 1.0, own=True)

    def verdict(self, common: str = "") -> str:
        """Whether the model beats always saying the commonest class, which people may call ``common``: one sentence.

        By the gain and its interval: no better where that holds 0, worse where it is below. Where it is above, barely
        better if the gain is less than ``CLEAR_GAIN``, clearly better if the whole interval is at least that, and else
        better.
        """
        common, gain = common or self.commonest[0], self.gain
        if gain.low <= 0 <= gain.high:
            return f"No better than always saying {common}, as far as these records tell."
        low, high = sorted((abs(gain.low), abs(gain.high)))
        points = f"{100 * abs(gain.value):.1f} points ({100 * low:.1f} to {100 * high:.1f})"
        if gain.high < 0:
            return f"Worse than always saying {common}, by {points}."
        how = "Barely better" if gain.value < CLEAR_GAIN else "Clearly better" if gain.low >= CLEAR_GAIN else "Better"
        return f"{how} than always saying {common}, by {points}."

    def recall(self, label: Any) -> Estimate:
        """Of the records of a class, the share that is predicted right."""
        k = self._number(label)
        return ratio(self._table[:, k], self.predicts == k, self._variance)

    def precision(self, label: Any) -> Estimate:
        """Of the records that are predicted to be of a class, the share that is."""
        k = self._number(label)
        return ratio(self._table[self.predicts == k], self._right[self.predicts == k], self._variance)

    @property
    def auc(self) -> Estimate:
        """The area under the ROC curve; of several classes the mean over classes of each against all others.

        Inside a bin of two classes, scores are taken to be as telling as they say: over log-odds of width w a record of
        the second class is above one of the first with chance 1/2 + w/12.

        Of several classes it is that of the score as the table has it: the class that was predicted with the bin of its
        chance p, and for every other class an even share of 1 - p. Records of one bin count by halves. So it is, as a
        rule, less than the area of the exact chances, and the closer the more bins there are.
        """
        n, own = len(self._known_classes), self.marks[:, None]
        if n == 2:
            return area_under_curve(self._table, self._variance, self.widths / 12)
        said = self.predicts[:, None] == np.arange(n)
        return mean_area(self._table, np.where(said, own, (1 - own) / (n - 1)), self._variance)

    @property
    def log_loss(self) -> Estimate:
        """Minus the mean logarithm of the chance that the true class was given: two classes.

        By the middles of bins, less what the exact scores gain over these if they are as telling as they say: over
        log-odds of width w that is p (1 - p) w^2 / 24.

        The scores of a few trees are a few numbers, and a whole bin may lie to one side of its middle. Log-odds that
        are higher by u add u to the loss of a record of the first class times p, and of the second times p - 1: nothing
        in all where the bin is as telling as it says, and u (p n - n1) otherwise. The interval takes u to be anywhere
        in the bin, independently of other bins: its variance is w^2 / 12.
        """
        if len(self._known_classes) != 2:
            raise PrivetError(
                "The log loss is told of two classes; of several there are accuracy, AUC and calibration."
            )
        off = self.marks * self._table.sum(axis=1) - self._table[:, 1]
        unknown = float(self.widths**2 / 12 @ off**2)
        chances = np.clip(np.stack([1 - self.marks, self.marks], axis=1), LEAST_CHANCE, 1)
        inside = self.marks * (1 - self.marks) * self.widths**2 / 24
        losses = -np.log(chances) - inside[:, None]
        return positive_mean(self._table, losses, self._variance, float(losses.max()), unknown)

    @property
    def calibration(self) -> list[tuple[float, Estimate, float]]:
        """For each bin: the chance that it says, the share that it is of, and about how many records are in it.

        Of two classes the chance of the second one, of several that of the predicted one.
        """
        of = np.tile([0.0, 1.0], (len(self.marks), 1)) if len(self._known_classes) == 2 else self._right
        chances = np.unique(self.marks)
        rows = [self.marks == chance for chance in chances]
        return [
            (float(chance), ratio(self._table[row], of[row], self._variance), float(self._table[row].sum()))
            for chance, row in zip(chances, rows)
        ]

    # -- targets ------------------------------------------------------------------------------------------------------

    @property
    def mean_error(self) -> Estimate:
        """The mean of prediction less target."""
        low, high = self._ends
        most = float(high[-1])
        return self._mean((low + high) / 2, -most, most, own=True)

    @property
    def mean_absolute_error(self) -> Estimate:
        low, high = self._ends
        sizes = np.where(low * high < 0, high / 2, np.abs(low + high) / 2)
        return positive_mean(self._table, sizes, self._variance, float(high[-1]))

    @property
    def mean_squared_error(self) -> Estimate:
        """Clamped to the target's range; errors are taken to be spread evenly inside their bins."""
        low, high = self._ends
        squares = (low * low + low * high + high * high) / 3
        return positive_mean(self._table, squares, self._variance, float(high[-1]) ** 2)

    def absolute_error(self, q: float) -> Estimate:
        """The size that a share ``q`` of all errors does not exceed."""
        low, high = self._ends
        if not 0 < q < 1:
            raise PrivetError("A quantile's share is between 0 and 1.")
        middle = len(low) // 2
        folded = self._table[:, 0]
        sizes = folded[middle:] + np.concatenate([[0.0], folded[:middle][::-1]])
        # Two bins are folded into one but for the middle one: its noise is counted as theirs, which is more than it is.
        return quantile(sizes, np.concatenate([[0.0], high[middle:]]), q, 2 * self._variance)

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The two ends of each bin of errors: the outermost hold what would be beyond the range."""
        if self.classes is not None:
            raise PrivetError("This model predicts classes: it has no errors to measure.")
        cuts = self.marks
        return np.concatenate([cuts[:1], cuts]), np.concatenate([cuts, cuts[-1:]])

    # -- small parts --------------------------------------------------------------------------------------------------

    def _mean(self, worth: np.ndarray, low: float = 0.0, high: float = 1.0, *, own: bool = False) -> Estimate:
        return ratio(self._table, worth, self._variance, low, high, own=own)

    @property
    def _known_classes(self) -> tuple[Any, ...]:
        if self.classes is None:
            raise PrivetError("This model predicts numbers: it has errors, and no classes to get right.")
        return self.classes

    def _number(self, label: Any) -> int:
        if label not in self._known_classes:
            raise PrivetError(f"There is no class {label!r}.")
        return self._known_classes.index(label)

    @property
    def summary(self) -> dict[str, Estimate]:
        """The main numbers, by name."""
        if self.classes is None:
            quantiles = {f"{q:.0%} of errors below": self.absolute_error(q) for q in QUANTILES}
            means = {"mean absolute error": self.mean_absolute_error, "mean squared error": self.mean_squared_error}
            return {**means, "mean error": self.mean_error, **quantiles}
        if set(self.marks.tolist()) <= {0.0, 1.0}:  # chances of 0 and 1 are labels
            return {SHARE: self.accuracy}
        if len(self.classes) > 2:
            return {SHARE: self.accuracy, "AUC by bins": self.auc}
        return {SHARE: self.accuracy, "AUC": self.auc, "log loss": self.log_loss}

    def __str__(self) -> str:
        who = "records" if self.weight == 1 else "persons"
        size = self.size
        lines = [f"scored on about {size.value:,.0f} {who} (a noisy count: {size.low:,.0f} to {size.high:,.0f})"]
        lines += [f"  {name:<22} {found.percent if name == SHARE else found}" for name, found in self.summary.items()]
        if self.classes is not None:
            common, share = self.baseline
            lines.insert(2, f"  {f'always saying {common}':<22} {share.percent}, to compare")
            lines.insert(3, f"  {self.verdict()}")
            for label in self.classes:
                found, right = self.recall(label).percent, self.precision(label).percent
                lines.append(f"  recall of {label!s:<12} {found}, of those that are {label}")
                lines.append(f"  precision of {label!s:<9} {right}, of those that are called {label}")
        for name, own in self.by_group.items():
            first, score = next(iter(own.summary.items()))
            told = f"{first} {score.percent if first == SHARE else score}"
            if self.classes is not None and score.high - score.low > TOO_WIDE:
                told = "noise hides it"
            lines.append(f"  {self.by} {name}: {told}, about {max(own.n, 0):,.0f}")
        return "\n".join([*lines, "  (95% intervals, for chance and noise)"])

    # -- files --------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        return {
            "classes": None if self.classes is None else list(self.classes),
            "shape": list(self.counts.shape),
            "counts": self.counts.ravel().tolist(),
            "marks": self.marks.tolist(),
            "widths": self.widths.tolist(),
            "predicts": self.predicts.tolist(),
            "variance": self.variance,
            "weight": self.weight,
            "by": self.by,
            "groups": list(self.groups),
            "scope": self.scope,
            **({} if self.privacy_ is None else {"receipt": self.privacy_.to_dict()}),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Evaluation:
        """Read an evaluation: whole, or an error."""
        try:
            only(data, _KEYS)
            classes = None if data["classes"] is None else tuple(as_list(data["classes"]))
            n_groups, n_bins, width = (max(as_whole(n), 0) for n in as_list(data["shape"]))
            counts, predicts = (_numbers(data[name], as_whole) for name in ("counts", "predicts"))
            marks, widths = (_numbers(data[name], as_number) for name in ("marks", "widths"))
            groups = tuple(as_text(name) for name in as_list(data["groups"]))
            found = cls(
                classes,
                counts.reshape(n_groups, n_bins, width),
                marks.astype(float),
                widths.astype(float),
                predicts.astype(np.int64),
                float(as_number(data["variance"])),
                as_whole(data["weight"]),
                as_text(data["by"]),
                groups,
                as_text(data["scope"]),
                Receipt.from_dict(data["receipt"]) if "receipt" in data else None,
            )
            found._check()
        except (KeyError, TypeError, ValueError, OverflowError):
            raise PrivetError("This is not a whole evaluation: a part is missing or does not fit.") from None
        return found

    def _check(self) -> None:
        n_groups, n_bins, width = self.counts.shape
        if width != len(self.classes or (0,)) or n_groups != len(self.groups) or min(n_groups, n_bins) < 1:
            raise ValueError("the table has another shape")
        marks = n_bins - 1 if self.classes is None else n_bins
        said = 0 if self.classes is None else n_bins
        if len(self.marks) != marks or not len(self.predicts) == len(self.widths) == said:
            raise ValueError("every bin says something")
        if not np.isfinite(self.marks).all() or not 0 <= self.variance <= MOST_VARIANCE:
            raise ValueError("finite numbers expected")
        if not 1 <= self.weight <= MOST_WEIGHT:
            raise ValueError("a person's weight expected")
        if self.classes is None and not (len(self.marks) >= 4 and (np.diff(self.marks) > 0).all()):
            raise ValueError("cuts must increase")
        if self.classes is not None and not ((self.predicts >= 0) & (self.predicts < width)).all():
            raise ValueError("a bin stands for a class")
        if len(set(self.classes or ())) < len(self.classes or ()):
            raise ValueError("classes differ")
        if self.classes is not None and not ((self.marks >= 0) & (self.marks <= 1)).all():
            raise ValueError("a bin says a chance")
        if not ((self.widths >= 0) & (self.widths <= WIDEST)).all():
            raise ValueError("a bin is wider than log-odds are")


_KEYS = {"shape", *(own.name for own in fields(Evaluation) if own.name != "privacy_"), "receipt"}


def _numbers(plain: Any, read: Callable[[Any], Any]) -> np.ndarray:
    return np.array([read(own) for own in as_list(plain)])
