"""How good a model is, in sentences: a verdict first, then the private scores with their intervals."""

from __future__ import annotations

from typing import Any

from privet.evaluate.evaluation import TOO_WIDE, Evaluation
from privet.evaluate.intervals import Estimate
from privet.explain.subject import Subject

SURE = "Ranges hold with 95% confidence, for chance and noise."


def quality(subject: Subject, found: Evaluation) -> tuple[str, str]:
    """A verdict, and what it follows from. ``Evaluation.verdict`` has the rule."""
    n = f"about {found.size.value:,.0f} {_who(found)} {apart(found)}"
    if found.classes is None:
        mean, half = found.mean_absolute_error, found.absolute_error(0.5)
        return (
            f"On average it is off by {mean.value:.4g} ({mean.low:.4g} to {mean.high:.4g}).",
            f"For half of {n} it is off by less than {half.value:.4g} ({half.low:.4g} to {half.high:.4g}). {SURE}",
        )
    right = found.accuracy
    if right.high - right.low > TOO_WIDE:
        right = right.outward(2)
        return (
            f"Noise hides it: on {n} it is right for some {right.low:.0%} to {right.high:.0%}.",
            "Scores on more records, or a larger epsilon, would tell.",
        )
    common, share = found.baseline
    said = [
        f"On {n} it is right for {right.percent}, where always saying {subject.says(common)} would be right for "
        f"{share.percent}.",
        *_of_hundred(subject, found, common),
    ]
    if "AUC" in found.summary:
        area = found.auc.outward(3)
        said.append(f"The area under its ROC curve is {area.value:.3f} ({area.low:.3f} to {area.high:.3f}).")
    return found.verdict(subject.says(common)), " ".join([*said, SURE])


def apart(found: Evaluation) -> str:
    """Whose the records are that score it: the receipt tells those that were held out, and nothing tells a test set."""
    return "that it did not learn from" if found.privacy_ is None else "of a test set"


def _of_hundred(subject: Subject, found: Evaluation, common: str) -> list[str]:
    """Recall and precision without their names: of two classes those of the rarer, of several of the least found."""
    classes: tuple[Any, ...] = found.classes or ()
    others = [own for own in classes if str(own) != common] if len(classes) == 2 else list(classes)
    label = min(others, key=lambda own: found.recall(own).value)
    says = subject.says(label)
    whose = f"whose {subject.label} is {says}" if subject.schema.label is not None else f"of class {says}"
    those = f"with {says}" if says != str(label) else whose
    recall, precision = found.recall(label), found.precision(label)
    if _hidden(recall) and _hidden(precision):
        return [f"Noise hides how many {_who(found)} {those} it finds, and how many that it calls so are."]
    finds = (
        f"Noise hides how many {_who(found)} {those} it finds."
        if _hidden(recall)
        else f"Of 100 {_who(found)} {those} it finds {_hundredths(recall)}."
    )
    called = (
        f"Noise hides how many that it calls {says} are."
        if _hidden(precision)
        else f"Of 100 that it calls {says}, {_hundredths(precision)} are."
    )
    return [finds, called]


def _who(found: Evaluation) -> str:
    return "records" if found.weight == 1 else "persons"


def _hidden(own: Estimate) -> bool:
    return own.high - own.low > TOO_WIDE


def _hundredths(own: Estimate) -> str:
    shown = own.outward(2)
    return f"{100 * shown.value:.0f} ({100 * shown.low:.0f} to {100 * shown.high:.0f})"
