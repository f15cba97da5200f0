"""Records that every retrained model labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Probe:
    """Test records with their labels: right is what agrees with them."""

    X: Any
    labels: np.ndarray

    def right(self, predicted: np.ndarray) -> np.ndarray:
        return predicted == self.labels


class WithstoodProbe(Probe):
    """Records with a trigger, and the label that an attacker wants: right is any other."""

    def right(self, predicted: np.ndarray) -> np.ndarray:
        return predicted != self.labels
