"""What the guarantees are worth: tools that try to break them.

An audit looks for an event that is more likely on one of two neighbouring tables than epsilon allows. ``exact_bound``
computes probabilities, ``statistical_bound`` counts them. Neither can prove privacy; each can disprove it.
"""

from privet.audit.auditor import audit
from privet.audit.bound import CONFIDENCE, Bound, reach, runs_needed, worst
from privet.audit.curve import Curve, curve_of_samples, privacy_curve
from privet.audit.exact import bound_of_laws, exact_bound, exact_bound_of
from privet.audit.membership import Membership, advantage_allowed, attack_membership
from privet.audit.pair import Pair
from privet.audit.release import release_of
from privet.audit.report import Finding, Report
from privet.audit.statistical import bound_of_samples, statistical_bound

__all__ = [
    "CONFIDENCE",
    "Bound",
    "Curve",
    "Finding",
    "Membership",
    "Pair",
    "Report",
    "advantage_allowed",
    "attack_membership",
    "audit",
    "bound_of_laws",
    "bound_of_samples",
    "curve_of_samples",
    "exact_bound",
    "exact_bound_of",
    "privacy_curve",
    "reach",
    "release_of",
    "runs_needed",
    "statistical_bound",
    "worst",
]
