"""The share-array interface: what a program on secret shares may do, whichever engine runs it.

Every server runs the same program on its own shares, so what a program does may depend only on public numbers and on
values it has opened. ``Secret`` is an array of integers, ``Bits`` a table of bits, plane by plane. Adding, subtracting,
slicing and public linear maps are local and free; ``&`` of two secrets, ``*``, ``@``, ``less`` and ``open`` take rounds
of messages. Integers live in a ring or field: a program states in public how large they can get (``bits``) and the
engine refuses what would not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from privet.errors import MpcError

LinearMap = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Secret:
    """An array of integers that no server knows."""

    engine: Engine
    parts: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.parts.shape[self.engine.held :])

    def __add__(self, other: Secret | np.ndarray | int) -> Secret:
        return self.engine.add(self, other)

    def __sub__(self, other: Secret | np.ndarray | int) -> Secret:
        return self.engine.add(self, -other)

    def __neg__(self) -> Secret:
        return self * -1

    def __mul__(self, other: Secret | np.ndarray | int) -> Secret:
        return self.engine.multiply(self, other) if isinstance(other, Secret) else self.engine.scale(self, other)

    def __matmul__(self, other: Secret) -> Secret:
        return self.engine.matmul(self, other)

    def __getitem__(self, index: Any) -> Secret:
        return self.engine.take(self, index)

    def reshape(self, *shape: int) -> Secret:
        return self.engine.reshape(self, shape)

    def transpose(self, *axes: int) -> Secret:
        held = self.engine.held
        return Secret(self.engine, np.transpose(self.parts, (*range(held), *(axis + held for axis in axes))))

    def sum(self, axis: int) -> Secret:
        return self.engine.sum(self, axis)


@dataclass(frozen=True, eq=False)
class Bits:
    """A table of bits that no server knows: planes by columns. Slices take planes; columns stay together."""

    engine: Engine
    parts: Any
    columns: int

    @property
    def planes(self) -> int:
        return int(self.parts.shape[self.engine.held])

    def __xor__(self, other: Bits | np.ndarray) -> Bits:
        return self.engine.xor(self, other)

    def __invert__(self) -> Bits:
        return self.engine.xor(self, np.ones((1, 1), dtype=bool))

    def __and__(self, other: Bits | np.ndarray) -> Bits:
        """With public bits (broadcast to planes by columns) free, with secret ones a round."""
        return self.engine.both(self, other) if isinstance(other, Bits) else self.engine.mask(self, other)

    def __getitem__(self, planes: slice) -> Bits:
        return Bits(self.engine, self.parts[(slice(None),) * self.engine.held + (planes,)], self.columns)


class Engine(Protocol):
    """One server's side of the joint computation. ``largest`` is how many bits a difference of integers may have.

    Parts are arrays; ``held`` of their axes, the first ones, are over what one server holds of each integer.
    """

    party: int
    largest: int
    held: int

    # -- local: no message -----------------------------------------------------------------------------------------

    def constant(self, values: np.ndarray) -> Secret:
        """Public integers, as shares."""

    def constant_bits(self, values: np.ndarray) -> Bits:
        """Public bits, planes by columns, as shares."""

    def add(self, x: Secret, y: Secret | np.ndarray | int) -> Secret: ...

    def scale(self, x: Secret, factor: np.ndarray | int) -> Secret:
        """Each element times a public integer."""

    def linear(self, x: Secret, map_rows: LinearMap) -> Secret:
        """A public linear map with whole coefficients along the first axis of a matrix."""

    def take(self, x: Secret, index: Any) -> Secret: ...

    def reshape(self, x: Secret, shape: tuple[int, ...]) -> Secret: ...

    def sum(self, x: Secret, axis: int) -> Secret: ...

    def xor(self, a: Bits, b: Bits | np.ndarray) -> Bits: ...

    def mask(self, a: Bits, public: np.ndarray) -> Bits:
        """Keep the bits where the public table says so."""

    def random_bits(self, planes: int, columns: int) -> Bits:
        """Bits that no server knows, independent and fair."""

    # -- rounds of messages ----------------------------------------------------------------------------------------

    def input(self, values: np.ndarray | None, party: int, shape: tuple[int, ...]) -> Secret:
        """Integers that server ``party`` knows; the others pass None."""

    def multiply(self, x: Secret, y: Secret) -> Secret: ...

    def matmul(self, x: Secret, y: Secret) -> Secret: ...

    def both(self, a: Bits, b: Bits) -> Bits: ...

    def less(self, x: Secret, y: Secret, bits: int) -> Secret:
        """1 where x < y, else 0. ``bits``: in public, x - y lies in [-2^(bits-1), 2^(bits-1))."""

    def low_bits(self, x: Secret, count: int) -> Bits:
        """The lowest ``count`` binary digits of a vector, as planes from the lowest up."""

    def integers(self, b: Bits) -> Secret:
        """Bits as integers 0 and 1: a matrix, planes by columns."""

    def open(self, x: Secret) -> np.ndarray:
        """Show integers to all servers."""

    def open_bits(self, b: Bits) -> np.ndarray:
        """Show bits to all servers."""

    def must_be_zero(self, x: Secret, otherwise: str) -> None:
        """End the run, saying ``otherwise``, unless all integers are 0; of integers that are, nothing is told."""

    def agree(self, public: bytes) -> None:
        """Stop unless all servers have the same public bytes."""

    # -- written once, for all engines -----------------------------------------------------------------------------

    def concatenate(self, xs: Sequence[Secret], axis: int = 0) -> Secret:
        return Secret(self, np.concatenate([x.parts for x in xs], axis=axis % len(xs[0].shape) + self.held))

    def stack(self, tables: Sequence[Bits]) -> Bits:
        """Tables of as many columns, one's planes after the other's."""
        parts = [b.parts for b in tables if b.planes]
        return Bits(self, np.concatenate(parts, axis=self.held), tables[0].columns)

    def select(self, c: Secret, x: Secret, y: Secret) -> Secret:
        """x where c is 1 and y where it is 0. One multiplication."""
        return c * (x - y) + y

    def dot(self, x: Secret, y: Secret, axis: int) -> Secret:
        """The sum along an axis of products, element by element (shapes broadcast). One multiplication."""
        return (x * y).sum(axis)

    def product(self, x: Secret) -> Secret:
        """The product along the last axis of three: lg(its length) multiplications one after the other."""
        while (n := x.shape[2]) > 1:
            half = n // 2
            paired = x[:, :, :half] * x[:, :, half : 2 * half]
            x = self.concatenate([paired, x[:, :, 2 * half :]], axis=2) if n % 2 else paired
        return x.reshape(*x.shape[:2])

    def dots(self, pairs: Sequence[tuple[Secret, Secret]]) -> Secret:
        """The sums of products of pairs of matrices along their first axis, a row for each pair. One multiplication."""
        return self.concatenate([self.dot(x, y, 0).reshape(1, x.shape[1]) for x, y in pairs])

    def maximum(self, x: Secret, y: Secret, bits: int) -> Secret:
        """The larger of the two, element by element. One comparison and one multiplication."""
        return self.select(self.less(x, y, bits), y, x)

    def finish(self) -> None:
        """A program has come to its end, on all servers."""

    def need(self, bits: int) -> None:
        """Refuse, in public and before anything is computed, numbers that could leave the engine's range."""
        if bits > self.largest:
            raise MpcError(
                f"These numbers may need {bits} bits and the engine has {self.largest}. Lower the public bound on the "
                "number of records, or raise epsilon."
            )


def whole(values: Any) -> np.ndarray:
    """Public numbers as 64-bit integers; a fraction is an error, not something to round."""
    array = np.asarray(values)
    if array.dtype.kind not in "biu" and array.size:
        raise TypeError(f"Share arrays hold whole numbers, not {array.dtype}.")
    return array.astype(np.int64)
