"""A picture of a promise: from a coin toss to certainty, how far a guess about one person may get."""

from __future__ import annotations

import math
from html import escape

from privet.explain.subject import Subject
from privet.explain.words import ALWAYS, is_nothing
from privet.privacy.meaning import guess_rate, percent


def meter(subject: Subject) -> str:
    """``<figure>`` with an SVG: colours come from the page's style, by class.

    Places are in percent and letters have their own size, so that it is as legible on a phone as on a desk.
    """
    receipt = subject.receipt
    epsilon = float(receipt.epsilon)
    none = not math.isfinite(epsilon)
    rate = 1.0 if none else guess_rate(epsilon, float(receipt.delta))
    end = (rate - 0.5) * 200
    said = f"A guess whether one {subject.who} was in the records is right in at most {percent(rate)} of cases"
    right = f"{percent(rate)[:-1]} of 100 guesses right, at most" if rate < ALWAYS else "guesses may always be right"
    anchor = "" if end < NEAR_AN_END else "end" if end > 100 - NEAR_AN_END else "middle"
    kind = "meter void" if none or is_nothing(receipt) else "meter"
    return (
        f'<figure class="{kind}"><svg role="img" aria-label="{escape("Nothing is promised" if none else said)}">'
        '<rect class="track" x="0" y="22" width="100%" height="14" rx="7"/>'
        f'<rect class="fill" x="0" y="22" width="{max(end, 1):.1f}%" height="14" rx="7"/>'
        f'<line class="mark" x1="{end:.1f}%" x2="{end:.1f}%" y1="17" y2="36"/>'
        f'<text class="strong {anchor}" x="{end:.1f}%" y="12">{"nothing is promised" if none else right}</text></svg>'
        "<figcaption><span>50: perfect privacy</span><span>100: no privacy</span></figcaption></figure>"
    )


NEAR_AN_END = 33
"""In percent of the bar: words begin at its end there, or end at it, so that they stay above the bar."""
