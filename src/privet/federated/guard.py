"""No code from a coordinator runs at a party: this takes the place of the program that Flower starts for every message.

Flower carries a bundle of code to every party, unpacks it and runs what it names, as the user that runs the SuperNode.
A coordinator that is not trusted with records must not have that. So a party's SuperNode finds these commands instead
of Flower's: ``flwr-clientapp`` runs Flower's own exchange of messages with the installed relay (``relay.py``) and
leaves the bundle where it is, and all others refuse. Where Flower is not as it is known here, nothing runs.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

CLIENT = "flwr-clientapp"
OTHERS = ("flwr-serverapp", "flwr-simulation", "flwr-agentapp", "flwr-model", "flwr-connector")
NEEDED = ("install_from_fab", "install_app_dependencies", "get_load_client_app_fn", "run_clientapp")


def install(folder: Path) -> None:
    """Write the commands that a SuperNode with this folder first on its path finds."""
    folder.mkdir()
    for name in (CLIENT, *OTHERS):
        file = folder / name
        file.write_text(f"#!{sys.executable}\nfrom privet.federated.guard import main\n\nmain({name!r})\n")
        file.chmod(0o700)


def main(command: str) -> None:
    if command != CLIENT:
        sys.exit(f"{command}: a party runs no code from elsewhere.")
    from privet.federated import relay

    guarded(import_module("flwr.supernode.runtime.run_clientapp"), relay.client)
    import_module("flwr.supernode.cli.flwr_clientapp").flwr_clientapp()


def guarded(program: Any, app: Any) -> Any:
    """Flower's program for messages, with ``app`` in place of whatever a bundle names, and no bundle unpacked."""
    missing = [name for name in NEEDED if not callable(getattr(program, name, None))]
    if missing:
        sys.exit(f"{CLIENT}: this version of Flower is not known here ({missing[0]}). Install privet[federated].")
    program.install_from_fab = lambda *args, **kwargs: None
    program.install_app_dependencies = lambda *args, **kwargs: sys.exit("A party installs nothing at run time.")
    program.get_load_client_app_fn = lambda *args, **kwargs: lambda *bundle: app
    return program
