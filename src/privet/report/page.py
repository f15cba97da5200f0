"""The report: one HTML page about a released model, with everything that it needs inside.

Sentences, the rules as text and the receipt are written here, and read without JavaScript; drawings are made in the
browser from the same released numbers. The page may load nothing and run nothing but its own script: its policy names
the hashes of that script and of its style.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from privet.algorithms.explained import subject_of
from privet.algorithms.model_file import mode_of
from privet.disk import write_whole
from privet.errors import PrivetError
from privet.explain.meter import meter
from privet.explain.subject import Subject
from privet.explain.text import rules_text
from privet.explain.words import PROMISE, TRUST, Answer, LedgerWords, answers, is_nothing, is_weak
from privet.privacy.amounts import show
from privet.privacy.ledger import Ledger
from privet.privacy.meaning import together
from privet.privacy.zcdp import rho_within
from privet.report.budget_facts import BudgetFacts
from privet.report.model_facts import model_facts, schema_facts
from privet.report.schema_table import schema_section
from privet.report.score_facts import score_facts
from privet.robustness.certificate import Certificate
from privet.robustness.guarantee import Concentrated, Guarantee, guarantee_by
from privet.robustness.section import section as robustness_section

SCRIPTS = (
    "dom", "walker", "tree", "inspector", "budget", "terms", "waterfall", "record", "scores", "main",
)  # fmt: skip
"""In this order: each may use what those before it define."""

LONGEST_RULES = 200_000
"""More text than this is not printed into a page."""


def report_page(subject: Subject, *, ledger: LedgerWords | None = None, certificate: Certificate | None = None) -> str:
    """The whole page; raises if the receipt does not add up, because the page says that it does.

    ``ledger`` is what the records' ledger says; ``certificate`` is what ``privet certify`` found of such models: one of
    another estimator, guarantee or unit is refused.
    """
    subject.receipt.verify()
    if certificate is not None:
        _check_same_learner(certificate, subject)
    style, script = web_file("style.css"), web_script(SCRIPTS)
    parts = [
        _model(subject),
        _record(subject),
        _budget(subject),
        _scores(subject),
        _robustness(certificate),
        schema_section(subject),
    ]
    sections = [part for part in parts if part]
    heading = subject.heading
    return filled(
        web_file("report.html"),
        policy=policy(script, style),
        title=escape(f"{heading} · Privet report"),
        heading=escape(heading),
        source=escape(subject.source),
        links=_links(sections),
        notice=_notice(subject),
        answers="".join(_answer(own, subject) for own in answers(subject, ledger)),
        sections="\n".join(sections),
        details=_details(subject),
        facts=embedded(facts_of(subject)),
        style=style,
        script=script,
    )


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    ledger: str | os.PathLike[str] | None = None,
    certificate: Certificate | None = None,
    overwrite: bool = False,
) -> None:
    """Write the page of a fitted model as one HTML file, as ``privet report`` does. It costs nothing.

    ``ledger`` is the file of the records' ledger, ``certificate`` what ``privet.robustness.certify`` found. A file of
    that name is an error, unless ``overwrite``.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise PrivetError(f"{target} exists. Choose another name, or say overwrite=True.")
    model.verify()
    subject = subject_of(model)
    left = None if ledger is None else left_in(ledger, subject)
    page = report_page(subject, ledger=left, certificate=certificate)
    write_whole(target, page.encode(), mode=mode_of(subject.receipt, subject.evaluation))


