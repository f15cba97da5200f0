"""A fitted model in a notebook: what it is, promises and can do, small enough to stand below a cell.

Colours are inherited where they can be, so that the card is readable in light and in dark notebooks.
"""

from __future__ import annotations

import math
from dataclasses import replace
from html import escape

from privet.explain.subject import Subject
from privet.explain.text import rules_text
from privet.explain.words import Answer, answers
from privet.privacy.meaning import guess_rate, in_words, percent

LONGEST_RULES = 20_000
SHOWN = ("What was learned?", "What does it promise to one person?", "How good is it?", "Who had to be trusted?")


def card(subject: Subject) -> str:
    """One ``<div>`` with all its style inside; all text is escaped."""
    receipt = subject.receipt
    rows = "".join(
        f'<tr><td style="{_CELL}font-weight:600;white-space:nowrap">{escape(own.question)}</td>'
        f'<td style="{_CELL}{"color:#b3261e" if own.warning else ""}">{escape(own.text)}</td></tr>'
        for own in _told(subject)
    )
    promise = "no guarantee" if receipt.void else f"epsilon {float(receipt.epsilon):.4g}"
    delta = f", delta {float(receipt.delta):.2g}" if receipt.delta and not receipt.void else ""
    return (
        f'<div style="border:1px solid #8b949066;border-radius:8px;padding:12px 16px;max-width:60em;font-size:13px">'
        f'<div style="display:flex;justify-content:space-between;gap:1em"><b>{escape(subject.heading)}'
        f"</b><b>{promise}{delta}</b></div>{_bar(subject)}"
        f'<table style="border-collapse:collapse;margin:4px 0;text-align:left;font-size:13px">{rows}</table>'
        f"{_folded('Rules', _rules(subject))}{_folded('Receipt', str(receipt))}</div>"
    )


def _told(subject: Subject) -> list[Answer]:
    """Four of the six answers, with the promise in one sentence."""
    shown = [own for own in answers(subject) if own.question in SHOWN]
    epsilon, delta = float(subject.receipt.epsilon), float(subject.receipt.delta)
    if math.isfinite(epsilon):
        shown[1] = replace(shown[1], first=in_words(epsilon, delta, subject.who), more="")
    return shown


_CELL = "padding:3px 14px 3px 0;vertical-align:top;text-align:left;background:none;"


def _bar(subject: Subject) -> str:
    """From a coin toss to certainty: how far a guess about one person may get."""
    epsilon = float(subject.receipt.epsilon)
    rate = guess_rate(epsilon, float(subject.receipt.delta))
    colour = "#2f8a62" if math.isfinite(epsilon) else "#b3261e"
    said = f"A guess whether one {subject.who} was in the records is right in at most {percent(rate)} of cases"
    return (
        f'<div title="{escape(said)}" style="height:6px;border-radius:3px;background:#8b949033;margin:8px 0">'
        f'<div style="height:6px;border-radius:3px;background:{colour};width:{max(200 * (rate - 0.5), 0.5):.1f}%">'
        f"</div></div>"
    )


def _rules(subject: Subject) -> str:
    if subject.released is None:
        return "hidden: shares on three servers"
    text = rules_text(subject.released)
    return text if len(text) <= LONGEST_RULES else text[:LONGEST_RULES] + "\n..."


def _folded(title: str, text: str) -> str:
    return (
        f'<details><summary style="cursor:pointer">{title}</summary>'
        f'<pre style="max-height:24em;overflow:auto;font-size:12px;white-space:pre-wrap">{escape(text)}</pre></details>'
    )
