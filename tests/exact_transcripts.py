"""The law of all the answers that an algorithm gets, and how well they tell two tables apart.

A transcript has all private answers of a run. Whatever is released is a function of it, so its loss is at most that.
"""

import math

from privet.audit.exact import WINDOW, outputs


def transcripts(run, window=WINDOW, most=1_000_000):
    """The log-probability of every transcript of ``run``, which is given mechanisms and must draw from nothing else."""

    def transcript_of(mechanisms):
        run(mechanisms)
        return mechanisms.transcript

    return outputs(transcript_of, window, most)


def loss(one, other):
    """The largest absolute log-ratio of a transcript's probabilities; infinite if one side cannot have it."""
    pairs = ((one.get(seen, -math.inf), other.get(seen, -math.inf)) for seen in [*one, *other])
    return max(0.0 if p == q else abs(p - q) for p, q in pairs)
