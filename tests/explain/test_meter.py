"""The picture of a promise."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privet import Numeric, PrivateTreeClassifier, Schema
from privet.algorithms.explained import subject_of
from privet.explain.meter import meter

SCHEMA = Schema({"a": Numeric(0, 1)}, classes=["no", "yes"])


def test_it_is_longer_where_less_is_promised():
    subject = subject_of(
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit(np.linspace(0, 1, 50)[:, None], ["no", "yes"] * 25)
    )

    def width(epsilon, void=()):
        receipt = replace(subject.receipt, spent=Fraction(epsilon), void=void)
        return float(re.search(r'class="fill"[^>]*width="([\d.]+)%"', meter(replace(subject, receipt=receipt)))[1])

    assert width("1/10") < width(1) < width(8) < width(1, void=("a seed",)) == 100
    drawn = meter(subject)
    assert "at most 73.2% of cases" in drawn
    assert "viewBox" not in drawn  # a picture that shrinks takes its letters along
    x = re.search(r'<text [^>]*x="([\d.]+)%"[^>]*>73.2 of 100 guesses right, at most<', drawn)[1]
    assert float(x) == width(1)  # above the bar's end
