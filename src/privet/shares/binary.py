"""Bits on replicated shares, and the way between integers and bits (Mohassel and Rindal 2018, "ABY3").

A bit b is b_0 xor b_1 xor b_2, held like the integers of ``replicated.py``. A table of bits is stored plane by plane,
eight columns to a byte, so that one operation of the processor serves many columns and half of the planes is a slice.
"""

from __future__ import annotations

import numpy as np

from privet.errors import MpcError
from privet.shares.engine import Bits, Engine, Secret
from privet.shares.mesh import Mesh
from privet.shares.streams import Streams


class BinaryShares(Engine):
    """The half of our engine that works on bits. The parts of ``Bits`` are bytes (2, planes, columns / 8)."""

    held = 1
    mesh: Mesh
    ring: type[np.unsignedinteger]
    _streams: Streams

    # -- local -------------------------------------------------------------------------------------------------------

    def constant_bits(self, values: np.ndarray) -> Bits:
        return Bits(self, self._at(0, _packed(values)), values.shape[1])

    def _at(self, place: int, summand: np.ndarray) -> np.ndarray:
        """Parts of a number whose summand ``place`` is known to this server if it holds it, the others being 0."""
        parts = np.zeros((2, *summand.shape), dtype=summand.dtype)
        for k in range(2):
            if (self.party + k) % 3 == place:
                parts[k] = summand
        return parts

    def xor(self, a: Bits, b: Bits | np.ndarray) -> Bits:
        other = b.parts if isinstance(b, Bits) else self._at(0, _packed_like(b, a))
        return Bits(self, a.parts ^ other, a.columns)

    def mask(self, a: Bits, public: np.ndarray) -> Bits:
        return Bits(self, a.parts & _packed_like(public, a), a.columns)

    def random_bits(self, planes: int, columns: int) -> Bits:
        """Every server takes its shares from the two streams it knows: no message at all."""
        width = (columns + 7) // 8
        drawn = self._streams.draw("random bits", planes * width)
        return Bits(self, np.stack([part.reshape(planes, width) for part in drawn]), columns)

    # -- rounds ------------------------------------------------------------------------------------------------------

    def both(self, a: Bits, b: Bits) -> Bits:
        """Araki et al. 2016, for bits. One round, one bit a bit; the argument is that of ``multiply``."""
        (p, q), (r, s) = a.parts, b.parts
        summand = (p & (r ^ s)) ^ (q & r)
        own, next = self._streams.draw("binary zero", summand.nbytes)
        mine = summand ^ (own ^ next).reshape(summand.shape)
        return Bits(self, np.stack([mine, self.mesh.pass_down(mine)]), a.columns)

    def open_bits(self, b: Bits) -> np.ndarray:
        """As ``open``: both holders send, disagreement ends the run. 2 rounds, 2 bits a bit and 64 bytes."""
        return _unpacked(self._opened(b.parts, np.bitwise_xor), b.columns).astype(bool)

    def _opened(self, parts: np.ndarray, join: np.ufunc) -> np.ndarray:
        self.mesh.check()
        own, next = parts
        from_above, from_below = self.mesh.compare(own, next)
        if not np.array_equal(from_above, from_below):
            raise MpcError("Two servers disagree about a share that both hold. The run has ended; nothing was opened.")
        return join(join(own, next), from_above)

    def low_bits(self, x: Secret, count: int) -> Bits:
        """ABY3, section 5.3: x_0 + x_1 is known to server 0, which shares its digits, and x_2 to both others. Their sum
        is found by a circuit of prefixes (Kogge and Stone 1973).

        2 + lg(count) rounds, 1 + 2 lg(count) bits for each place.
        """
        one, two = self._two_numbers(x, count)
        generate, propagate = one & two, one ^ two
        digits, step = propagate, 1
        while step < count - 1:
            low, high = slice(0, count - step), slice(step, None)
            joined = self.stack([propagate[high]] * 2) & self.stack([generate[low], propagate[low]])
            generate = self.stack([generate[:step], generate[high] ^ joined[: count - step]])
            propagate = self.stack([propagate[:step], joined[count - step :]])
            step *= 2
        return self.stack([digits[:1], digits[1:] ^ generate[: count - 1]])

    def _two_numbers(self, x: Secret, bits: int) -> tuple[Bits, Bits]:
        """x_0 + x_1, dealt by server 0, and x_2, which needs no message: digits of two numbers with the sum x."""
        columns = x.shape[0]
        first = _digits(x.parts[0] + x.parts[1], bits) if self.party == 0 else None
        dealt = self._dealt(0, first, (bits, (columns + 7) // 8), "binary input")
        held = {1: 1, 2: 0}  # where the servers that hold x_2 keep it
        third = _digits(x.parts[held[self.party]], bits) if self.party else np.zeros_like(dealt[0])
        return Bits(self, dealt, columns), Bits(self, self._at(2, third), columns)

    def integers(self, b: Bits) -> Secret:
        """b_0 xor b_1 is known to server 0, b_2 to both others."""
        planes = b.parts[0] ^ b.parts[1] if self.party == 0 else b.parts[1 if self.party == 1 else 0]
        return self.joined(_unpacked(planes, b.columns))

    def joined(self, mine: np.ndarray) -> Secret:
        """Bits as integers, each the exclusive or of one that server 0 knows and one that both others know: ABY3,
        section 5.4: c xor d = c + d - 2 c d. 2 rounds, a ring element a bit, and one more from server 0.
        """
        own = mine.astype(self.ring)
        c = Secret(self, self._dealt(0, own if self.party == 0 else None, mine.shape, "input"))
        d = Secret(self, self._at(2, own if self.party else np.zeros_like(own)))
        return c + d - c * d * 2

    def _dealt(self, party: int, values: np.ndarray | None, shape: tuple[int, ...], purpose: str) -> np.ndarray:
        """Parts of what server ``party`` knows: x_i from its own stream, x_{i+1} the rest, x_{i+2} = 0."""
        binary = purpose == "binary input"
        kind = np.dtype(np.uint8 if binary else self.ring)
        own, next = (
            part.view(kind).reshape(shape) for part in self._streams.draw(purpose, int(np.prod(shape)) * kind.itemsize)
        )
        zero = np.zeros(shape, dtype=kind)
        self.mesh.rounds += 1
        if self.party == party:
            assert values is not None
            rest = values ^ own if binary else values - own
            self.mesh.send(self.mesh.above, rest)
            return np.stack([own, rest])
        if self.party == (party + 1) % 3:
            rest = self.mesh.receive(party, zero.nbytes).view(kind).reshape(shape)
            return np.stack([rest, zero])
        return np.stack([zero, next])


def _digits(x: np.ndarray, bits: int) -> np.ndarray:
    """Binary digits of unsigned integers as packed planes, the lowest first."""
    as_bytes = np.ascontiguousarray(x).view(np.uint8).reshape(len(x), x.itemsize)[:, : (bits + 7) // 8]
    table = np.unpackbits(as_bytes, axis=1, count=bits, bitorder="little")
    return np.packbits(np.ascontiguousarray(table.T), axis=1, bitorder="little")


def _packed(table: np.ndarray) -> np.ndarray:
    return np.packbits(table, axis=1, bitorder="little")


def _packed_like(public: np.ndarray, b: Bits) -> np.ndarray:
    """A public table, broadcast to the columns of ``b``, in its form."""
    return _packed(np.broadcast_to(public.astype(bool), (public.shape[0], b.columns)))


def _unpacked(planes: np.ndarray, columns: int) -> np.ndarray:
    return np.unpackbits(planes, axis=1, count=columns, bitorder="little")
