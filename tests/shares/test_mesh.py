"""Links between three servers: whole messages of the agreed length, and an end for all where one goes astray."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from in_threads import QueueLine, Queues
from privet.errors import MpcError
from privet.shares.mesh import DIGEST_BYTES


def on_three(program, meshes=None):
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(program, meshes or Queues.three(timeout=30)))


def failures(program, meshes=None):
    """What each server raised."""

    def run(mesh):
        try:
            program(mesh)
        except MpcError as error:
            mesh.close()
            return str(error)
        return None

    return on_three(run, meshes)


def test_every_server_hears_from_the_one_above():
    def program(mesh):
        return mesh.pass_down(np.array([mesh.party, 7], dtype=np.uint32)).tolist(), mesh.rounds, mesh.bytes_sent

    assert on_three(program) == [([1, 7], 1, 8), ([2, 7], 1, 8), ([0, 7], 1, 8)]


def test_each_of_the_others_gets_what_is_meant_for_it():
    def program(mesh):
        return [each.tolist() for each in mesh.compare(*(np.array([mesh.party, side]) for side in (0, 1)))]

    # From the one above comes what it sent below, and the other way round.
    assert on_three(program) == [[[(i + 1) % 3, 1], [(i - 1) % 3, 0]] for i in range(3)]


def test_servers_that_are_not_at_the_same_step_stop():
    def program(mesh):
        mesh.pass_down(np.zeros(3 if mesh.party == 1 else 2, dtype=np.uint8))

    assert any(said and "wrong length" in said for said in failures(program))


def test_other_public_bytes_on_one_server_stop_all_three():
    assert failures(lambda mesh: mesh.agree(b"the same")) == [None] * 3
    for odd in range(3):
        said = failures(lambda mesh, odd=odd: mesh.agree(b"other" if mesh.party == odd else b"same"))
        assert all(each is not None for each in said)
        assert any("not asked the same question" in each for each in said)


class Changing(Queues):
    """Server 0 receives one bit otherwise than it was sent."""

    def _get(self, sender, n_bytes):
        message = super()._get(sender, n_bytes)
        return bytes([message[0] ^ 1]) + message[1:] if (self.party, n_bytes) == (0, 5) else message


def test_a_changed_bit_is_found_before_anything_is_opened():
    def program(mesh):
        mesh.pass_down(np.zeros(5, dtype=np.uint8))
        mesh.check()

    assert failures(program) == [None] * 3
    assert "A message arrived changed. The run has ended; nothing was opened." in failures(program, Changing.three(30))


def test_lengths_are_noted_where_a_test_asks_for_them():
    def program(mesh):
        mesh.lengths = []
        mesh.pass_down(np.zeros(5, dtype=np.uint32))
        mesh.agree(b"x")
        return mesh.lengths

    for i, lengths in enumerate(on_three(program)):
        assert sorted(lengths) == sorted([((i - 1) % 3, 20), ((i + 1) % 3, DIGEST_BYTES), ((i - 1) % 3, DIGEST_BYTES)])


def test_who_waits_for_a_server_that_is_stuck_or_has_left_is_told():
    meshes = Queues.three(timeout=0.05)
    with pytest.raises(MpcError, match="not answered in time") as error:
        meshes[0].receive(1, 3)
    assert error.value.__cause__ is not None
    meshes[1].leave("tired")
    for other in (0, 2):
        with pytest.raises(MpcError, match="has left"):
            meshes[other].receive(1, 3)


def test_a_line_carries_whole_messages_both_ways_and_its_end():
    here, there = QueueLine.pair()
    here.send(b"hello")
    there.send(b"good day")
    assert (there.receive(), here.receive(8)) == (b"hello", b"good day")
    here.send(b"too long")
    with pytest.raises(MpcError, match="has left"):
        there.receive(3)
    here.close()
    with pytest.raises(MpcError, match="has left"):
        there.receive()
