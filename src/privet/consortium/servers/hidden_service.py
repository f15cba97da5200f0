"""Hidden models on a server: how large their numbers get, and how its shares of them are kept.

They are asked in ``service.py``, by users who put the answers together in ``client.py``.
"""

from __future__ import annotations

import secrets
from typing import Any

from privet.algorithms.registry import grown_of
from privet.consortium.servers.commitments import SALT_BYTES, commitment, signed_by_all
from privet.consortium.servers.config import Config
from privet.consortium.servers.store import FORMAT, Store, shares_of
from privet.errors import PrivetError
from privet.privacy.joint import JointMechanisms
from privet.schema import Schema
from privet.shares.engine import Engine
from privet.shares.mesh import Mesh
from privet.tree.hidden_tree import HiddenForest, HiddenTree


def ring_for(config: Config, schema: Schema, run: str, learner: Any) -> int:
    """The smallest ring that holds all numbers of a training, by public bounds alone.

    Whatever would keep the training from its end is an error here, before anything is spent.
    """
    if not hasattr(learner, "hidden_bits"):
        raise PrivetError(
            f"{type(learner).__name__} does not grow hidden trees; HiddenTreeClassifier and HiddenForestClassifier do. "
            "A tree that is announced is trained without --hidden, or on rows from Python alone (docs/hidden.md)."
        )
    store_of(config).check_free(run)
    most = config.rows * (1 if config.columns else len(config.owners))
    bits = learner.hidden_bits(JointMechanisms(_no_engine(), law=config.noise), schema, most)
    return 32 if bits < 32 else 64


def _no_engine() -> Engine:
    return None  # type: ignore[return-value] # widths are computed without one


def keep(config: Config, schema: Schema, run: str, learner: Any, ring_bits: int, mesh: Mesh) -> dict[str, Any]:
    """Store this server's shares of a fitted model; what is public about it, signed by all three, the same on all."""
    grown = grown_of(learner)
    if not isinstance(grown, HiddenTree | HiddenForest):
        raise PrivetError(f"{type(learner).__name__} has not grown a hidden tree.")
    params = {name: value for name, value in learner.get_params(deep=False).items() if name != "schema"}
    params["branches"] = learner.branches_used()  # the shape must follow from what is public
    public = {
        "format": FORMAT,
        "id": run,
        "model": type(learner).__name__,
        "params": params,
        "depth": grown.depth,
        "ring_bits": ring_bits,
        "schema": schema.to_dict(),
        "receipt": learner.privacy_.to_dict(),
    }
    salt = secrets.token_bytes(SALT_BYTES)
    public = signed_by_all(public, commitment(salt, run, shares_of(grown)), config, mesh)
    store_of(config).save(run, public, grown, salt)
    return public


def store_of(config: Config) -> Store:
    if config.models is None or config.storage_key is None or config.party is None:
        raise PrivetError("This server has no folder for hidden models.")
    return Store(config.models, config.storage_key, config.party)