def left_in(path: str | os.PathLike[str], subject: Subject, now: datetime | None = None) -> LedgerWords:
    """What a ledger's file has left, in words, and whether it knows this release: if not, what is left is not told.

    What is left changes with every release, and a page does not: so it says when that was so.
    """
    at = (now or datetime.now(UTC)).astimezone(UTC)
    kept = Ledger.open(path).file
    assert kept is not None
    if not any(line.released and line.released == subject.receipt.released for line in kept.lines()):
        return LedgerWords(
            kept.records,
            f"The ledger of {kept.records} does NOT list this release: it was learned without that ledger, or the file "
            "is an older copy. So what that ledger has left says nothing here.",
            known=False,
        )
    parts = []
    for own in kept.cohorts():
        left = show(max(kept.in_epsilon(own.left), 0)) if own.left > 0 else "0"
        name = "" if len(kept.cohorts()) == 1 else f" of cohort {own.name}"
        spent = together(float(kept.in_epsilon(own.spent)), float(kept.delta or 0)) if own.spent > 0 else "nothing"
        parts.append(f"epsilon {left} of {show(own.limit)} is left{name} (all that was spent is {spent})")
    left = "; ".join(parts)
    return LedgerWords(
        kept.records,
        f"As of {at:%Y-%m-%d, %H:%M} UTC, {left}, by the ledger of {kept.records}, which lists this release. It counts "
        "only what was charged to it, and may have less by now: privet ledger show.",
    )


def facts_of(subject: Subject) -> dict[str, Any]:
    """All numbers that the page draws."""
    budget = BudgetFacts(subject.receipt)
    return {
        "schema": schema_facts(subject.schema, subject.says),
        "model": model_facts(subject, budget.number),
        "budget": budget.facts(),
        "scores": None if subject.evaluation is None else score_facts(subject.evaluation),
    }


# -- making pages -----------------------------------------------------------------------------------------------------


def web_file(name: str) -> str:
    return (resources.files("privet.report") / "web" / name).read_text(encoding="utf-8")


def web_script(names: Sequence[str]) -> str:
    """The files of a page as one script with a scope of its own."""
    return "(() => {\n'use strict';\n" + "\n".join(web_file(f"{name}.js") for name in names) + "\n})();"


def policy(script: str, style: str, *more: str) -> str:
    """What a browser may do with a page: run this script, use this style, what ``more`` says, and nothing else."""
    rules = ["default-src 'none'", f"script-src {_hashed(script)}", f"style-src {_hashed(style)}", "img-src data:"]
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'", *more])


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def embedded(data: Any) -> str:
    """JSON that can stand in a script element: no closing tag, no comment, no line separator can end it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)  # ASCII, so U+2028 is written as an escape
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def filled(template: str, **values: str) -> str:
    """The template with its blanks filled in one pass: what a value says is never taken for a blank."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)


# -- the sections -----------------------------------------------------------------------------------------------------


def _links(sections: Sequence[str]) -> str:
    found = [match for part in sections for match in re.findall(r'<section id="(\w+)"[^>]*>\s*<h2[^>]*>([^<]*)<', part)]
    every = [("summary", "Summary"), *found, ("details", "Details")]
    return "".join(f'<a href="#{name}">{title}</a>' for name, title in every)


def _answer(own: Answer, subject: Subject) -> str:
    """What is said first, a list, the picture of a promise, what qualifies it, and where to read on."""
    kind = ' class="alarm"' if own.warning else ""
    points = "".join(f"<li>{escape(point)}</li>" for point in own.points)
    parts = [
        f'<p class="first">{escape(own.first)}</p>',
        f"<ul>{points}</ul>" if points else "",
        meter(subject) if own.question == PROMISE else "",
        f"<p>{escape(own.more)}</p>" if own.more else "",
        SCHEMA_LINK if own.question == TRUST else "",
    ]
    return f"<div{kind}><dt>{escape(own.question)}</dt><dd>{''.join(parts)}</dd></div>"


SCHEMA_LINK = '<p><a href="#schema">Read what the schema says is public</a>: only people can judge that.</p>'


