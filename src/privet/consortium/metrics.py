"""A status as numbers for Prometheus, in its text format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

Sample = tuple[str, dict[str, str], float]

HELP = {
    "privet_up": "1 while the program lives.",
    "privet_runs": "Runs by their state.",
    "privet_info": "Who it is, as what, and with which version.",
    "privet_epsilon_limit": "The most that all runs together may spend.",
    "privet_epsilon_spent": "What they have spent.",
    "privet_epsilon_left": "What is left of the limit.",
    "privet_certificate_days": "Days that a certificate is still valid.",
    "privet_queries_left": "Queries that a user may still ask hidden models.",
    "privet_hidden_models": "Hidden models whose shares are kept.",
    "privet_connected": "1 if a member is connected.",
    "privet_refused_connections": "Connections that were refused since the start.",
}


def prometheus(status: Mapping[str, Any], *, everything: bool) -> str:
    """The metrics of a status; without ``everything`` only that the program lives and how many runs it has.

    >>> print(prometheus({"runs": [{"state": "open"}]}, everything=False), end="")
    # HELP privet_up 1 while the program lives.
    # TYPE privet_up gauge
    privet_up 1
    # HELP privet_runs Runs by their state.
    # TYPE privet_runs gauge
    privet_runs{state="open"} 1
    """
    samples = [*_for_all(status), *(_for_operator(status) if everything else ())]
    lines: list[str] = []
    for name, words in HELP.items():
        own = [sample for sample in samples if sample[0] == name]
        if own:
            lines += [f"# HELP {name} {words}", f"# TYPE {name} gauge", *map(_line, own)]
    return "".join(f"{line}\n" for line in lines)


def _for_all(status: Mapping[str, Any]) -> Iterator[Sample]:
    yield "privet_up", {}, 1
    states = Counter(str(run.get("state", "unknown")) for run in status.get("runs", ()))
    for state, n in sorted(states.items()):
        yield "privet_runs", {"state": state}, n


def _for_operator(status: Mapping[str, Any]) -> Iterator[Sample]:
    yield "privet_info", {name: str(status.get(name, "")) for name in ("name", "role", "version")}, 1
    for name in ("limit", "spent", "left"):
        if name in status:
            yield f"privet_epsilon_{name}", {}, _number(status[name])
    for each in status.get("certificates", ()):
        yield "privet_certificate_days", {"name": str(each["name"])}, float(each["days"])
    for each in status.get("users", ()):
        yield "privet_queries_left", {"name": str(each["user"])}, float(each["queries left"])
    if "hidden models" in status:
        yield "privet_hidden_models", {}, len(status["hidden models"])
    for each in status.get("members", ()):
        if "connected" in each:
            yield "privet_connected", {"name": str(each["name"])}, float(each["connected"])
    if "refused connections" in status:
        yield "privet_refused_connections", {}, float(status["refused connections"])


def _number(text: Any) -> float:
    """An amount as the status shows it, such as "1 (delta 1e-06)"."""
    try:
        return float(str(text).split()[0].replace(",", ""))
    except (IndexError, ValueError):
        return math.nan


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _line(sample: Sample) -> str:
    name, labels, value = sample
    shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    number = "NaN" if math.isnan(value) else f"{value:g}"
    return f"{name}{{{shown}}} {number}" if shown else f"{name} {number}"
