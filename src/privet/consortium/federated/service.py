"""The two programs of a federated training: a party that answers, and a coordinator that asks for a model."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.consortium.federated.allowance import Need
from privet.consortium.federated.config import CoordinatorConfig, PartyConfig
from privet.consortium.federated.coordinator import Coordinator
from privet.consortium.federated.identity import Identity, certified
from privet.consortium.federated.journal import Journal
from privet.consortium.federated.party import Party
from privet.consortium.federated.signed import SignedReceipt
from privet.consortium.federated.status import LOG
from privet.curators.federated import FederatedCurator
from privet.curators.memory import MemoryCurator
from privet.disk import owner_only
from privet.errors import FederatedError
from privet.privacy.amounts import checked_delta, exact
from privet.privacy.ledger import Ledger
from privet.questions.codec import schema_digest

if TYPE_CHECKING:
    from privet.consortium.federated.channel import Channel

Progress = Callable[[str], None]


def party_log(config: PartyConfig, progress: Progress) -> Progress:
    """Says things on the screen, and writes them with the time into a file that is the party's alone."""

    def log(said: str) -> None:
        progress(said)
        try:
            with open(config.state / LOG, "a", encoding="utf-8", opener=owner_only) as file:
                file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {said}\n")
        except OSError as error:  # a full disk: nothing can be kept, so nothing is answered, and the screen says why
            progress(f"cannot write {config.state / LOG}: {error.strerror}")

    return log


def open_party(config: PartyConfig, progress: Progress = lambda said: None) -> Party:
    """A party as its file says, with its records read and its log in its state's folder."""
    from privet.tables.misfit import tell_misfits
    from privet.tables.table import read_file

    log = party_log(config, progress)
    schema = config.schema
    X, y = read_file(config.data, schema)
    tell_misfits(X, y, schema)  # on this party's own terminal alone
    MemoryCurator(X, y, schema, ledger=Ledger(math.inf))  # says what is wrong with records now, to their owner alone
    try:
        config.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise FederatedError(f"What was answered cannot be kept in {config.state}: {error.strerror}.") from error

    identity = Identity.read(config.name, config.key, config.certificate)
    known = {name: certified(certificate) for name, certificate in config.parties.items()}
    return Party(
        identity,
        X,
        y,
        schema,
        known,
        limit=config.epsilon,
        delta=config.delta,
        allowed=config.questions,
        least_colluders=config.tolerated_colluders,
        state=config.state,
        seed=config.seed,
        log=log,
    )


def serve_party(config: PartyConfig, progress: Progress = lambda said: None) -> None:
    """Answer a coordinator until interrupted."""
    from privet.consortium.federated.line import PartyLine

    with closing(open_party(config, progress)) as party:
        progress(f"{party.name} is ready: {config.address[0]}:{config.address[1]} may ask")
        PartyLine(config, party.handle).run(party_log(config, progress))


def train(
    config: CoordinatorConfig,
    model: Any,
    *,
    channel: Channel,
    journal: Path | None = None,
    holdout: float | None = None,
    by: Any = None,
    progress: Progress = lambda said: None,
) -> SignedReceipt:
    """Fit ``model``, an estimator, with the parties of a channel; the receipt with their signatures.

    ``holdout`` and ``by`` are as in ``fit``.

    With a journal a run that was broken off is taken up where it stopped: what was answered is not asked again.
    """
    schema = config.schema
    delta = getattr(model, "delta", None)
    coordinator = Coordinator(
        channel,
        schema_digest(schema),
        colluders=config.tolerated_colluders,
        dropouts=config.tolerated_dropouts,
        noise=config.noise,
        known={name: certified(certificate) for name, certificate in config.parties.items()},
        journal=Journal(journal),
        need=Need(exact(model.epsilon), None if delta is None else checked_delta(delta)),
        progress=progress,
    )
    ledger = Ledger(math.inf, delta, whole_orders=True)
    model.fit_curator(FederatedCurator(schema, coordinator, ledger=ledger), holdout=holdout, by=by)
    progress("asking all parties to sign the receipt")
    return coordinator.sign(model.privacy_.to_json())
