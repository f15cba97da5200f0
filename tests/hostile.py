"""Messages that nobody should send: words of a real run with something in them changed, for fuzzers."""

from __future__ import annotations

import copy
import json
import math

from hypothesis import strategies as st

ODD_NUMBERS = st.one_of(
    st.sampled_from([-1, 0, 1, 2, 3, 7, 255, 256, 2**16, 2**31, 2**53, 2**63, 10**30, -(2**63), True, False]),
    st.integers(-5, 300),
    st.floats(allow_nan=True, allow_infinity=True),
)
ODD_TEXTS = st.one_of(
    st.sampled_from(
        ["", "0", "1/0", "1e9", "-1", "1/2", "nan", "00", "0001", "zz", "gini", "mixed(999)", "gradient_norm(1)",
         "peek", "tally", "root", "epsilon", "rho", "AAAA", "AAAAAAAA8H8=", "quantile(1/0)", "\ud800", "A" * 5000]
    ),
    st.text(max_size=12),
)  # fmt: skip
ODD = st.recursive(
    st.one_of(st.none(), ODD_NUMBERS, ODD_TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(ODD_TEXTS, inner, max_size=3)),
    max_leaves=6,
)


@st.composite
def changed(draw, messages):
    """One of these messages, as it is or with up to three of its parts replaced, left out, doubled or added."""
    message = copy.deepcopy(draw(st.sampled_from(messages)))
    for _ in range(draw(st.integers(0, 3))):
        message = _changed_once(draw, message)
    return message


def _changed_once(draw, message):
    places = list(_places(message))
    if not places:
        return draw(ODD)
    holder, key = draw(st.sampled_from(places))
    how = draw(st.sampled_from(["replace", "replace", "near", "drop", "add"]))
    if how == "drop":
        del holder[key]
    elif how == "add":
        if isinstance(holder, dict):
            holder[draw(ODD_TEXTS)] = draw(ODD)
        else:
            holder.insert(key, copy.deepcopy(holder[key]) if draw(st.booleans()) else draw(ODD))
    elif how == "near" and type(holder[key]) in (int, float) and math.isfinite(holder[key]):
        holder[key] += draw(st.sampled_from([-1, 1, 0.5, 2**40, -(2**40), math.inf, -math.inf, math.nan]))
    else:
        holder[key] = draw(ODD)
    return message


def _places(message):
    """Every place inside a message, as the list or table that it is in and its key there."""
    waiting = [message]
    while waiting:
        holder = waiting.pop()
        keys = holder.keys() if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in list(keys):
            yield holder, key
            waiting.append(holder[key])


def on_the_wire(message):
    """What arrives: JSON and back, as far as it can be written."""
    try:
        return json.loads(json.dumps(message))
    except (UnicodeEncodeError, ValueError):
        return message
