"""Ports that are kept until a server binds them."""

import socket
import sys

import pytest

from held_ports import HERE, held_ports


def test_ports_are_different_and_a_server_that_is_told_one_gets_it():
    with held_ports(5) as ports:
        assert len(set(ports)) == 5
        server = socket.create_server((HERE, ports[0]))
        with server, socket.create_connection((HERE, ports[0]), timeout=10):
            server.accept()[0].close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ports are looked up and not kept")
def test_nobody_who_asks_for_any_port_is_given_one_that_is_kept():
    with held_ports(1) as (port,):
        for _ in range(50):
            with socket.socket() as other:
                other.bind((HERE, 0))
                assert other.getsockname()[1] != port
