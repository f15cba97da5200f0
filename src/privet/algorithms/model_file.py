"""Models as JSON files: readable, safe to load from strangers, and free of anything that was not released."""

from __future__ import annotations

import json
import math
import os
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from privet.algorithms.chosen import Chosen
from privet.algorithms.provenance import Provenance
from privet.algorithms.registry import MODELS, model_class
from privet.disk import write_whole
from privet.errors import PrivetError, SchemaError
from privet.evaluate.evaluation import Evaluation
from privet.privacy.receipt import Receipt
from privet.schema import Schema
from privet.strict_json import loads_strict, only
from privet.tree.additive import Additive
from privet.tree.forest import Forest
from privet.tree.splitting_class import SplittingClass
from privet.tree.tree import Tree

FORMAT = "privet-model-1"
LARGEST_FILE = 256 * 2**20

_KEYS = ("format", "model", "params", "schema", "tree", "forest", "receipt", "evaluation", "chosen", "provenance")
_PARAMS = str | int | float | bool | SplittingClass | None


def to_dict(model: Any) -> dict[str, Any]:
    """A fitted model as plain data."""
    params = {name: _plain(value) for name, value in model.get_params(deep=False).items() if name != "schema"}
    params["random_state"] = None  # whether a seed was used is on the receipt; its value would reveal the noise
    if "progress" in params:
        params["progress"] = None  # how a fit was shown is no part of its model
    return {
        "format": FORMAT,
        "model": type(model).__name__,
        "params": params,
        "schema": model.schema_.to_dict(),
        model._released.rstrip("_"): getattr(model, model._released).to_dict(),
        "receipt": model.privacy_.to_dict(),
        **({} if model.evaluation_ is None else {"evaluation": model.evaluation_.to_dict()}),
        **({"chosen": model.chosen_.to_dict()} if hasattr(model, "chosen_") else {}),
        **({"provenance": vars(model.provenance_)} if hasattr(model, "provenance_") else {}),
    }


def _plain(value: Any) -> Any:
    """A parameter as JSON has it; an exact fraction as text, such as 1/3."""
    if isinstance(value, Fraction):
        return str(value) if value.denominator > 1 else int(value)
    if isinstance(value, Integral):
        return bool(value) if isinstance(value, bool) else int(value)
    if isinstance(value, SplittingClass):
        return value.to_dict()
    return float(value) if isinstance(value, Real) else value


def _can_be_saved(name: str, value: Any) -> bool:
    number = isinstance(value, Real) and math.isfinite(value)
    return name in ("schema", "random_state", "progress") or value is None or isinstance(value, str) or number


def _is_param(value: Any) -> bool:
    """Whether this may be a parameter in a file: a whole number is one that 64 bits hold."""
    return isinstance(value, _PARAMS) and not (isinstance(value, int) and abs(value) >= 2**63)


def from_dict(data: Any) -> Any:
    """The model that ``to_dict`` described, checked: a malformed one is an error, whatever it says."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise PrivetError(f"This is not a model of Privet: its format is not {FORMAT!r}.")
    try:
        only(data, _KEYS)
        name, params = data["model"], dict(data["params"])
        schema, receipt = data["schema"], data["receipt"]
    except (KeyError, TypeError, ValueError):
        raise PrivetError("This model file is not whole: a part is missing, or one more is there.") from None
    if not isinstance(name, str) or name not in MODELS:
        raise PrivetError(f"This version of Privet has no model called {name!r}.")
    cls = model_class(name)
    known = set(cls._get_param_names()) - {"schema"}
    if isinstance(params.get("splitting_class"), dict):
        params["splitting_class"] = SplittingClass.from_dict(params["splitting_class"])
    if not set(params) <= known or not all(map(_is_param, params.values())):
        raise PrivetError("This model file has parameters that its class does not know.")
    model = cls(**params)
    model.random_state = None
    try:
        model._budget()
    except TypeError:
        raise PrivetError("This model file has a parameter of a wrong type.") from None
    model.schema = model.schema_ = Schema.from_dict(schema)
    model._check_schema(model.schema_)
    grown = data.get(cls._released.rstrip("_"))
    if grown is None:
        raise PrivetError("This model file is not whole: a part is missing.")
    setattr(model, cls._released, _read(grown, cls._released, model.schema_))
    released = getattr(model, cls._released)
    if model.schema_.target is not None and model.variant == "sound" and not isinstance(released, Additive):
        low, high = model.schema_.target
        values = [node.value for node in released.nodes if node.value is not None]
        if not all(low <= value <= high for value in values):
            raise SchemaError("This model predicts numbers outside the target's public range.")
    model.privacy_ = Receipt.from_dict(receipt)
    model.evaluation_ = Evaluation.from_dict(data["evaluation"]) if "evaluation" in data else None
    model._set_fitted()
    if "chosen" in data:
        model.chosen_ = Chosen.read(data["chosen"])
    if "provenance" in data:
        model.provenance_ = Provenance.read(data["provenance"])
    return model


def _read(grown: Any, released: str, schema: Schema) -> Tree | Forest | Additive:
    if released == "tree_":
        return Tree.from_dict(grown, schema)
    boosted = isinstance(grown, dict) and "rounds" in grown
    return Additive.from_dict(grown, schema) if boosted else Forest.from_dict(grown, schema)


def save(model: Any, path: str | os.PathLike[str], note: str = "", *, overwrite: bool = False) -> None:
    """Write the model to a file, whole or not at all; with the day, the version and a ``note`` on where it is from."""
    path = Path(path)
    if path.exists() and not overwrite:
        raise PrivetError(f"{path} exists. Choose another name, or say overwrite=True.")
    model.provenance_ = getattr(model, "provenance_", Provenance.today()).noted(note)
    try:
        text = json.dumps(to_dict(model), indent=1, allow_nan=False)
    except (TypeError, ValueError):
        odd = [name for name, value in model.get_params(deep=False).items() if not _can_be_saved(name, value)]
        raise PrivetError(
            f"This model cannot be saved: {', '.join(odd) or 'a parameter'} is neither a finite number nor text."
        ) from None
    if not path.parent.is_dir():
        raise PrivetError(f"The folder {path.parent} does not exist. Make it first.")
    write_whole(path, text.encode(), mode=mode_of(model.privacy_, model.evaluation_))


def mode_of(receipt: Receipt, scored: Evaluation | None = None) -> int:
    """Who may read a file about a model: its owner alone where no guarantee holds, since it may then quote records.

    ``scored``: the scores in it, which may have a receipt of their own, for other records.
    """
    return 0o600 if receipt.void or (scored is not None and scored.void) else 0o666


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that ``save`` wrote; refused unless its receipt adds up and pays for all that the model says."""
    model = read(path)
    model.verify()
    return model


def read(path: str | os.PathLike[str]) -> Any:
    """Read a model without checking its receipt. Safe on files from strangers: it runs nothing that the file says."""
    path = Path(path)
    if path.stat().st_size > LARGEST_FILE:
        raise PrivetError(f"{path} is larger than any model of Privet.")
    try:
        data = loads_strict(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise PrivetError(f"{path} is not a model of Privet: it is not JSON ({error}).") from None
    return from_dict(data)
