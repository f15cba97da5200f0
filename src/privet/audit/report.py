"""What an audit found: a finding for each pair, and the report of all of them."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import Any

from privet.audit.bound import Bound
from privet.audit.pair import Pair
from privet.audit.scripted import Window
from privet.schema import Schema


@dataclass(frozen=True)
class Finding:
    """A pair, the bound found on it, and a guess of epsilon that guides the search and claims nothing.

    ``outputs`` is how many different ones were seen, ``window`` where noisy numbers were cut, ``most`` how many
    transcripts were allowed, ``only_telling`` whether numbers had noise only where the tables differ, ``sure`` the
    confidence that this pair has alone, which is more than that of all together.
    """

    bound: Bound
    pair: Pair
    estimator: Any
    guess: float
    outputs: int = 0
    window: Window | None = None
    most: int | None = None
    only_telling: bool = False
    sure: float = 1.0

    def code(self) -> str:
        """Python that finds it again. Where chance has a say, with more runs, so that it hides nothing."""
        kind, bound = type(self.estimator), self.bound
        options: dict[str, Any]
        if bound.engine == "exact":
            engine, options = "exact_bound", {"window": self.window, "most": self.most}
            options |= {"only_telling": True} if self.only_telling else {}
            options |= {"delta": bound.delta} if bound.delta else {}
        else:
            runs = bound.runs if bound.runs >= 10_000 else 4 * bound.runs
            engine, options = "statistical_bound", {"runs": runs, "confidence": self.sure, "delta": bound.delta}
        options["proven"] = bound.proven
        asked = ", ".join(f"{name}={value!r}" for name, value in options.items())
        params = _changed_params(self.estimator)
        own, imports = params.pop("schema", None), ""
        shown = [f"{name}={value!r}" for name, value in params.items()]
        if isinstance(own, Schema):
            shown.insert(0, f"Schema.from_dict({own.to_dict()!r})")
            imports = "from privet import Schema\n"
        return (
            f"{imports}from {kind.__module__} import {kind.__name__}\nfrom privet.audit import {engine}\n"
            f"{self.pair.code()}model = {kind.__name__}({', '.join(shown)})\nprint({engine}(model, pair, {asked}))\n"
        )


@dataclass(frozen=True)
class Report:
    """What an audit found: the bound on every pair tried, and the worst of them with its pair.

    ``confirmations`` are what real fits on up to two of the worst pairs showed, the stronger first; if there are none,
    ``unconfirmed`` says why. ``skipped`` has the pairs that were drawn but not audited, by reason.
    """

    estimator: str
    proven: float | None
    bounds: tuple[Bound, ...]
    findings: tuple[Finding, ...]
    confirmations: tuple[Finding, ...]
    unconfirmed: str
    skipped: dict[str, int]
    seconds: float

    @property
    def worst(self) -> Bound:
        return self.findings[0].bound

    @property
    def pair(self) -> Pair:
        """The worst pair."""
        return self.findings[0].pair

    @property
    def tried(self) -> int:
        """How many pairs, all of them different."""
        return len(self.bounds)

    @property
    def violated(self) -> bool:
        return any(bound.violated for bound in (*self.bounds, *(finding.bound for finding in self.findings)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "estimator": self.estimator,
            "proven": self.proven,
            "violated": self.violated,
            "worst": self.worst.to_dict(),
            "pair": self.pair.to_dict(),
            "code": self.findings[0].code(),
            "tried": self.tried,
            "exact": self._exact,
            "confirmations": [finding.bound.to_dict() for finding in self.confirmations],
            "unconfirmed": self.unconfirmed,
            "skipped": self.skipped,
            "seconds": round(self.seconds, 1),
            "bounds": [bound.to_dict() for bound in dict.fromkeys(finding.bound for finding in self.findings)],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    @property
    def _exact(self) -> int:
        return sum(bound.engine == "exact" for bound in self.bounds)

    def __str__(self) -> str:
        skipped = "".join(f", {n} skipped ({reason})" for reason, n in self.skipped.items())
        fits = [f"real fits on one of the worst pairs: {finding.bound}" for finding in self.confirmations]
        confirmed = "\n".join(fits) or self.unconfirmed
        return (
            f"{self.estimator}: {self.tried} pairs in {self.seconds:.0f} s, {self._exact} of them exactly{skipped}\n"
            f"worst: {self.worst}\n{confirmed}\n{'VIOLATED' if self.violated else 'no violation found'}"
        )


def _changed_params(estimator: Any) -> dict[str, Any]:
    """The parameters that are not as they come; epsilon always."""
    params = dict(estimator.get_params(deep=False)) if hasattr(estimator, "get_params") else {}
    defaults = {name: p.default for name, p in inspect.signature(type(estimator).__init__).parameters.items()}
    return {k: v for k, v in params.items() if k == "epsilon" or repr(v) != repr(defaults.get(k, inspect.Parameter))}
