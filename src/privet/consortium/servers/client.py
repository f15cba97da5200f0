"""The programs that talk to the three servers, over TLS: an owner who shares, a trainer, a user of a hidden model."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

import numpy as np

from privet.algorithms.model_file import from_dict
from privet.consortium.net.channel import TlsChannel, connect, receive_all, wait_any
from privet.consortium.net.links import server_name
from privet.consortium.servers.commitments import check
from privet.consortium.servers.config import OWNER, TRAINER, USER, Config
from privet.consortium.servers.jobs import MOST_JOB, QueryJob, TrainingJob, fresh_run
from privet.consortium.servers.offers import MOST_OFFER, READY, TrainingOffer, same_offer
from privet.consortium.servers.own_ledger import OwnerLedger
from privet.consortium.servers.signatures import FORMAT, signed_receipt
from privet.consortium.servers.standing import DryRun
from privet.consortium.servers.status import problems
from privet.consortium.servers.store import public_shape
from privet.curators.owners.mpc_owner import MOST_REQUEST, ColumnOwner, Owner, query_cells
from privet.errors import BudgetError, LeakError, MpcError, PrivetError, SchemaError
from privet.privacy.amounts import show
from privet.privacy.receipt import Receipt
from privet.privacy.unit import Unit
from privet.schema import Schema
from privet.shares.deal import deal
from privet.shares.mesh import PARTIES
from privet.strict_json import object_of
from privet.tree.hidden_shape import check_queries_fit

Progress = Callable[[str], None]


def share(
    config: Config, X: Any, y: Any, ledger: OwnerLedger | None = None, progress: Progress = lambda said: None
) -> dict[str, Any]:
    """Serve one run as an owner: connect to the three servers, and answer until they are done.

    First they offer a training: what it may spend is set aside in this owner's own ledger, or the offer is refused. In
    the end the owner gets what the three servers have signed, which is checked here: the receipt, and of a hidden model
    all that is public. An owner of some of the features (``config.holds``) has their columns
    alone, and ``y`` is None without the labels.
    """
    if config.holds is None:
        owner = Owner(X, y, config.schema, progress=progress)
    else:
        owner = ColumnOwner(X, y, config.schema, config.holds[0], progress=progress)
    ledger = ledger or owner_ledger(config)
    with ExitStack() as stack:
        lines = to_servers(config, stack, OWNER)
        progress("connected to the three servers; waiting for a trainer")
        offer = _awaited(lines, ledger, config)
        heard: list[bytes] = []

        def hear() -> list[bytes]:
            heard[:] = receive_all(lines, config.timeout, MOST_REQUEST)
            return heard

        try:
            _take_part(owner, lines, ledger, offer, progress)
            owner.serve(lines, hear)
            signed = object_of(str(json.loads(heard[0]).get("signed")), MpcError("The servers have signed nothing."))
            receipt = _checked(signed, config, offer.run, offer.hidden)
        except BaseException:
            ledger.end(shared=owner.shared)
            raise
        ledger.end(shared=True, receipt=receipt)
    progress(f"done: nothing but shares has left, for epsilon {show(receipt.spent)}; {ledger.state}")
    return signed


def _awaited(lines: Sequence[TlsChannel], ledger: OwnerLedger, config: Config) -> TrainingOffer:
    """The training that all three servers offer. Whoever of them asks meanwhile how this owner stands is told."""
    offers: dict[TlsChannel, bytes] = {}
    end = time.monotonic() + config.patience
    while silent := [line for line in lines if line not in offers]:
        if not wait_any(silent, max(0.0, end - time.monotonic())):
            raise MpcError(
                f"No trainer has come within {config.patience:g} seconds, so this has ended; nothing has left. Start "
                "again when one will come, or write a longer patience into this file."
                if not offers
                else f"{silent[0].peer} has not offered what the others have in time. Nothing has left."
            )
        for line in filter(TlsChannel.speaks, silent):
            said = line.receive(MOST_OFFER)
            if (asked := DryRun.from_bytes(said)) is not None:
                line.send(ledger.standing(asked.needs).to_bytes())
                continue
            if not offers:
                end = time.monotonic() + config.timeout
            offers[line] = said
    return same_offer(offers[line] for line in lines)


def _take_part(
    owner: Owner, lines: Sequence[TlsChannel], ledger: OwnerLedger, offer: TrainingOffer, progress: Progress
) -> None:
    """Say whether this owner takes part in the training that is offered; raise if not."""
    progress(f"offered {offer}; {ledger.state}")
    try:
        owner.check_bound(offer.most_records)
        ledger.reserve(offer)
    except (BudgetError, LeakError, MpcError, SchemaError) as error:
        why = {BudgetError: "limit", SchemaError: "records", LeakError: "seeds"}.get(type(error), "declined")
        for line in lines:
            line.send(why.encode())
        raise
    for line in lines:
        line.send(READY.encode())


def owner_ledger(config: Config, **options: Any) -> OwnerLedger:
    """An owner's own ledger, as its file says; the options are ``OwnerLedger``'s."""
    if config.ledger is None:
        raise PrivetError(f"{config.name} has the role {config.role}, and is not an owner.")
    return OwnerLedger(config.ledger, config.epsilon, Unit.of(config.schema).name, seeds=config.seeds, **options)


class Trained(NamedTuple):
    """What three servers agree on: a model, none if it is hidden, and what they have signed."""

    model: dict[str, Any] | None
    signed: dict[str, Any]


def train(
    config: Config,
    model: str,
    params: dict[str, Any],
    *,
    seed: int | None = None,
    hidden: bool = False,
    holdout: float | None = None,
    by: Any = None,
    progress: Progress = lambda said: None,
) -> Trained:
    """Ask the three servers for a model and its receipt, or what is public of a hidden one; the same from all.

    ``holdout`` and ``by`` as in ``fit``: the model comes with its scores.
    """
    job = TrainingJob(fresh_run(), model, params, seed, hidden, holdout, by)
    with ExitStack() as stack:
        lines = in_turn(config, stack, TRAINER, job.to_bytes())
        answers = _answers(lines, config.timeout, progress)
    first = answers[0]
    wanted = {"signed"} if hidden else {"signed", "model"}
    if first.keys() != wanted or not all(isinstance(each, dict) for each in first.values()):
        raise MpcError("The servers' answer makes no sense. Do not use it.")
    if any(other != first for other in answers):
        raise MpcError("The three servers do not agree on the model. Do not use any of them.")
    receipt = _checked(first["signed"], config, job.run, hidden)
    if not hidden and from_dict(first["model"]).privacy_ != receipt:
        raise MpcError("The three servers have signed another receipt than the model's. Do not use it.")
    return Trained(first.get("model"), first["signed"])


def _checked(signed: dict[str, Any], config: Config, run: str, hidden: bool) -> Receipt:
    """The receipt of what the three servers of this file have signed of this run, if it adds up."""
    certificates = [peer.certificate for peer in config.servers]
    if hidden or "commitments" in signed or signed.get("format") != FORMAT:
        check(signed, certificates)
    receipt = signed_receipt(signed, certificates)
    if signed.get("id" if hidden else "run") != run:
        raise MpcError("What the three servers have signed is of another run. Do not use it.")
    if receipt.unit != str(Unit.of(config.schema)):
        raise MpcError("The three servers' receipt covers others than this schema names: rows, or persons.")
    return receipt


def predict(config: Config, public: dict[str, Any], X: Any) -> np.ndarray:
    """The classes of a table's rows, by the three servers that hold the model; they see neither rows nor classes."""
    schema, shape = Schema.from_dict(public["schema"]), public_shape(public)
    check_queries_fit(len(X), shape, public["depth"])
    cells = query_cells(X, schema, shape.grid)
    ring = np.dtype(f"u{public['ring_bits'] // 8}").type
    job = QueryJob(fresh_run(), public["id"], cells.shape[1])
    with ExitStack() as stack:
        lines = in_turn(config, stack, USER, job.to_bytes())
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


