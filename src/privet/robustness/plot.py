"""A picture of a certificate: what is guaranteed against more and more poisoned records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from privet.audit.plot import require_matplotlib
from privet.robustness.certificate import ADDED, BY_MEAN, CHANGED, Certificate

_STYLES = {ADDED: "-", CHANGED: "--"}
_DOTS = {ADDED: (0, (1, 1.5)), CHANGED: (0, (1, 4))}
"""Of what is an estimate and no guarantee."""


def plot_certificate(certificate: Certificate, path: Path | str, kind: str | None = None) -> None:
    """Draw all rows into a file; ``kind``, by default its suffix, is .png, .svg or .pdf."""
    drawn(certificate).savefig(path, format=(kind or Path(path).suffix).lstrip(".").lower())


def drawn(certificate: Certificate) -> Any:
    """The same as Matplotlib's figure."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure, units = Figure(figsize=(8, 4.8), dpi=150, layout="constrained"), certificate.units
    axes = figure.add_subplot(xlabel=f"poisoned {units}", ylabel="share of test records", ylim=(0, 1))
    axes.axhline(certificate.clean, color="0.6", lw=1, label=f"mean accuracy now, {certificate.clean:.3f}")
    for attack, style in _STYLES.items():
        rows = sorted((row for row in certificate.rows if row.level.attack == attack), key=lambda row: row.level.units)
        poisoned = [row.level.units for row in rows]
        curves = [
            ("guaranteed accuracy", "#1b6e3c", [row.accuracy for row in rows]),
            ("majority kept", "#2a5caa", [row.majority for row in rows]),
        ]
        if all(row.success is not None for row in rows):
            curves.append(("backdoor's success at most", "#b3261e", [row.success or 0.0 for row in rows]))
        for label, color, values in curves:
            axes.plot(poisoned, values, style, color=color, marker=".", ms=4, label=f"{label}, {units} {attack}")
        estimates, label = [row.by_mean for row in rows], f"{BY_MEAN}, {units} {attack}"
        axes.plot(poisoned, estimates, ls=_DOTS[attack], color="0.45", lw=0.8, label=label)
    axes.set_title(
        f"{certificate.estimator}: averages over retrainings and majority votes, not one released model\n"
        f"{certificate.guarantee}; confidence {certificate.confidence:g}",
        fontsize=9,
    )
    axes.legend(fontsize=7, frameon=False)
    return figure
