"""The long audit: every sound estimator, for so many minutes each, and the table of what was found.

    make audit MINUTES=60                                  all of them; it can be stopped and taken up again
    python benchmarks/long_audit.py --minutes 5 TopDownClassifier
    python benchmarks/long_audit.py --show                 the table of what has been run

What an audit found is kept in ``--results``, a line of JSON each. Who is audited again is so with other pairs (another
seed); numbers of several runs are added up, and a pair that came up in two of them is counted twice.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "audit.jsonl"


def run(names: list[str], epsilon: float, minutes: float, results: Path) -> bool:
    """Audit them, those first that had fewest audits so far; whether all kept their promise."""
    from privet.audit import audit
    from privet.audit.claims.privet import sound_estimators

    found = read(results)
    estimators = sound_estimators(epsilon)
    audits = Counter(record["name"] for record in found)
    for name in sorted(names or estimators, key=audits.__getitem__):
        seed = audits[name]
        report = audit(estimators[name], minutes=minutes, seed=seed)
        print(f"{name}: {report}\n", file=sys.stderr, flush=True)
        record = {"name": name, "commit": commit(), "seed": seed, "minutes": minutes, **report.to_dict()}
        results.parent.mkdir(exist_ok=True)
        with results.open("a") as file:
            file.write(json.dumps(record) + "\n")
        if report.violated:
            return False
    return True


def commit() -> str:
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "unknown"


def read(results: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def table(found: list[dict[str, Any]]) -> str:
    """Markdown: a row for each estimator, its runs together."""
    lines = [
        "| estimator | pairs tried | of them exactly | skipped | worst bound | proven | real fits | they show |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(record["name"] for record in found):
        own = [record for record in found if record["name"] == name]
        confirmed = [bound for record in own for bound in record["confirmations"]]
        fits = f"{2 * _sum(confirmed, 'runs'):,} on {len(confirmed)} pairs" if confirmed else "none"
        shown = f"{max(bound['epsilon'] for bound in confirmed):.3f}" if confirmed else "-"
        lines.append(
            f"| `{name}` | {_sum(own, 'tried'):,} | {_sum(own, 'exact'):,} "
            f"| {sum(sum(record['skipped'].values()) for record in own):,} "
            f"| {max(record['worst']['epsilon'] for record in own):.4f} | {own[0]['proven']:g} | {fits} | {shown} |"
        )
    violated = sum(record["violated"] for record in found)
    lines += [
        "",
        f"{_sum(found, 'tried'):,} pairs, {_sum(found, 'exact'):,} of them exactly, in "
        f"{sum(record['seconds'] for record in found) / 60:.0f} minutes, at commits "
        f"{', '.join(dict.fromkeys(record['commit'] for record in found))}: "
        f"{f'{violated} VIOLATIONS' if violated else 'no violation'}.",
    ]
    return "\n".join(lines)


def _sum(records: list[dict[str, Any]], key: str) -> int:
    return sum(record[key] for record in records)


def draw(found: list[dict[str, Any]], path: Path) -> None:
    from privet.audit.plot import Mark, plot

    worst: dict[str, Mark] = {}
    for record in found:
        mark = Mark(record["name"], record["proven"], record["proven"], record["worst"]["epsilon"])
        if record["name"] not in worst or mark.found > worst[record["name"]].found:
            worst[record["name"]] = mark
    plot(list(worst.values()), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="which estimators; all, unless some are named")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--minutes", type=float, default=5.0, help="for each")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--show", action="store_true", help="audit nothing")
    asked = parser.parse_args()
    kept = asked.show or run(asked.names, asked.epsilon, asked.minutes, asked.results)
    found = read(asked.results)
    print(table(found))
    if asked.plot:
        draw(found, asked.plot)
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