def in_turn(config: Config, stack: ExitStack, role: str, job: bytes) -> Sequence[TlsChannel]:
    """Lines to the three servers, all of which have been told the job, once server 0 says that it is our turn."""
    (first,) = to_servers(config, stack, role, [0])
    first.send(job)
    first.receive(MOST_JOB)
    others = to_servers(config, stack, role, range(1, PARTIES))
    for line in others:
        line.send(job)
    return [first, *others]


def next_words(lines: Sequence[TlsChannel], timeout: float) -> list[dict[str, Any]]:
    """What each server says next; an error if one has ended the run or is lost."""
    nonsense = MpcError("A server's answer makes no sense. The run has ended.")
    return [object_of(said, nonsense) for said in receive_all(lines, timeout)]


def _answers(lines: Sequence[TlsChannel], timeout: float, progress: Progress) -> list[dict[str, Any]]:
    """What each server says in the end; the first one's progress is passed on."""
    answers: dict[TlsChannel, dict[str, Any]] = {}
    while waiting := [line for line in lines if line not in answers]:
        for line, said in zip(waiting, next_words(waiting, timeout)):
            if "progress" not in said:
                answers[line] = said
            elif line is lines[0]:
                progress(str(said["progress"]))
    return [answers[line] for line in lines]


def to_servers(
    config: Config, stack: ExitStack, role: str, which: Iterable[int] = range(PARTIES)
) -> Sequence[TlsChannel]:
    """A line to each of these servers, which have to know this program as what it wants to be."""
    lines = []
    for i in which:
        peer = config.servers[i]
        line = connect(peer.address, config.identity, peer.certificate, peer=server_name(i), timeout=config.timeout)
        stack.enter_context(line)
        if found := problems(line.greeting, config):
            raise MpcError(f"{line.peer}: {found[0]}. Nothing was asked.")
        if not line.known_as.startswith(role):
            raise MpcError(
                f"{line.peer} knows {config.identity.certificate.name} as {line.known_as!r}. What was asked for "
                f"is for a member with the role {role.strip()}: use that member's file."
            )
        lines.append(line)
    return lines
