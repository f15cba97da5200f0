"""What ``privet audit`` does: published claims in a table, or one estimator attacked for some minutes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli import models
from privet.cli.facts import for_programs
from privet.cli.files import check_output
from privet.cli.options import Force, Settings, checked_epsilon
from privet.cli.screen import say, warn, working
from privet.disk import whole_file
from privet.errors import PrivetError

ALL = "all"
WIDTH = 132  # of a table where no terminal says how wide it is


def audit(
    claims: Annotated[bool, typer.Option("--claims", help="Attack the published claims, and print a table.")] = False,
    paper: Annotated[str | None, typer.Option(help="With --claims: only the claims of one paper or library.")] = None,
    estimator: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Attack a model of Privet, all of them, or package.module:Class."),
    ] = None,
    settings: Settings = None,
    epsilon: Annotated[float | None, typer.Option(help="With --estimator: the epsilon that it promises.")] = None,
    delta: Annotated[float | None, typer.Option(help="With --estimator: the delta it promises. Default 0.")] = None,
    minutes: Annotated[float | None, typer.Option(help="With --estimator: how long the attack lasts.")] = None,
    confidence: Annotated[
        float | None, typer.Option(help="How sure a bound must be where runs are counted. Default 0.999999.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw what was found against what is proven, as .png, .svg or .pdf.")
    ] = None,
    force: Force = False,
) -> None:
    """Attack a privacy guarantee: a lower bound on what it really costs.

    Exits with 1 if an estimator costs more than it promises, or if the
    result of a claim is not what is proven. That nothing is found is no
    proof of privacy.

    Examples:

        privet audit --claims --plot claims.png
        privet audit --estimator PrivateTreeClassifier --epsilon 1 --minutes 2
        privet audit --estimator PrivateTreeClassifier --set max_depth=2 --epsilon 1
    """
    if claims == (estimator is not None):
        raise typer.BadParameter("say what to audit: either --claims or --estimator NAME.")
    if claims and (settings or not epsilon is delta is minutes is confidence is None):
        raise typer.BadParameter("--set, --epsilon, --delta, --minutes and --confidence belong to --estimator.")
    if estimator is not None and paper is not None:
        raise typer.BadParameter("--paper belongs to --claims.")
    target = None
    if plot is not None:
        from privet.audit.plot import require_matplotlib

        require_matplotlib()
        target = check_output(plot, force, suffixes=(".png", ".svg", ".pdf"))
    if estimator is None:
        kept = audit_claims(paper, target)
    else:
        if epsilon is None:
            raise typer.BadParameter("give --epsilon: what the estimator promises, such as 1.")
        time = 1.0 if minutes is None else minutes
        subjects = estimators(estimator, checked_epsilon(epsilon), settings or ())
        kept = audit_estimators(subjects, epsilon, delta, time, confidence, target)
    if not kept:
        raise typer.Exit(1)


def audit_claims(paper: str | None, plot: Path | None) -> bool:
    """Attack every published claim; whether all went as the proofs say."""
    with working("Loading"):
        from privet.audit.claims import CLAIMS
        from privet.progress import Progress

    chosen = [entry for entry in CLAIMS if paper is None or entry.paper.lower() == paper.lower()]
    if not chosen:
        names = dict.fromkeys(entry.paper for entry in CLAIMS)
        raise PrivetError(f"there are no claims of {paper}; there are those of {', '.join(names)}")
    findings, failed = [], {}
    with Progress(None, "attacking", len(chosen)) as bar:
        for entry in chosen:
            bar.note(f"{entry.paper}: {entry.variant}")
            try:
                findings.append(entry.attack())
            except Exception as error:  # one entry must not end the table
                words = f": {error}" if isinstance(error, PrivetError) else ""
                failed[entry.key] = f"{type(error).__name__}{words}"
            bar.advance(1)
    say(claims=[finding.to_dict() for finding in findings], failed=failed)
    if not for_programs():
        claims_table(findings)
    for key, why in failed.items():
        warn(f"the attack on {key} failed: {why}")
    if plot is not None and findings:
        named = [(f"{finding.claim.paper}: {finding.claim.variant}", finding) for finding in findings]
        _plot([(name, f.claim.claimed, f.claim.proven, f.bound) for name, f in named], plot)
    return not failed and all(finding.expected for finding in findings)


def audit_estimators(
    subjects: Mapping[str, Any],
    epsilon: float,
    delta: float | None,
    minutes: float,
    confidence: float | None,
    plot: Path | None,
) -> bool:
    """Attack estimators for some minutes each; whether every promise was kept."""
    with working("Loading"):
        from privet.audit.auditor import audit
        from privet.audit.bound import CONFIDENCE

    reports = {}
    for own, estimator in subjects.items():
        sure = CONFIDENCE if confidence is None else confidence
        reports[own] = report = audit(estimator, epsilon=epsilon, delta=delta, minutes=minutes, confidence=sure)
        say(str(report).replace(report.estimator, own, 1), style="bold red" if report.violated else "")
        if report.violated:
            say(f"\nTo see it again:\n\n{report.findings[0].code()}")
    violated = any(report.violated for report in reports.values())
    say(violated=violated, estimators={own: report.to_dict() for own, report in reports.items()})
    if plot is not None:
        _plot([(own, epsilon, epsilon, report.worst) for own, report in reports.items()], plot)
    return not violated


def estimators(name: str, epsilon: float, given: Sequence[str] = ()) -> dict[str, Any]:
    """Ours by name, all of ours, or a stranger's as ``package.module:Class``, made with ``epsilon`` and ``given``."""
    from privet.algorithms.registry import MODELS, make
    from privet.audit.claims.privet import sound_estimators

    params = models.settings(given)
    if name in MODELS:
        return {" ".join([name, *given]): make(name, epsilon=epsilon, **params)}
    module, _, kind = name.partition(":")
    if kind and all(part.isidentifier() for part in (*module.split("."), *kind.split("."))):
        return {name: _made(_looked_up(_imported(module), kind), epsilon, params)}
    ours = sound_estimators(epsilon)
    if params and (name == ALL or name in ours):
        raise PrivetError(
            f"--set belongs to one model, and {name} has its parameters: choose one of {', '.join(MODELS)}"
        )
    if name == ALL:
        return ours
    if name in ours:
        return {name: ours[name]}
    raise PrivetError(
        f"there is no estimator {name}: choose one of {', '.join({**MODELS, **ours})}, {ALL} for all of them, or name "
        "another class as package.module:Class"
    )


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name if error.name is not None and error.name != module else ""
        why = f"it needs {missing}, which is not there" if missing else "is it installed, and its folder in PYTHONPATH?"
        raise PrivetError(f"{module} cannot be imported; {why}") from error
    except SyntaxError as error:
        raise PrivetError(f"{module} cannot be imported: SyntaxError in line {error.lineno}") from error
    except Exception as error:
        raise PrivetError(f"{module} cannot be imported: it raises {type(error).__name__}") from error


