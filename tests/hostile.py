"""Messages that nobody should send: words of a real run with something in them changed, for fuzzers."""

from __future__ import annotations

import copy
import json

from hypothesis import strategies as st

ODD_NUMBERS = st.one_of(
    st.sampled_from([-1, 0, 1, 2, 3, 7, 255, 256, 2**16, 2**31, 2**53, 2**63, 10**30, -(2**63), True, False]),
    st.integers(-5, 300),
    st.floats(allow_nan=True, allow_infinity=True),
)
ODD_TEXTS = st.one_of(
    st.sampled_from(
        ["", "0", "1/0", "1e9", "-1", "1/2", "nan", "00", "0001", "zz", "gini", "mixed(999)",
         "clipped_gradient_norm(1)", "peek", "tally", "root", "epsilon", "rho", "AAAA",
         "AAAAAAAA8H8=", "quantile(1/0)", "\ud800", "A" * 5000]
    ),
    st.text(max_size=12),
)  # fmt: skip
ODD = st.recursive(
    st.one_of(st.none(), ODD_NUMBERS, ODD_TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(ODD_TEXTS, inner, max_size=3)),
    max_leaves=6,
)


def changes():
    """One change of a message: where, of all its places from first to last, how, and by what."""
    how = st.sampled_from(["replace", "replace", "near", "drop", "add", "double"])
    return st.tuples(st.floats(0, 1, exclude_max=True), how, ODD, ODD_TEXTS)


def changed_by(message, some):
    """A message with these changes, one after the other."""
    message = copy.deepcopy(message)
    for where, how, value, name in some:
        places = list(_places(message))
        if not places:
            return value
        _change(*places[int(where * len(places))], how, copy.deepcopy(value), name)
    return message


def _change(holder, key, how, value, name):
    if how == "drop":
        del holder[key]
    elif how == "add" and isinstance(holder, dict):
        holder[name] = value
    elif how == "add":
        holder.insert(key, value)
    elif how == "double" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif how == "near" and type(holder[key]) is int:
        holder[key] += value if type(value) is int else 1
    else:
        holder[key] = value


def changed(messages):
    """One of these messages, as it is or with up to three changes."""
    return st.builds(changed_by, st.sampled_from(messages), st.lists(changes(), max_size=3))


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
