"""Programs for servers in processes of their own, which import them by name."""

import os
import time

import numpy as np


def program(engine, n):
    """A comparison and a product, long enough for messages that do not fit into a socket's buffer."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(-1000, 1000, (2, n))
    a = engine.input(x if engine.party == 0 else None, 0, x.shape)
    b = engine.input(y if engine.party == 1 else None, 1, y.shape)
    return np.array_equal(engine.open(engine.less(a, b, 12) * a), np.where(x < y, x, 0))


def keys_and_costs(engine, n):
    return program(engine, n), engine._streams._own, engine.mesh.rounds


def dies(engine):
    if engine.party == 1:
        os._exit(1)
    program(engine, 10)


def stalls(engine):
    if engine.party == 2:
        time.sleep(4)
    program(engine, 10)


def dies_on_the_way(engine):
    """Another server is gone when a value is to be opened."""
    program(engine, 4)
    if engine.party == 1:
        os._exit(1)
    program(engine, 4)
