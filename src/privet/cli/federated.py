"""``privet federated``: keys, parties and the coordinator of a training between owners."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.algorithms.registry import make
from privet.cli.files import check_output
from privet.cli.models import settings
from privet.cli.options import (
    AsJson,
    Certificates,
    Check,
    Config,
    Days,
    Epsilon,
    Force,
    KeyFolder,
    KeyName,
    Output,
    Settings,
)
from privet.cli.programs import (
    errors_in,
    make_keys,
    need,
    refuse_problems,
    show_certificates,
    show_status,
    stop_when_told,
)
from privet.cli.screen import say, warn
from privet.disk import owner_only, write_whole

if TYPE_CHECKING:
    from privet.consortium.federated.config import CoordinatorConfig, PartyConfig

federated = typer.Typer(
    no_args_is_help=True,
    help="Train between owners who keep their records. Not independently reviewed.",
)


@federated.callback()
def needs_grpc() -> None:
    """Train between owners who keep their records.

    Every owner answers questions about its own records, with noise and
    masked; the coordinator sees sums over owners alone. Every program has
    a TOML file that says who is who: docs/federated.md has one of each.

    Not independently reviewed.

    Examples:

        privet federated keygen mercy
        privet federated keygen coordinator --host coordinator.example
        privet federated party mercy.toml
        privet federated coordinator coordinator.toml --epsilon 1 -o model.json
    """
    need("federated", "cryptography", "grpc")


@federated.command()
def keygen(
    name: KeyName,
    folder: KeyFolder = Path(),
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="For the coordinator: a name or address that parties reach it by; repeatable."),
    ] = None,
    days: Days = 365,
) -> None:
    """Make a key and a certificate.

    NAME.key stays on its machine. NAME.crt goes to everyone else, by a way
    on which nobody can swap it; compare fingerprints.

    Example:

        privet federated keygen mercy
    """
    make_keys(name, folder, hosts=host or (), days=days)


@federated.command()
def party(config: Config) -> None:
    """Answer a coordinator as an owner of records, until interrupted.

    Records stay here. Every question is charged to this party's own limit
    before it is answered, and written to questions.log in its state folder.
    What goes wrong is in errors.log there, which may quote records.

    Example:

        privet federated party mercy.toml
    """
    from privet.consortium.federated.config import PartyConfig
    from privet.consortium.federated.service import serve_party

    stop_when_told()
    own = PartyConfig.read(config)
    with errors_in(own.state / "errors.log"):
        serve_party(own, say)


@federated.command()
def coordinator(
    config: Config,
    epsilon: Epsilon,
    output: Output,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="What to learn: one that needs noisy sums and owners' choices alone.")
    ] = "HistogramTreeClassifier",
    given: Settings = None,
    journal: Annotated[
        Path | None, typer.Option(file_okay=False, help="Remembers the run, to go on after a stop [OUTPUT.run].")
    ] = None,
    wire: Annotated[
        Path | None, typer.Option("--wire-log", dir_okay=False, help="Write every message here, as JSON lines.")
    ] = None,
    force: Force = False,
) -> None:
    """Ask all parties for a model, and write it with its signed receipt.

    Stopped, it can be started again with the same command: what was
    answered is in the journal, and is neither asked nor paid for again.

    Example:

        privet federated coordinator coordinator.toml --epsilon 1 -o model.json
    """
    from privet.cli.checks import say_received
    from privet.consortium.federated.channel import Channel, Overheard, wire_log
    from privet.consortium.federated.config import CoordinatorConfig
    from privet.consortium.federated.identity import certified
    from privet.consortium.federated.service import train
    from privet.consortium.federated.switchboard import Switchboard

    stop_when_told()
    target = check_output(output, force, config)
    signed_target = check_output(output.with_suffix(".signed.json"), force, config)
    params: dict[str, Any] = {"epsilon": epsilon, **settings(given or ())}
    learner = make(model, **params)
    known = CoordinatorConfig.read(config)
    journal = journal or output.with_suffix(".run")
    with ExitStack() as stack:
        channel: Channel = stack.enter_context(closing(Switchboard(known, say)))
        if wire is not None:
            channel = Overheard(
                channel, wire_log(stack.enter_context(open(wire, "a", encoding="utf-8", opener=owner_only)))
            )
        signed = train(known, learner, channel=channel, journal=journal, progress=say)
    signed.verify({name: certified(certificate) for name, certificate in known.parties.items()})
    learner.save(target)
    write_whole(signed_target, signed.to_json().encode())
    signers = ", ".join(signed.signatures)
    say_received(learner.privacy_, f"Wrote {output} and, signed by {signers}, {signed_target.name}.")


@federated.command()
def status(
    config: Config,
    check: Check = False,
    epsilon: Annotated[float | None, typer.Option(help="With --check: what the model will need.")] = None,
    delta: Annotated[float | None, typer.Option(help="With --check: the model's delta, if it has one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a party's or a coordinator's files say.

    At a party: its limit, what all runs have spent and what is left, each
    run, the last contact. At a coordinator: its runs, from the journals
    beside its file. At both: certificates, with the days they are valid.

    With --check a party looks whether it reaches the coordinator; a
    coordinator waits for the parties, as its file says, and asks each
    whether it would join, with how much left, and what its clock says.
    Nobody joins, pays or counts.

    Examples:

        privet federated status party.toml
        privet federated status coordinator.toml --check --epsilon 1
    """
    from privet.consortium.config_file import ConfigFile
    from privet.consortium.federated.config import CoordinatorConfig, PartyConfig
    from privet.consortium.federated.status import coordinator_status, party_status

    if "coordinator" in ConfigFile(config).data:
        own = PartyConfig.read(config)
        found = party_status(own)
        if check:
            found["check"] = _check_party(own)
    else:
        known = CoordinatorConfig.read(config)
        found = coordinator_status(known, sorted(config.parent.glob("*.run")))
        if check:
            found["check"] = _check_parties(known, epsilon, delta)
    show_status(found, as_json)
    refuse_problems(found.get("check", ()))


