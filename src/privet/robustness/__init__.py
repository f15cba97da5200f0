"""Poisoned data: what a private learner guarantees against them, attacks that try it, and ensembles to compare with.

A certificate is a statement, at a stated confidence, about the average over retrainings or about the majority vote of
many released models. It is never one about a single released model.
"""

from privet.robustness.certificate import Certificate, PoisonLevel
from privet.robustness.certify import certify
from privet.robustness.guarantee import Approximate, Concentrated, Guarantee, Pure, guarantee_of

__all__ = [
    "Approximate",
    "Certificate",
    "Concentrated",
    "Guarantee",
    "PoisonLevel",
    "Pure",
    "certify",
    "guarantee_of",
]
