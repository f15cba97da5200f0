"""The demonstration: one private tree on the census data, beside what it should be compared with."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from privet.cli.checks import receipt_facts, warn_if_void
from privet.cli.facts import for_programs
from privet.cli.files import rows_to
from privet.cli.models import ODD
from privet.cli.screen import say, working
from privet.privacy.amounts import show

DEPTH = 4
TEST_SHARE = 0.3
SPLIT_SEED = 0  # public: which records are for testing is no secret


def run(epsilon: float, seed: int | None, target: Path | None) -> None:
    with working("Loading the census data"):
        import narwhals.stable.v1 as nw

        from privet.algorithms.private_tree import PrivateTreeClassifier
        from privet.datasets import load_adult

        X, y, schema = load_adult()
        frame, labels = nw.from_native(X, eager_only=True), np.asarray(y)
        order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
        test, train = np.split(order, [int(TEST_SHARE * len(order))])
    with working("Learning the private tree"):
        model = PrivateTreeClassifier(schema, epsilon=epsilon, max_depth=DEPTH, random_state=seed)
        model.fit(frame[train].to_native(), labels[train])
        private = np.mean(model.predict(frame[test].to_native()) == labels[test])
    with working("Learning the tree that is not private"):
        exact = _not_private(X, labels, schema, train, test)
    privacy = "void" if model.privacy_.void else f"epsilon {show(model.privacy_.epsilon)}"
    classes, counts = np.unique(labels[train], return_counts=True)
    common = classes[counts.argmax()]

    say(
        f"Who earns more than 50,000 dollars? US census data of 1994, {len(schema.names)} features.\n"
        f"{len(train):,} people to learn from, {len(test):,} others to test on.\n"
    )
    nothing = float(np.mean(labels[test] == common))
    if not for_programs():
        _table(
            [
                (f"always {common}", nothing, "learned nothing"),
                (f"Privet, depth {DEPTH}", private, privacy),
                (f"scikit-learn, depth {DEPTH}", exact, "none"),
            ]
        )
    rules = model.export_text()
    say(accuracy={"always the same": nothing, "private": private, "not private": exact}, rules=rules)
    say(
        f"\nThe private tree\n{rules}\n\n{ODD}\n\nIts receipt\n{model.privacy_}\n",
        privacy=receipt_facts(model.privacy_),
    )
    warn_if_void(model.privacy_)
    command = _command()
    if target is not None:
        rows_to(target, [frame.to_arrow().append_column(str(schema.label), [labels.tolist()])])
        say(f"Wrote {target.name}: the data, to try {command} on.")
    say(f"Next: {command} demo --epsilon 0.01 (more privacy) or --epsilon 1 (more accuracy).")
    say(f"Your data: {command} schema draft DATA.csv --label COLUMN -o schema.toml, then {command} fit --help.")


def _not_private(X: Any, labels: np.ndarray, schema: Any, train: np.ndarray, test: np.ndarray) -> float:
    """The test accuracy of scikit-learn's tree of the same depth, categories one-hot encoded."""
    from sklearn.tree import DecisionTreeClassifier

    from privet.schema import Numeric
    from privet.tables.table import read_table

    table = read_table(X, schema)
    columns = [
        table.numeric(name)[:, None] if isinstance(field, Numeric) else np.eye(field.n_codes)[table.codes(name)]
        for name, field in schema.features.items()
    ]
    matrix = np.hstack(columns).astype(np.float32)
    tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(matrix[train], labels[train])
    return float(np.mean(tree.predict(matrix[test]) == labels[test]))


def _table(rows: list[tuple[str, Any, str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for heading, side in (("model", "left"), ("test accuracy", "right"), ("privacy", "left")):
        table.add_column(heading, justify=side)  # type: ignore[arg-type]
    for name, accuracy, privacy in rows:
        table.add_row(name, f"{accuracy:.1%}", privacy)
    Console().print(table)


def _command() -> str:
    """How this command is called from here: make installs it into an environment that is not on the path."""
    return "privet" if shutil.which("privet") else os.path.relpath(sys.argv[0])
