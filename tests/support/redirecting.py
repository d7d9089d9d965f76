"""Connections of a test that are led to another port of this machine."""

import socket

import pytest


def lead_to(monkeypatch: pytest.MonkeyPatch, port: int, another: int) -> None:
    """Leads connections to a port of this machine, which a test may not listen on, to another."""
    connect = socket.socket.connect

    def connect_there(self: socket.socket, address: tuple[str, int]) -> None:
        connect(self, (address[0], another if address[1] == port else address[1]))

    monkeypatch.setattr(socket.socket, "connect", connect_there)
