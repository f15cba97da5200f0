"""All published claims. Each paper's are at the end of its own file, below the laws; a new one adds its own there.

A published step is attacked on plain data until its estimator exists; then ``subject`` makes the estimator instead, and
claim, proof and witness stay.
"""

from __future__ import annotations

from privet.audit.claims import baselines, diprime, federated, hidden, privatree, privet, topdown
from privet.audit.claims.claim import Claim

PAPERS = (privatree, topdown, federated, hidden, diprime, baselines, privet)

CLAIMS: tuple[Claim, ...] = tuple(entry for paper in PAPERS for entry in paper.CLAIMS)


def claim(key: str) -> Claim:
    """The entry of that key."""
    return {entry.key: entry for entry in CLAIMS}[key]
