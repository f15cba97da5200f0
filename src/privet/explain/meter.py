"""A picture of a promise: from a coin toss to certainty, how far a guess about one person may get."""

from __future__ import annotations

import math
from html import escape

from privet.explain.subject import Subject
from privet.explain.words import is_nothing
from privet.privacy.meaning import guess_rate

WIDTH, LEFT, RIGHT = 700, 4, 696


def meter(subject: Subject) -> str:
    """``<figure>`` with an SVG: colours come from the page's style, by class."""
    receipt = subject.receipt
    epsilon = float(receipt.epsilon)
    rate = 1.0 if not math.isfinite(epsilon) else guess_rate(epsilon, float(receipt.delta))
    end = LEFT + (rate - 0.5) * 2 * (RIGHT - LEFT)
    none = not math.isfinite(epsilon)
    said = f"A guess whether one {subject.who} was in the records is right in at most {100 * rate:.1f}% of cases"
    said = "Nothing is promised" if none else said
    right = f"{100 * rate:.1f}% right, at most" if rate < 0.9995 else "possibly always right"
    told = "nothing is promised" if none else right
    anchor = "end" if end > WIDTH / 2 else ""
    at = end - 8 if anchor else end + 8
    return (
        f'<figure class="meter{" void" if none or is_nothing(receipt) else ""}">'
        f'<svg viewBox="0 0 {WIDTH} 64" role="img" aria-label="{escape(said)}">'
        f'<rect class="track" x="{LEFT}" y="22" width="{RIGHT - LEFT}" height="16" rx="8"/>'
        f'<rect class="fill" x="{LEFT}" y="22" width="{max(end - LEFT, 3):.1f}" height="16" rx="8"/>'
        f'<text class="strong {anchor}" x="{at:.1f}" y="15">{told}</text>'
        f'<text class="quiet small" x="{LEFT}" y="57">50%: a coin toss, perfect privacy</text>'
        f'<text class="quiet small end" x="{RIGHT}" y="57">100%: certainty, no privacy</text></svg></figure>'
    )
