"""What a release is, in sentences: for the person who must approve it, and for the one who uses it.

Six questions, always the same, in the same order. Everything is said from released numbers and public words alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privet.evaluate.evaluation import TOO_WIDE, Evaluation
from privet.evaluate.intervals import Estimate, Z
from privet.explain.subject import Subject
from privet.privacy.amounts import show
from privet.privacy.meaning import NOTHING, WEAK, guess_rate, short
from privet.privacy.receipt import Receipt

NOT_LISTED = 6
"""More classes than this are not listed in a sentence."""


@dataclass(frozen=True)
class Answer:
    """One of the questions, and what is true of this model. ``warning``: a reader should stop here."""

    question: str
    text: str
    warning: bool = False


@dataclass(frozen=True)
class LedgerWords:
    """Which ``records`` a ledger is for, what is ``left`` in words, and whether it lists the release (``known``)."""

    records: str
    left: str
    known: bool = True


def answers(subject: Subject, ledger: LedgerWords | None = None) -> list[Answer]:
    """The six answers; ``ledger`` is what the records' ledger says, where it is known."""
    receipt = subject.receipt
    astray = ledger is not None and not ledger.known
    left = NO_LEDGER if ledger is None else ledger.left
    schema = READ_OFF if subject.schema.unconfirmed else DECLARED
    return [
        Answer("What was learned?", learned(subject)),
        Answer("From whose records?", whose(subject, ledger)),
        Answer("What does it promise to one person?", promised(subject), bool(receipt.void) or is_weak(receipt)),
        Answer("What did it cost, and what is left?", f"{cost(receipt)} {left}", bool(receipt.shortfall) or astray),
        Answer("How good is it?", *_scored(subject)),
        Answer("Who had to be trusted?", f"{receipt.trust} {schema} {ALPHA}"),
    ]


def _scored(subject: Subject) -> tuple[str, bool]:
    """The scores, what they cost the records that score the model, and whether these are promised too little."""
    found = subject.evaluation
    if found is None:
        return NOT_SCORED, False
    if found.privacy_ is None:
        return quality(subject), False
    return f"{quality(subject)} {scores_promise(found.privacy_)}", bool(found.void) or is_weak(found.privacy_)


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
    "You also rely on those who wrote the schema. They declare that its ranges, categories and classes are public "
    "and were not read off the records. No program can check this."
)

READ_OFF = "The schema was read off the records, and nobody has confirmed that what it says is public."

ALPHA = "And you rely on those who wrote Privet: it is alpha software, and nobody outside the project has reviewed it."

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
    """Whose records they were, about how many, and which unit the promise is about."""
    names = [f"By their ledger they are: {ledger.records}."] if ledger is not None and ledger.known else []
    names += [f"Those who released it note: {subject.note.rstrip('.')}."] if subject.note else []
    named = " ".join(names) or "The model's file does not say whose records they were: a note could (--note)."
    about = _how_many(subject)
    if subject.who == "person":
        cap = subject.receipt.unit.removeprefix("one person, ")
        covered = (
            f"The promise covers a person with all their records: {cap} of each person count, and column "
            f"{subject.schema.person or 'with the persons'} says whose record it is."
        )
    else:
        covered = (
            "The promise covers one row of the table. A person with several rows is covered for each row apart, and "
            "less for all of them together."
        )
    return " ".join(part for part in (named, about, covered) if part)


def _how_many(subject: Subject) -> str:
    """About how many were learned from and scored, by noisy counts: their sum need not be the number of records."""
    learned_from, scored, who = about_how_many(subject), subject.evaluation, f"{subject.who}s"
    if learned_from is None and scored is None:
        return ""
    noisy = "That number is noisy; a range holds with 95% confidence."
    if learned_from is None:
        assert scored is not None
        return f"It was scored on about {_ranged(scored.size)} {who} {_apart(scored)}. {noisy}"
    if scored is None:
        return f"It was learned from about {_ranged(learned_from)} {who}. {noisy}"
    others = "others" if scored.privacy_ is None else f"{who} {_apart(scored)}"
    both = f"It was learned from about {_ranged(learned_from)} {who} and scored on about {_ranged(scored.size)}"
    return f"{both} {others}. The numbers are noisy, so they need not add up; ranges hold with 95% confidence."


