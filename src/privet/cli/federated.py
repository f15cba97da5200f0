"""``privet federated``: keys, parties and the coordinator of a training between owners."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.algorithms.registry import make
from privet.cli.evaluate import By, Holdout, held_out, say_scores
from privet.cli.files import check_output
from privet.cli.logs import Log, LogForm, Metrics, speaking
from privet.cli.members import Limit, NewFile, add_to, made
from privet.cli.models import settings
from privet.cli.options import Config, Consortium, Epsilon, Force, Output, SchemaFile, Settings, SignedModel
from privet.cli.programs import stop_when_told
from privet.cli.screen import say
from privet.disk import owner_only, write_whole
from privet.extras import need

federated = typer.Typer(
    no_args_is_help=True,
    help="Train between owners who keep their records. Not independently reviewed.",
)


@federated.callback()
def needs_grpc() -> None:
    """Train between owners who keep their records.

    Every owner answers questions about its own records with noisy, masked
    counts; the coordinator sees only sums over all owners. One file says
    who takes part, and all members get it: docs/consortium.md.

    Not independently reviewed.

    Examples:

        privet federated join consortium.toml mercy --data patients.csv
        privet federated accept mercy.toml coordinator.consortium.toml
        privet federated party mercy.toml
        privet federated coordinator coordinator.toml --epsilon 1 -o model.json
    """
    need("federated", "cryptography", "grpc")


@federated.command()
def init(
    file: NewFile,
    schema: SchemaFile,
    address: Annotated[str, typer.Option(help="Where parties reach the coordinator, HOST:PORT.")],
    party: Annotated[list[str], typer.Option(help="The name of a party; may be given several times.")],
    coordinator: Annotated[str, typer.Option(help="The coordinator's name.")] = "coordinator",
    epsilon: Limit = 1.0,
    delta: Annotated[float | None, typer.Option(help="The limit's delta, for models that have one.")] = None,
    colluders: Annotated[
        int, typer.Option(min=0, help="How many parties may work together and the noise still protects the rest.")
    ] = 1,
    dropouts: Annotated[int, typer.Option(min=0, help="How many parties may be missing from an answer.")] = 0,
    noise: Annotated[
        str,
        typer.Option(
            help="shared: each party adds a part of the noise, and masks. own: each adds the whole noise, no masks."
        ),
    ] = "shared",
) -> None:
    """Make a consortium's file: names, roles, the schema and the terms.

    Send it to all members, who then join. docs/consortium.md has all steps.

    Example:

        privet federated init consortium.toml --schema schema.toml --address coordinator.example:9443 \\
            --party mercy --party general --party north
    """
    from privet.consortium.consortium_file import COORDINATOR, PARTY, Participant
    from privet.consortium.federated.terms import Terms
    from privet.schema import Schema

    Terms("0" * 32, tuple(sorted(party)), colluders, dropouts, noise, "")  # raises if they cannot be kept
    members = [Participant(coordinator, COORDINATOR, address), *(Participant(name, PARTY) for name in party)]
    terms = {"epsilon": epsilon, "delta": delta, "tolerated_colluders": colluders, "tolerated_dropouts": dropouts}
    made(file, "federated", Schema.from_toml(schema), members, {**terms, "noise": noise})


@federated.command()
def party(config: Config, log: Log = LogForm.plain, metrics: Metrics = None) -> None:
    """Answer a coordinator as an owner of records, until interrupted.

    Records stay here. Every question is charged to this party's own limit
    before it is answered, and written to questions.log in its state folder.
    Errors are written to errors.log there, which may quote records.

    Example:

        privet federated party mercy.toml
    """
    from privet.consortium.federated.config import PartyConfig
    from privet.consortium.federated.service import serve_party

    stop_when_told()
    own = PartyConfig.read(config)
    with speaking(config, log, metrics, own.state / "errors.log") as speaker:
        serve_party(own, speaker)


@federated.command()
def coordinator(
    config: Config,
    epsilon: Epsilon,
    output: Output,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="What to learn: a model that needs only noisy sums and choices by each owner."
        ),
    ] = "HistogramTreeClassifier",
    given: Settings = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="The folder that remembers the run, to go on after a stop; by default OUTPUT.run."
        ),
    ] = None,
    wire: Annotated[
        Path | None, typer.Option("--wire-log", dir_okay=False, help="Write every message here, as JSON lines.")
    ] = None,
    holdout: Holdout = None,
    by: By = None,
    force: Force = False,
    log: Log = LogForm.plain,
    metrics: Metrics = None,
) -> None:
    """Ask all parties for a model, and write it with its signed receipt.

    If it is stopped, start it again with the same command: what was
    answered is in the journal, and is neither asked nor paid for again.
    --holdout keeps some of every party's records out of learning and
    scores the model on them, at no extra epsilon.

    Example:

        privet federated coordinator coordinator.toml --epsilon 1 -o model.json
    """
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
    scored = held_out(holdout, by, known.schema)
    journal = journal or output.with_suffix(".run")
    boards: list[Switchboard] = []
    with ExitStack() as stack:
        live = lambda: boards[0].status() if boards else {}  # noqa: E731
        speaker = stack.enter_context(speaking(config, log, metrics, config.with_suffix(".errors.log"), live))
        boards.append(stack.enter_context(closing(Switchboard(known, speaker))))
        channel: Channel = boards[0]
        if wire is not None:
            channel = Overheard(
                channel, wire_log(stack.enter_context(open(wire, "a", encoding="utf-8", opener=owner_only)))
            )
        signed = train(known, learner, **scored, channel=channel, journal=journal, progress=speaker)
    signed.verify({name: certified(certificate) for name, certificate in known.parties.items()})
    learner.save(target, overwrite=True)
    write_whole(signed_target, signed.to_json().encode())
    say_scores(learner.evaluation_)
    signers = ", ".join(signed.signatures)
    speaker.received(learner.privacy_, f"Wrote {output} and, signed by {signers}, {signed_target.name}.")


@federated.command()
def give_up(
    config: Config,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The beginning of the run's name, as privet federated status shows it.")
    ],
) -> None:
    """Give up a run that will never be finished; stop the party's program first.

    The run's secrets are deleted from the state folder, and no more of its
    questions are answered. What the run has spent stays spent.

    Example:

        privet federated give-up mercy.toml 3f2a91c0
    """
    from privet.consortium.federated.config import PartyConfig
    from privet.consortium.federated.status import give_up as ended

    name = ended(PartyConfig.read(config), run)
    say(f"Gave up run {name}: its secrets are gone, what it has spent stays spent.", gave_up=name)


@federated.command()
def verify(
    signed: Annotated[Path, typer.Argument(metavar="SIGNED", exists=True, dir_okay=False, help="A signed receipt.")],
    consortium: Consortium,
    model: SignedModel = None,
) -> None:
    """Check a receipt and every party's signature of it.

    With --model, also that it is the receipt of this model, and that the
    model says nothing that the receipt does not cover.

    Example:

        privet federated verify model.signed.json mercy.consortium.toml --model model.json
    """
    from privet.cli.checks import say_signed
    from privet.consortium.consortium_file import Consortium as Members
    from privet.consortium.federated.identity import certified
    from privet.consortium.federated.signed import SignedReceipt

    members = Members.read(consortium).members
    known = {member.name: certified(member.certificate) for member in members if member.certificate}
    own = SignedReceipt.from_json(signed.read_text(encoding="utf-8"))
    say_signed(own.verify(known), ", ".join(own.signatures), model)
    for name, numbers in own.left_out().items():
        which = ", ".join(map(str, numbers))
        say(f"{name} is not in the answers to {len(numbers)} of {len(own.answered)} questions: {which}.")
    if not own.left_out():
        say(f"All parties are in the answers to all {len(own.answered)} questions.")
    if own.missing:
        say(f"{', '.join(own.missing)} dropped out and has not signed; the terms tolerate {own.terms.dropouts}.")


add_to(federated)
