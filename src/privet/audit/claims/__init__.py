"""Published claims about private trees: what each says it costs, what it costs, and what an attack finds.

Each paper's are at the end of its own file, below the laws; a new one adds its own there. A published step is attacked
on plain data until its estimator exists; then ``subject`` makes the estimator instead, and claim, proof and witness
stay.
"""

from privet.audit.claims import baselines, diprime, federated, hidden, privatree, privet, topdown
from privet.audit.claims.claim import Claim, Law, Outcome

__all__ = ["CLAIMS", "Claim", "Law", "Outcome"]

PAPERS = (privatree, topdown, federated, hidden, diprime, baselines, privet)

CLAIMS: tuple[Claim, ...] = tuple(entry for paper in PAPERS for entry in paper.CLAIMS)
