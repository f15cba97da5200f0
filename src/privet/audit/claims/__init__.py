"""Published claims about private trees: what each says it costs, what it costs, and what an attack finds."""

from privet.audit.claims.claim import Claim, Outcome
from privet.audit.claims.law import Law
from privet.audit.claims.registry import CLAIMS, claim

__all__ = ["CLAIMS", "Claim", "Law", "Outcome", "claim"]
