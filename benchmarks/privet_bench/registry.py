"""All experiments by name: the modules of ``experiments/`` each list theirs."""

from __future__ import annotations

import importlib
import pkgutil

from privet_bench import experiments
from privet_bench.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    own.name: own
    for module in sorted(info.name for info in pkgutil.iter_modules(experiments.__path__))
    for own in importlib.import_module(f"privet_bench.experiments.{module}").EXPERIMENTS
}
