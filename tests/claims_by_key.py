"""A published claim, by its key."""

from privet.audit.claims import CLAIMS


def claim(key):
    return {entry.key: entry for entry in CLAIMS}[key]