def _check_party(config: PartyConfig) -> list[dict[str, Any]]:
    from privet.consortium.federated.line import PartyLine

    why = PartyLine(config, bytes).check()
    where = f"{config.address[0]}:{config.address[1]}"
    return [
        {"coordinator": f"{where} {'cannot be reached' if why else 'is reached'}", "problems": [why] if why else []}
    ]


def _check_parties(config: CoordinatorConfig, epsilon: float | None, delta: float | None) -> list[dict[str, Any]]:
    from privet.consortium.federated.allowance import Need
    from privet.consortium.federated.status import checks
    from privet.consortium.federated.switchboard import Switchboard
    from privet.privacy.amounts import checked_delta, exact

    needs = None if epsilon is None else Need(exact(epsilon), None if delta is None else checked_delta(delta))
    with closing(Switchboard(config, lambda said: warn(said))) as channel:
        return checks(config, channel, needs)


@federated.command()
def give_up(
    config: Config,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="How its name begins, as privet federated status shows it.")
    ],
) -> None:
    """Give up a run that will never be finished, at a party that is stopped.

    Its secrets are dropped from the state folder and nothing more is
    answered in it. What it has spent stays spent.

    Example:

        privet federated give-up mercy.toml 3f2a91c0
    """
    from privet.consortium.federated.config import PartyConfig
    from privet.consortium.federated.status import give_up as ended

    say(f"Gave up run {ended(PartyConfig.read(config), run)}: its secrets are gone, what it has spent stays spent.")


@federated.command()
def verify(
    signed: Annotated[Path, typer.Argument(metavar="SIGNED", exists=True, dir_okay=False, help="A signed receipt.")],
    certificates: Certificates,
    model: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="The model that the receipt should be of.")
    ] = None,
) -> None:
    """Check a receipt and every party's signature of it.

    With --model, also that it is the receipt of this model, and that the
    model says nothing that the receipt does not cover.

    Example:

        privet federated verify model.signed.json --model model.json mercy.crt general.crt saint-anne.crt
    """
    from privet.algorithms.model_file import load
    from privet.cli.checks import check_model
    from privet.consortium.federated.identity import certified
    from privet.consortium.federated.signed import SignedReceipt

    known = {path.stem: certified(path.read_bytes()) for path in certificates}
    own = SignedReceipt.from_json(signed.read_text(encoding="utf-8"))
    receipt = own.verify(known)
    if model is not None:
        learned = load(model)
        check_model(learned)
        own.check_is_of(learned.privacy_)
    say(f"{receipt}\n")
    say(f"It adds up, and is signed by {', '.join(own.signatures)}.")
    if model is not None:
        say(f"It is the receipt of {model}.")
    for name, numbers in own.left_out().items():
        which = ", ".join(map(str, numbers))
        say(f"{name} is not in the answers to {len(numbers)} of {len(own.answered)} questions: {which}.")
    if not own.left_out():
        say(f"All parties are in the answers to all {len(own.answered)} questions.")
    if own.missing:
        say(f"{', '.join(own.missing)} dropped out and has not signed; the terms tolerate {own.terms.dropouts}.")


@federated.command()
def fingerprint(certificates: Certificates) -> None:
    """Show whose a certificate is, until when it is valid, and its fingerprint.

    Compare it with what its owner reads to you, on a way that nobody else
    is on: whoever can swap a certificate can sit in between.

    Example:

        privet federated fingerprint general.crt
    """
    show_certificates(certificates)