def _notice(subject: Subject) -> str:
    receipt = subject.receipt
    if receipt.void or receipt.shortfall:
        why = "; ".join([*receipt.void, *([receipt.shortfall] if receipt.shortfall else [])])
        what = "No guarantee holds" if receipt.void else "It cost more than it claims"
        mend = f" {VOID_MEANS}" if receipt.void else ""
        text = f"<strong>{what}.</strong> {escape(why.rstrip('.'))}.{mend}"
        return f'<div class="notice alarm" role="note"><p>{text}</p></div>'
    epsilon = show(receipt.epsilon)
    if is_nothing(receipt):
        return (
            f'<div class="notice alarm" role="note"><p><strong>Epsilon {epsilon} promises nothing.</strong> The '
            "receipt adds up, but with such an epsilon a reader of the model may learn about one person whatever "
            "there is to learn. Usual are 0.1 to 1. Treat the model as you treat the records.</p></div>"
        )
    if subject.evaluation is not None and subject.evaluation.void:
        text = f"<strong>{NO_PROMISE_OF_SCORES}.</strong> {escape('; '.join(subject.evaluation.void))}. {SCORES_VOID}"
        return f'<div class="notice alarm" role="note"><p>{text}</p></div>'
    weak = f"<strong>Epsilon {epsilon} is a weak promise.</strong> Usual are 0.1 to 1. " if is_weak(receipt) else ""
    kind = "notice weak" if weak else "notice"
    return (
        f'<div class="{kind}" role="note"><p>{weak}The receipt was re-checked when this page was made: every answer\'s '
        "cost was computed again from its noise, and they add up to what is said below. No check of a file can see "
        "whether the machine that trained the model did what the receipt says, nor whether <a "
        'href="#schema">the schema\'s ranges and values</a> are really public.</p></div>'
    )


NO_PROMISE_OF_SCORES = "No guarantee holds for the records that score the model"

SCORES_VOID = (
    "The scores have a receipt of their own, and it is void: treat this page as you treat those records, and do not "
    "pass it on. The model itself keeps what its receipt promises to those that it was learned from."
)

VOID_MEANS = (
    "Treat the model as you treat the records: do not pass it on. A schema that was read off the data is mended by "
    "looking each field up in public documentation and deleting its line 'inferred = true'; a seed by leaving it out. "
    "Then the model has to be learned again."
)


def _section(name: str, title: str, lead: str) -> str:
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n<h2 id="{name}-title">{escape(title)}</h2>\n'
        f'<p class="lead">{escape(lead)}</p>\n<div id="{name}-here"></div>\n</section>'
    )


TREE_LEAD = (
    "Each card is a node: the condition that leads to it and, at a leaf, what it says. Click a card or use the arrow "
    "keys; Enter folds."
)
ODD_RULES = (
    "Rules were chosen by private answers. A rule that looks odd, such as one that parts off hardly any records, was "
    "probably picked by noise where no other rule was much better."
)
NOISY_COUNTS = "Counts are noisy."
NO_COUNTS = "How many records are in a leaf was not released."
CHOSEN_TOGETHER = (
    "The last split of a path and the labels of its two sides were chosen together, before anything was counted: so a "
    "label may differ from what the noisy counts suggest."
)
MERGED = (
    "Two sides with the same label are drawn as one leaf, so more splits were paid for ({asked}) than are drawn "
    "({drawn})."
)


def _tree_lead(subject: Subject) -> str:
    """How to read the trees, and what of their oddities has which reason."""
    weighed = all(tree.weighed for tree in subject.trees)
    questions = [event.question for event in subject.receipt.events]
    said = [TREE_LEAD, ODD_RULES, NOISY_COUNTS if weighed else NO_COUNTS]
    if weighed and "choose a split with its labels" in questions:
        said.append(CHOSEN_TOGETHER)
    asked = sum(question in ("choose a split", "choose a split with its labels") for question in questions)
    drawn = sum(node.rule is not None for tree in subject.trees for node in tree.nodes)
    if asked > drawn and not subject.chosen:
        said.append(MERGED.format(asked=asked, drawn=drawn))
    return " ".join(said)


TERMS_LEAD = (
    "Each picture is what a feature, or several together, adds to the score, beside its average. Bands and whiskers "
    "are two standard deviations of the noise on each side; crossed cells could be noise alone."
)


def _model(subject: Subject) -> str:
    if subject.boosted is not None:
        return _section("model", "What features add", TERMS_LEAD)
    if subject.trees:
        return _section("model", "The tree" if len(subject.trees) == 1 else "The trees", _tree_lead(subject))
    lead = (
        "This model is hidden: its rules and labels exist only as shares on three servers, and none can read "
        "them. So there is nothing to draw. Its shape follows from the schema and the depth, and is the same "
        "whatever the records say. Predictions are asked from the servers: privet mpc predict."
    )
    return _section("model", "The model", lead)


