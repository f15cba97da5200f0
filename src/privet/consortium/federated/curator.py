"""A federated curator for the parties of a channel: ``privet.FederatedCurator``."""

from __future__ import annotations

from collections.abc import Callable

from privet.consortium.federated.channel import Channel
from privet.consortium.federated.coordinator import Coordinator
from privet.consortium.federated.identity import Known
from privet.consortium.federated.journal import Journal
from privet.curators.federated import FederatedCurator
from privet.privacy.ledger import Ledger
from privet.questions.codec import schema_digest
from privet.schema import Schema


def federated_curator(
    schema: Schema,
    channel: Channel,
    *,
    tolerated_colluders: int = 1,
    tolerated_dropouts: int = 0,
    noise: str = "shared",
    delta: float | None = None,
    ledger: Ledger | None = None,
    known: Known | None = None,
    journal: Journal | None = None,
    progress: Callable[[str], None] = lambda said: None,
) -> FederatedCurator:
    """Ask the parties of a channel to join a run, and give back the curator that asks them.

    ``noise="shared"``: each owner adds a share, and sums are masked; the noise is enough against
    ``tolerated_colluders`` owners who collude with the coordinator, with ``tolerated_dropouts`` owners missing.
    ``noise="own"``: each owner adds the whole noise and masks nothing, so that nobody has to be trusted; sums have as
    many times the variance as there are owners. A model with a ``delta`` needs one here, or in the ledger. ``journal``
    lets a run be taken up again; with ``known``, the owners' public keys, their signatures are checked here, too.
    """
    coordinator = Coordinator(
        channel,
        schema_digest(schema),
        colluders=tolerated_colluders,
        dropouts=tolerated_dropouts,
        noise=noise,
        known=known,
        journal=journal,
        progress=progress,
    )
    return FederatedCurator(schema, coordinator, delta=delta, ledger=ledger)
