"""What a release is, in sentences: for the person who must approve it, and for the one who uses it.

Six questions, always the same, in the same order. Everything is said from released numbers and public words alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privet.evaluate.intervals import Estimate, Z
from privet.explain.score_words import apart, quality
from privet.explain.subject import Subject
from privet.privacy.amounts import show
from privet.privacy.meaning import NOTHING, WEAK, guess_rate, percent, short_at_most
from privet.privacy.receipt import Receipt
from privet.rounding import at_most, rounded_up

NOT_LISTED = 6
"""More classes than this are not listed in a sentence."""


@dataclass(frozen=True)
class Answer:
    """One of the questions, and what is true of this model. ``warning``: a reader should stop here.

    ``first`` is for those who read one line, ``points`` are a list below it, ``more`` is what qualifies it.
    """

    question: str
    first: str
    more: str = ""
    points: tuple[str, ...] = ()
    warning: bool = False

    @property
    def text(self) -> str:
        """All of it, where there is no room for paragraphs."""
        return " ".join(part for part in (self.first, *self.points, self.more) if part)


@dataclass(frozen=True)
class LedgerWords:
    """Which ``records`` a ledger is for, what is ``left`` in words, and whether it lists the release (``known``)."""

    records: str
    left: str
    known: bool = True


WHAT, WHOSE, PROMISE, COST, QUALITY, TRUST = (
    "What was learned?",
    "From whose records?",
    "What does it promise to one person?",
    "What did it cost, and what is left?",
    "How good is it?",
    "Who had to be trusted?",
)


def answers(subject: Subject, ledger: LedgerWords | None = None) -> list[Answer]:
    """The six answers; ``ledger`` is what the records' ledger says, where it is known."""
    receipt = subject.receipt
    astray = ledger is not None and not ledger.known
    promise, limits = promised(subject)
    return [
        Answer(WHAT, learned(subject)),
        Answer(WHOSE, whose(subject, ledger), f"{how_many(subject)} {covered(subject)}"),
        Answer(PROMISE, promise, limits, warning=bool(receipt.void) or is_weak(receipt)),
        Answer(
            COST,
            cost(receipt),
            NO_LEDGER if ledger is None else ledger.left,
            warning=bool(receipt.shortfall) or astray,
        ),
        _scored(subject),
        Answer(TRUST, "To approve this model is to rely on:", points=trusted(subject)),
    ]


def _scored(subject: Subject) -> Answer:
    """The scores, what they cost the records that score the model, and whether these are promised too little."""
    found = subject.evaluation
    if found is None:
        return Answer(QUALITY, NOT_SCORED)
    first, more = quality(subject, found)
    if found.privacy_ is None:
        return Answer(QUALITY, first, more)
    warning = bool(found.void) or is_weak(found.privacy_)
    return Answer(QUALITY, first, f"{more} {scores_promise(found.privacy_)}", warning=warning)


def scores_promise(own: Receipt) -> str:
    """What scores with a receipt of their own promise to the records that score the model."""
    if own.void:
        return f"To the records that score it nothing is promised: {'; '.join(own.void)}. The scores' receipt is void."
    return (
        f"The scores have a receipt of their own: they cost the records that score it epsilon {_brief(own.epsilon)}. "
        "Neither receipt tells whether the model was learned from the same records: then the two epsilons add up, and "
        "the scores flatter it."
    )


NO_LEDGER = (
    "What is left for other releases from the same records cannot be said here. Their ledger, the file that adds up "
    "all releases, knows it, and this page was made without a ledger (privet report --ledger FILE)."
)

DECLARED = (
    "With what counts as public: those who wrote the schema. That its ranges, categories and classes are public, and "
    "were not read off the records, is declared there; no program can check it."
)

READ_OFF = (
    "With what counts as public: nobody yet. The schema was read off the records, and nobody has confirmed that what "
    "it says is public."
)

ALPHA = (
    "With the program: those who wrote Privet. It is alpha software, and nobody outside the project has reviewed it."
)

AFTERWARDS = "While it learned, "
"""How the part of a receipt's trust begins that is about what stays on a machine's own disk."""


def trusted(subject: Subject) -> tuple[str, ...]:
    """The parties, one by one; what a machine kept on its own disk comes last, because no other party has it."""
    records, here, rest = subject.receipt.trust.partition(AFTERWARDS)
    disk = f"{here}{rest}"
    schema = READ_OFF if subject.schema.unconfirmed else DECLARED
    parties = (f"With the records: {_inside(records)}", schema, ALPHA)
    return (*parties, f"With that machine's disk: {_inside(disk)}") if disk else parties