def _record(subject: Subject) -> str:
    lead = "Type a record's values and follow it. This happens on this page alone: nothing is sent or kept."
    return "" if subject.released is None else _section("record", "Try a record", lead)


def _budget(subject: Subject) -> str:
    rho = (
        " Amounts are in rho, which adds up; the whole is converted to epsilon once."
        if subject.receipt.at_delta
        else ""
    )
    lead = (
        "A record is in one branch at each split, so it pays for one path alone. Here is where the budget went, from "
        f"the first question to the last, with every kind of question in words.{rho}"
    )
    return _section("budget", "Where the budget went", lead)


def _scores(subject: Subject) -> str:
    found = subject.evaluation
    if found is None:
        return ""
    whose = "a test set with a receipt of its own" if found.privacy_ is not None else "records held out of the fit"
    lead = f"From one noisy table of {whose}. All intervals hold with 95% confidence, for noise and chance."
    return _section("scores", "How good it is", lead)


def _check_same_learner(certificate: Certificate, subject: Subject) -> None:
    """Raise for a certificate of another learner than the one that made this model."""
    unlike = [
        f"{name} is {theirs!r} there and {ours[0]!r} here"
        for name, theirs, ours in (
            ("the estimator", certificate.estimator, [subject.model]),
            ("what is covered", certificate.unit, [subject.receipt.unit]),
            ("the guarantee", certificate.guarantee, [str(own) for own in _guarantees(subject)]),
        )
        if theirs not in ours
    ]
    if unlike:
        raise PrivetError(
            f"This certificate is of another model: {'; '.join(unlike)}. Certify what this model was learned by, with "
            "privet certify and the same --model, --epsilon, --delta and --set."
        )


def _guarantees(subject: Subject) -> list[Guarantee]:
    """What holds for every fit like this one, and what does for the same epsilon and delta in another ledger.

    How much rho an epsilon is hangs on whether the ledger converts at whole orders only, as joint ones do.
    """
    receipt = subject.receipt
    held = guarantee_by(receipt, subject.one_currency, str(subject.params.get("variant", "sound")))
    if not isinstance(held, Concentrated) or receipt.claimed == math.inf:
        return [held]
    claimed = Fraction(receipt.claimed)
    return [held, *(Concentrated(rho_within(claimed, receipt.at_delta, whole)) for whole in (False, True))]


def _robustness(certificate: Certificate | None) -> str:
    return "" if certificate is None else robustness_section(certificate).strip()


# -- details ----------------------------------------------------------------------------------------------------------


def _details(subject: Subject) -> str:
    receipt = subject.receipt
    same, claimed = receipt.epsilon == receipt.spent == receipt.claimed, show(receipt.claimed)
    facts = {
        "model": subject.model,
        "epsilon": show(receipt.epsilon) + ("" if same else f" (claimed {claimed}, spent {show(receipt.spent)})"),
        "delta": show(receipt.delta),
        "covers": f"{receipt.unit}: whether it is there or not ({receipt.neighbours})",
        "released (SHA-256)": receipt.released or "nothing that could be hashed: the model is hidden",
        **{name: str(value) for name, value in subject.params.items() if value is not None and name != "epsilon"},
    }
    rows = "".join(f"<tr><th>{escape(k)}</th><td><code>{escape(v)}</code></td></tr>" for k, v in facts.items())
    parts = [f"<table><tbody>{rows}</tbody></table>"]
    if subject.released is not None:
        text = rules_text(subject.released)
        rules = text if len(text) <= LONGEST_RULES else text[:LONGEST_RULES] + "\n... (privet show prints the rest)"
        parts.append(_folded("The rules as text", f'<pre tabindex="0" aria-label="The rules">{escape(rules)}</pre>'))
    parts.append(
        _folded(
            "The receipt as text",
            f'<pre class="wrapped" tabindex="0" aria-label="The receipt">{escape(str(receipt))}</pre>',
        )
    )
    return "\n".join(parts)


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>\n{content}</details>"
