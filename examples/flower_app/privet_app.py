"""Privet's two ends as Flower names them."""

from privet.consortium.federated.flower import client_app, server_app

__all__ = ["client_app", "server_app"]