def _inside(sentences: str) -> str:
    """Sentences as they stand after a colon."""
    return f"{sentences[:1].lower()}{sentences[1:].rstrip()}"


NOT_SCORED = (
    "Nobody measured it privately, so this page cannot say. A fit with holdout=0.2 (privet fit --holdout 0.2) "
    "scores a model on records that it did not learn from, at no extra epsilon."
)


def learned(subject: Subject) -> str:
    """What kind of model, what it predicts and what from."""
    n = len(subject.schema.names)
    used = _used(subject)
    uses = f", of which it uses {used}" if used is not None and used < n else ""
    return (
        f"{_kind(subject)} that predicts {subject.label} ({_outcomes(subject)}) from "
        f"{n} feature{'s' if n > 1 else ''}{uses}.{' ' if subject.chosen else ''}{subject.chosen}"
    )


def _kind(subject: Subject) -> str:
    if subject.boosted is not None:
        rounds = len(subject.boosted.rounds)
        terms = len(subject.boosted.term_importances)
        drawn = _several(terms, "curve or table", "curves and tables")
        return f"A sum of {drawn} ({_several(rounds, 'round')} of boosting)"
    if not subject.trees:
        return "A hidden model, which nobody holds in one piece: three servers answer for it together,"
    leaves = sum(len(tree.leaves) for tree in subject.trees)
    deep = max(tree.depth for tree in subject.trees)
    if len(subject.trees) == 1:
        return f"A decision tree with {_several(leaves, 'leaf', 'leaves')}, {deep} deep,"
    return f"A forest of {len(subject.trees)} decision trees with {leaves:,} leaves, at most {deep} deep,"


