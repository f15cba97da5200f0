"""What ``--set name=value`` says, and what is shown of models."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

from privet.algorithms.registry import MODELS, find, grown_of, parameters
from privet.cli.screen import say
from privet.errors import PrivetError

OPTIONS = {"schema": "--schema", "epsilon": "--epsilon", "random_state": "--seed"}
"""Parameters that have an option of their own."""
ODD = (
    "Noise took part in choosing these rules. One that looks odd may be noise, where few or no records are and no "
    "other rule was much better: read nothing into it."
)


def settings(texts: Sequence[str]) -> dict[str, Any]:
    """Parameters from ``name=value``: numbers, true, false and none as such, anything else as text.

    >>> settings(["max_depth=3", "leaves=counts", "share=1/3", "n_records=none", "early_stop=true"])
    {'max_depth': 3, 'leaves': 'counts', 'share': '1/3', 'n_records': None, 'early_stop': True}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise PrivetError(f"--set takes name=value, such as --set max_depth=3; got {text!r}")
        if name in OPTIONS:
            raise PrivetError(f"{name} is not for --set: it has the option {OPTIONS[name]}")
        if name in found:
            raise PrivetError(f"--set gives {name} twice")
        found[name] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    known = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in known:
        return known[text.lower()]
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float) else text


def show(name: str | None) -> None:
    """Every model with one line about it, or all about one."""
    if name is not None:
        kind = find(name)
        own = {param: repr(p.default) for param, p in parameters(kind).items() if param not in OPTIONS}
        about = inspect.getdoc(kind) or ""
        say(about, model=name, about=about, parameters=own)
        say(f"\nFor --set, with their defaults: {', '.join(f'{param}={value}' for param, value in own.items())}")
        return
    width = max(map(len, MODELS))
    lines = {each: (inspect.getdoc(find(each)) or "").partition("\n")[0] for each in MODELS}
    say("\n".join(f"{each:{width}}  {first}" for each, first in lines.items()), models=lines)


def summary(model: Any) -> str:
    """One line about what a model has grown."""
    grown = grown_of(model)
    if hasattr(grown, "terms"):
        used = {f for term in grown.terms for f in term.features}
        return (
            f"{type(model).__name__}: boosted, {len(grown.rounds)} rounds, {len(grown.terms)} terms of "
            f"{len(used)} of {len(grown.cuts)} features"
        )
    n_leaves = len(grown.leaves)
    n_trees = len(getattr(grown, "trees", ()))
    trees = f"{n_trees} {'tree' if n_trees == 1 else 'trees'}, " if n_trees else ""
    return f"{type(model).__name__}: {trees}depth {grown.depth}, {n_leaves} {'leaf' if n_leaves == 1 else 'leaves'}"