def _looked_up(module: Any, kind: str) -> Any:
    found = module
    for part in kind.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise PrivetError(f"{module.__name__} has no class {kind}")
    return found


def _made(kind: Any, epsilon: float, params: dict[str, Any]) -> Any:
    name = getattr(kind, "__name__", "this")
    try:
        return kind(epsilon=epsilon, **params)
    except TypeError as error:
        alone = f"epsilon and {', '.join(params)}" if params else "epsilon alone"
        raise PrivetError(f"{name} cannot be made with {alone}; write a class that fills in the rest") from error
    except Exception as error:
        why = f"it raises {type(error).__name__}"
        raise PrivetError(f"{name} cannot be made with epsilon={epsilon:g}: {why}") from error


def claims_table(findings: Sequence[Any]) -> None:
    """Print what is claimed, proven and found."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("paper", "variant"):
        table.add_column(title, overflow="fold")
    for title in ("claim", "proven", "bound found"):
        table.add_column(title, justify="right", no_wrap=True)
    for title in ("engine", "verdict"):
        table.add_column(title, no_wrap=True)
    styles = {"caught": "red", "holds": "green"}
    for finding in findings:
        claim, bound, verdict = finding.claim, finding.bound, finding.verdict
        numbers = [number(value) for value in (claim.claimed, claim.proven, bound.epsilon)]
        style = styles.get(verdict, "bold magenta")
        table.add_row(claim.paper, claim.variant, *numbers, bound.engine, f"[{style}]{verdict}[/]")
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    console.print(table)


def number(value: float) -> str:
    """Four digits are enough.

    >>> number(2.26305), number(float("inf")), number(10.75), number(0.1)
    ('2.263', 'inf', '10.75', '0.1')
    """
    return f"{value:.4g}"


def _plot(rows: Sequence[tuple[str, float, float, Any]], path: Path) -> None:
    from privet.audit.plot import Mark, plot

    with whole_file(path) as part:
        plot([Mark(label, claimed, proven, bound.epsilon) for label, claimed, proven, bound in rows], part, path.suffix)