def _apart(scored: Evaluation) -> str:
    """Whose the records are that score it: the receipt tells those that were held out, and nothing tells a test set."""
    return "that it did not learn from" if scored.privacy_ is None else "of a test set"


def _ranged(found: Estimate) -> str:
    return f"{found.value:,.0f}" + (f" ({found.low:,.0f} to {found.high:,.0f})" if found.high > found.low else "")


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


def promised(subject: Subject) -> str:
    """What an epsilon means, in odds and in a guess; or why nothing is promised."""
    receipt, who = subject.receipt, subject.who
    if receipt.void:
        return f"Nothing: {'; '.join(receipt.void)}. The receipt is void."
    epsilon, delta = float(receipt.epsilon), float(receipt.delta)
    if not math.isfinite(epsilon):
        return "Nothing: exact values were read."
    times = _times(epsilon)
    rate = 100 * guess_rate(epsilon, delta)
    right = f"right at most {rate:.1f} times in 100" if rate < 99.95 else "possibly always right"
    them = "them" if who == "person" else "it"
    rarely = f" Except with a probability of {delta:g}." if delta else ""
    weak = f" {NO_PROMISE if is_nothing(receipt) else WEAK_PROMISE}" if is_weak(receipt) else ""
    return (
        f"What a reader can learn about one {who} has a limit: no model is more than {times} times as likely with "
        f"{them} in the records as without, or the other way round. A blind guess whether a given {who} was in the "
        f"records is right 50 times in 100. With this model, and knowing all other records, the guess is "
        f"{right}.{rarely}{weak}"
    )


def _times(epsilon: float) -> str:
    """By how much odds may grow: near one with the digits that tell it from one."""
    if epsilon >= NOTHING:
        return f"10^{epsilon / math.log(10):.0f}"
    if epsilon >= 0.1:
        return short(math.exp(epsilon))
    return f"{math.exp(epsilon):.3f}" if epsilon >= 1e-3 else f"(1 + {epsilon:.2g})"


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


def quality(subject: Subject) -> str:
    """The private scores, with their intervals, beside what knows nothing."""
    found = subject.evaluation
    assert found is not None
    n = f"about {max(found.n, 0):,.0f} {'records' if found.weight == 1 else 'persons'} {_apart(found)}"
    if found.classes is None:
        mean, half = found.mean_absolute_error, found.absolute_error(0.5)
        return (
            f"On {n} it is off by {mean.value:.4g} on average ({mean.low:.4g} to {mean.high:.4g}), and by less than "
            f"{half.value:.4g} ({half.low:.4g} to {half.high:.4g}) for half of them. {SURE}"
        )
    right = found.accuracy
    if right.high - right.low > TOO_WIDE:
        return (
            f"Noise hides it: on {n} it is right for some {right.low:.0%} to {right.high:.0%}. Scores on more "
            "records, or a larger epsilon, would tell."
        )
    text = f"On {n} it is right for {_percent(right)}. "
    common, share = found.baseline
    text += f"Always saying {subject.says(common)} would be right for {_percent(share)}. "
    text += f"{found.verdict(str(subject.says(common)))} "
    missed = min(found.classes, key=lambda label: found.recall(label).value)
    if (least := found.recall(missed)).value < WORTH_SAYING:
        text += f"Of those that are {subject.says(missed)} it finds {_percent(least)} (recall)"
        called = found.precision(missed)
        known = called.high - called.low <= TOO_WIDE
        text += (
            f", and of those that it calls {subject.says(missed)} {_percent(called)} are (precision). "
            if known
            else ". "
        )
    if "AUC" in found.summary:
        text += f"The area under its ROC curve is {found.auc.value:.3f} ({found.auc.low:.3f} to {found.auc.high:.3f}). "
    return text + SURE


def _percent(found: Estimate) -> str:
    return f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"


WORTH_SAYING = 0.5
"""Where a model finds fewer of a class than this, its accuracy alone would flatter it."""

SURE = "The ranges hold with 95% confidence, for chance and noise."
