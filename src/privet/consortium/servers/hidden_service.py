"""Hidden models in service: kept on three servers, asked by users on the list, answered on shares.

A query is dealt into shares by the user, and the answer comes back as shares that only the user puts together. Servers
learn who asked, which model, and how many queries; nothing of what was asked or answered.
"""

from __future__ import annotations

import json
import secrets
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.consortium.net.channel import Channel
from privet.consortium.servers.config import Config
from privet.consortium.servers.store import FORMAT, Store, public_shape
from privet.curators.dealt import check_queries
from privet.errors import MpcError, PrivetError
from privet.privacy.joint import JointMechanisms
from privet.shares.deal import deal
from privet.shares.mesh import PARTIES
from privet.tree.hidden_forest import HiddenForest
from privet.tree.hidden_size import check_queries_fit
from privet.tree.hidden_tree import HiddenTree

if TYPE_CHECKING:
    from privet.consortium.servers.service import Server
    from privet.shares.engine import Engine


# -- a server's side -------------------------------------------------------------------------------------------------


def ring_for(server: Server, run: bytes, learner: Any) -> int:
    """The smallest ring that holds all numbers of a training, by public bounds alone.

    Whatever would keep the training from its end is an error here, before anything is spent.
    """
    if server.config.engine != "replicated":
        raise PrivetError(
            'Hidden models are kept and asked on shares of the engine "replicated"; MPyC has one run in a process and '
            'cannot serve. Write engine = "replicated" in every server\'s file.'
        )
    if not hasattr(learner, "hidden_bits"):
        raise PrivetError(
            f"{type(learner).__name__} does not grow hidden trees; HiddenTreeClassifier and HiddenForestClassifier do. "
            "A tree that is announced is trained without --hidden, or on rows from Python alone (docs/hidden.md)."
        )
    store_of(server.config).check_free(run.hex())
    most = server.config.rows * (1 if server.config.columns else len(server.config.owners))
    bits = learner.hidden_bits(JointMechanisms(_no_engine(), law=server.config.noise), server.schema, most)
    return 32 if bits < 32 else 64


def _no_engine() -> Engine:
    return None  # type: ignore[return-value] # widths are computed without one


def keep(server: Server, run: bytes, learner: Any, ring_bits: int) -> dict[str, Any]:
    """Store this server's shares of a fitted model; what is public about it, the same on all servers."""
    grown = getattr(learner, learner._released)
    if not isinstance(grown, HiddenTree | HiddenForest):
        raise PrivetError(f"{type(learner).__name__} has not grown a hidden tree.")
    params = {name: value for name, value in learner.get_params(deep=False).items() if name != "schema"}
    params["branches"] = learner.branches_used()  # the shape must follow from what is public
    public = {
        "format": FORMAT,
        "id": run.hex(),
        "model": type(learner).__name__,
        "params": params,
        "depth": grown.depth,
        "ring_bits": ring_bits,
        "schema": server.schema.to_dict(),
        "receipt": learner.privacy_.to_dict(),
    }
    store_of(server.config).save(run.hex(), public, grown)
    return public


def store_of(config: Config) -> Store:
    if config.models is None or config.storage_key is None:
        raise PrivetError("This server has no folder for hidden models.")
    return Store(config.models, config.storage_key)


def answer_queries(server: Server, user: Channel, job: bytes, name: str) -> None:
    """One request of a user: its queries' shares in, the answers' shares out.

    Nothing is counted before all three servers have found nothing against the request.
    """
    with ExitStack() as stack:
        mesh = server.join(job, stack)
        model, queries = _request(job)
        stored = store_of(server.config).load(model)
        check_queries_fit(queries, stored.shape, stored.public["depth"])
        users = server.users
        users.check(name, queries)
        server.agree(mesh, job, stored.header)  # the same request, about the same model
        users.charge(name, queries)
        may_leave = False
        try:
            user.send(json.dumps({"ready": True}).encode())
            engine = server.engine(mesh, stack, stored.ring_bits)
            wire = engine.wire((stored.shape.grid.n_cells, queries))
            shares = user.receive(wire.nbytes)
            if len(shares) != wire.nbytes:
                raise MpcError("The queries' shares have the wrong length. The run has ended.")
            cells = engine.receive(np.frombuffer(shares, dtype=wire.dtype).reshape(wire.shape))
            check_queries(engine, cells, stored.shape.grid)
            classes = stored.model(engine).predict(engine, cells)
            # Two servers' answers are whole: from here on both others may have sent theirs, whatever happens here.
            may_leave = True
            engine.agree(b"answered")
            user.send(json.dumps({"answer": classes.shape}).encode())
            user.send(np.ascontiguousarray(classes.parts).tobytes())
        finally:
            if not may_leave:
                users.give_back(name, queries)
    server._progress(f"answered {queries:,} queries of {name}, who has {users.left(name):,} left")


def _request(job: bytes) -> tuple[str, int]:
    try:
        asked = json.loads(job)
        model, queries = asked["model"], asked["queries"]
        if not isinstance(model, str) or type(queries) is not int:
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise MpcError("The user's request makes no sense.") from None
    return model, queries


# -- a user's side ---------------------------------------------------------------------------------------------------


def predict(config: Config, public: dict[str, Any], X: Any) -> np.ndarray:
    """The classes of a table's rows, by the three servers that hold the model; they see neither rows nor classes."""
    from privet.consortium.servers.service import RUN_BYTES, in_turn, next_words
    from privet.curators.owners.mpc_owner import query_cells
    from privet.schema import Schema

    schema, shape = Schema.from_dict(public["schema"]), public_shape(public)
    check_queries_fit(len(X), shape, public["depth"])
    cells = query_cells(X, schema, shape.grid)
    ring = np.dtype(f"u{public['ring_bits'] // 8}").type
    job = {"run": secrets.token_hex(RUN_BYTES), "model": public["id"], "queries": cells.shape[1]}
    with ExitStack() as stack:
        lines = in_turn(config, stack, json.dumps(job, sort_keys=True).encode())
        next_words(lines, config.timeout)
        with suppress(MpcError):  # a server that has left is found below, and another may say why
            for line, shares in zip(lines, deal(cells, ring)):
                line.send(np.ascontiguousarray(shares).tobytes())
        next_words(lines, config.timeout)
        answers = (2, cells.shape[1], len(schema.classes or ()))
        parts = [_shares(line.receive(), answers, ring) for line in lines]
    return np.array(schema.classes)[_joined(parts).argmax(axis=1)]


def _shares(answer: bytes, shape: tuple[int, ...], ring: type[np.unsignedinteger]) -> np.ndarray:
    """A server's answer, as the shares that were asked for."""
    if len(answer) != int(np.prod(shape)) * np.dtype(ring).itemsize:
        raise MpcError("A server's answer has the wrong length. Do not use it: is this the file that train wrote?")
    return np.frombuffer(answer, dtype=ring).reshape(shape)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Integers from the shares of three servers, each of which two of them hold and must agree on."""
    if any(not np.array_equal(parts[i][1], parts[(i + 1) % PARTIES][0]) for i in range(PARTIES)):
        raise MpcError("Two servers disagree about a share that both hold. Do not use the answer.")
    classes = parts[0][0] + parts[1][0] + parts[2][0]
    if not ((classes <= 1).all() and (classes.sum(axis=1) == 1).all()):
        raise MpcError("The servers' answer names no class. Do not use it.")
    return classes
