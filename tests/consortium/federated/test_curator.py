"""The public name makes a curator whose coordinator asks the parties of a channel."""

import math

import pytest

pytest.importorskip("cryptography")

import privet
from consortium.federated.owners import SCHEMA, tables
from privet import Ledger
from privet.consortium.federated.channel import in_process
from privet.consortium.federated.coordinator import Coordinator
from privet.consortium.federated.curator import federated_curator
from privet.curators.federated import FederatedCurator


def test_the_public_name_asks_the_parties_of_a_channel_under_the_terms_that_are_given():
    curator = privet.FederatedCurator(
        SCHEMA, in_process(tables(5), SCHEMA), tolerated_colluders=1, tolerated_dropouts=1, ledger=Ledger(math.inf)
    )
    assert isinstance(curator, FederatedCurator)
    assert isinstance(curator.coordinator, Coordinator)
    terms = curator.coordinator.terms
    assert (len(terms.parties), terms.colluders, terms.dropouts, terms.noise) == (5, 1, 1, "shared")
    assert curator.trust == terms.trust


def test_seeded_parties_make_every_receipt_void():
    curator = federated_curator(SCHEMA, in_process(tables(3), SCHEMA, seed=1), ledger=Ledger(math.inf))
    assert any("reproduced" in reason for reason in curator.void)
    assert not federated_curator(SCHEMA, in_process(tables(3), SCHEMA), ledger=Ledger(math.inf)).void
