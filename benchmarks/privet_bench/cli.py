"""``benchmarks/privet-bench``: list the experiments, run them, show their tables, draw them, write the page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # one process for each core
os.environ.setdefault("OMP_NUM_THREADS", "1")

from privet_bench import page, runner, tables
from privet_bench.data import here, is_set
from privet_bench.registry import EXPERIMENTS
from privet_bench.store import Store


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="privet-bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (
        ("list", "the experiments: how much of each is in the store, and how long the rest takes"),
        ("run", "run what is missing of some experiments; it can be stopped and taken up again"),
        ("table", "the tables of some experiments, in Markdown"),
        ("plot", "the figures, into docs/"),
        ("check", "make some of our runs against peers again: whether learners that have changed predict the same"),
        ("page", "write docs/benchmarks.md; --check only says whether it is older than the store or the code"),
    ):
        own = commands.add_parser(name, help=what, description=what)
        if name in ("run", "table"):
            own.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="by default all")
            own.add_argument(
                "--only", nargs="*", default=[], metavar="NAME=A,B", help="set=adult,vote epsilon=1.0 seed=0"
            )
        if name == "run":
            own.add_argument("--quick", action="store_true", help="the quick table: small sets, one epsilon")
            own.add_argument("--anew", action="store_true", help="repeat also what older learners of ours have made")
            own.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
        if name == "page":
            own.add_argument("--check", action="store_true")
    asked = parser.parse_args(words)
    unknown = [name for name in getattr(asked, "experiments", ()) if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"no experiment {', '.join(unknown)}; there are: {', '.join(EXPERIMENTS)}")
    return {"list": _list, "run": _run, "table": _table, "plot": _plot, "check": _check, "page": _page}[asked.command](
        asked
    )


def _list(asked: argparse.Namespace) -> int:
    store = Store()
    for own in EXPERIMENTS.values():
        missing = [task for task in runner.wanted(own, {}) if task not in store.done]
        left = [task for task in missing if runner.at_hand(own, task)]
        rest = (
            f"; {len(left)} to do, {runner.time_of(sum(runner.expected(left, store).values()))} of one core"
            if left
            else ""
        )
        away = {task.set for task in missing if is_set(task.set) and not here(task.set)}
        waits = f"; waits for data of {', '.join(sorted(away))}" if away else ""
        kept = len({row.task for row in store.rows(own.name)})
        print(f"{own.name:22} {own.title} ({own.source}): {kept} kept{rest}{waits}")
    return 0


def _run(asked: argparse.Namespace) -> int:
    names = asked.experiments or list(EXPERIMENTS)
    failed = runner.run(names, tables.values(asked.only), jobs=asked.jobs, quick=asked.quick, anew=asked.anew)
    return 1 if failed else 0


def _table(asked: argparse.Namespace) -> int:
    store, only = Store(), tables.values(asked.only)
    for name in asked.experiments or EXPERIMENTS:
        rows = [row for row in store.rows(name) if tables.chosen(row, only)]
        if rows or asked.experiments:
            print(f"\n## {EXPERIMENTS[name].title}\n", *tables.tables(EXPERIMENTS[name], rows), sep="\n")
    return 0


def _plot(asked: argparse.Namespace) -> int:
    from privet_bench import plots

    for file in plots.draw(Store()):
        print(file)
    return 0


def _check(asked: argparse.Namespace) -> int:
    return 1 if runner.check(Store(), page.OURS_BY_EXPERIMENT) else 0


def _page(asked: argparse.Namespace) -> int:
    if asked.check:
        problems = page.stale(Store())
        print("\n".join(problems) or "the page is what the store says, and no code has changed since")
        return 1 if problems else 0
    page.write(Store())
    return 0


if __name__ == "__main__":
    sys.exit(main())