def _several(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _used(subject: Subject) -> int | None:
    if subject.boosted is not None:
        return len({feature for own in subject.boosted.rounds for feature in own.features})
    return len(set().union(*(tree.features for tree in subject.trees))) if subject.trees else None


def _outcomes(subject: Subject) -> str:
    classes = subject.schema.classes
    if classes is None:
        low, high = subject.schema.target or (0, 0)
        return f"a number from {low:g} to {high:g}"
    if len(classes) > NOT_LISTED:
        return f"one of {len(classes)} classes"
    *rest, last = map(str, classes)
    return f"{', '.join(rest)} or {last}" if rest else f"always {last}"


def whose(subject: Subject, ledger: LedgerWords | None = None) -> str:
    """Whose records they were, by the ledger and by the note of those who released the model."""
    names = [f"The ledger that lists this release names them: {ledger.records}."] if ledger and ledger.known else []
    names += [f"Those who released it note: {subject.note.rstrip('.')}."] if subject.note else []
    return " ".join(names) or "The model's file does not say whose records they were: a note could (--note)."


def covered(subject: Subject) -> str:
    """Which unit the promise is about: a person with all records, or a row, which readers may take for a person."""
    if subject.who != "person":
        return ROW_ALONE
    cap = subject.receipt.unit.removeprefix("one person, ")
    return (
        f"The promise covers a person with all their records: {cap} of each person count, and column "
        f"{subject.schema.person or 'with the persons'} says whose record it is."
    )


ROW_ALONE = (
    "A record is one row of the table, and the promise covers one row. A person with several rows is covered for each "
    "row apart, and less for all of them together."
)


def how_many(subject: Subject) -> str:
    """About how many were learned from and scored, by noisy counts: their sum need not be the number of records."""
    learned_from, scored, who = about_how_many(subject), subject.evaluation, f"{subject.who}s"
    hint = subject.params.get("n_records")
    noisy = "That number is noisy; a range holds with 95% confidence."
    hides = "was not released" if not any(tree.weighed for tree in subject.trees) else "is not told in one number"
    if learned_from is not None and scored is not None:
        others = "others" if scored.privacy_ is None else f"{who} {apart(scored)}"
        both = f"It was learned from about {_ranged(learned_from)} {who} and scored on about {_ranged(scored.size)}"
        return f"{both} {others}. The numbers are noisy, so they need not add up; ranges hold with 95% confidence."
    if learned_from is not None:
        noisy = noisy if learned_from.high > learned_from.low else "That number is noisy."
        return f"It was learned from about {_ranged(learned_from)} {who}. {noisy}"
    unknown = f"How many {who} it was learned from {hides}"
    if hint is not None:
        unknown += f"; those who fitted it told the program that there are about {hint:,.0f} in all"
    if scored is None:
        return f"{unknown}."
    return f"{unknown}. It was scored on about {_ranged(scored.size)} {who} {apart(scored)}. {noisy}"


def _ranged(found: Estimate) -> str:
    shown = found.outward(0)
    return f"{shown.value:,.0f}" + (f" ({shown.low:,.0f} to {shown.high:,.0f})" if found.high > found.low else "")


def about_how_many(subject: Subject) -> Estimate | None:
    """The records that the leaves of a tree say they have, by their noisy counts; None where nothing was said."""
    if len(subject.trees) != 1 or not subject.trees[0].weighed:
        return None
    tree = subject.trees[0]
    leaves = [tree.nodes[i] for i in tree.leaves]
    total = sum(sum(leaf.counts) if leaf.counts is not None else leaf.weight or 0.0 for leaf in leaves)
    reach = Z * math.sqrt(_variance_of_counts(subject, {leaf.scope for leaf in leaves}))
    return Estimate(total, max(total - reach, 0.0), total + reach) if total > 0 else None


def _variance_of_counts(subject: Subject, scopes: set[str]) -> float:
    """That of the noise in all leaves' counts together: rather too much, each scope is taken to part two ways.

    Nothing where it is not plain which sums the counts come from.
    """
    receipt, classes = subject.receipt, subject.schema.classes
    sums = [event for event in receipt.events if event.scope in scopes and event.lemma.endswith("tally(1)")]
    if classes is None or receipt.weight > 1 or {event.scope for event in sums} != scopes:
        return 0.0
    return 2 * len(classes) * sum(event.variance for event in sums)


def promised(subject: Subject) -> tuple[str, str]:
    """What an epsilon means: first how often a guess is right, then in odds, and for whom; or why nothing is promised.

    Readers take the question's person for one, so where a record is covered its caveat stands here, too.
    """
    receipt, who = subject.receipt, subject.who
    if receipt.void:
        return f"Nothing: {'; '.join(receipt.void)}. The receipt is void.", ""
    epsilon, delta = float(receipt.epsilon), float(receipt.delta)
    if not math.isfinite(epsilon):
        return "Nothing: exact values were read.", ""
    rate = guess_rate(epsilon, delta)
    right = f"right at most {percent(rate)[:-1]} times in 100" if rate < ALWAYS else "possibly always right"
    weak = f" {NO_PROMISE if is_nothing(receipt) else WEAK_PROMISE}" if is_weak(receipt) else ""
    rarely = f", except with a probability of {delta:g}" if delta else ""
    them = "them" if who == "person" else "it"
    return (
        f"If the chances were even before, a guess whether one {who} was used is {right}. A coin toss is right 50 "
        f"times.{weak}",
        f"That holds even for somebody who has this model and knows all other {who}s. In odds: no model is more "
        f"than {_times(epsilon)} times as likely with {them} as without, or the other way round{rarely}. "
        f"{covered(subject)}",
    )


ALWAYS = 0.9995
"""A guess that may be right more often is as good as certain."""


def _times(epsilon: float) -> str:
    """By how much odds may grow at most: near one with the digits that tell it from one."""
    if epsilon >= NOTHING:
        return f"10^{rounded_up(epsilon / math.log(10), 0):.0f}"
    if epsilon >= 0.1:
        return short_at_most(math.exp(epsilon))
    more = math.expm1(epsilon)
    return f"{1 + rounded_up(more, 3):.3f}" if epsilon >= 1e-3 else f"(1 + {at_most(more, 3)})"


WEAK_PROMISE = "That is a weak promise: usual are epsilons from 0.1 to 1."

NO_PROMISE = "In practice that promises nothing: usual are epsilons from 0.1 to 1."


def is_weak(receipt: Receipt) -> bool:
    return float(receipt.epsilon) >= WEAK


def is_nothing(receipt: Receipt) -> bool:
    return float(receipt.epsilon) >= NOTHING


def cost(receipt: Receipt) -> str:
    """What was spent of what was claimed."""
    delta = f" and delta {show(receipt.delta)}" if receipt.delta else ""
    answered = _several(len(receipt.events), "private answer")
    spent = f"Epsilon {_brief(receipt.spent)}{delta}, for {answered}"
    if receipt.shortfall:
        return f"{spent}, and not the {_brief(receipt.claimed)} that was claimed: {receipt.shortfall.rstrip('.')}."
    allowed = "all" if receipt.spent == receipt.claimed else f"{_brief(receipt.claimed)}"
    return f"{spent}: {'all' if allowed == 'all' else 'of the ' + allowed} that this fit was given."


def _brief(amount: object) -> str:
    return "infinity" if amount == math.inf else f"{float(amount):.4g}"  # type: ignore[arg-type]
