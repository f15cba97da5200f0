"""The two engines, and one put back after each test."""

from __future__ import annotations

import pytest

from privet.curators import kernels
from privet.curators.kernels import numpy_engine

ENGINES = ["numpy", "numba"]


@pytest.fixture(scope="session")
def engines():
    from privet.curators.kernels import numba_engine

    return {"numpy": numpy_engine, "numba": numba_engine}


@pytest.fixture(params=ENGINES)
def engine(request, engines, monkeypatch):
    monkeypatch.setattr(kernels, "_engine", engines[request.param])
    return engines[request.param]


@pytest.fixture(scope="session")
def use(engines):
    """Have the kernels run on the engine of this name."""

    def choose(name):
        kernels._engine = engines[name]

    return choose


@pytest.fixture(autouse=True)
def _put_back(monkeypatch):
    monkeypatch.setattr(kernels, "_engine", kernels._engine)
    monkeypatch.setattr(kernels, "_done", 0)
