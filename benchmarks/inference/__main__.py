"""Exact inference, measured beside ProbLog, aspmc and plingo.

python -m benchmarks.inference --quick             small sizes of every family, in two minutes
python -m benchmarks.inference                     all of it
python -m benchmarks.inference --families grid,ladder --sizes 4,5 --peers problog
python -m benchmarks.inference --targets           what some instances should take
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.inference import targets
from benchmarks.inference.instances import FAMILIES, instances
from benchmarks.inference.measure import Limits
from benchmarks.inference.plot import draw
from benchmarks.inference.records import Bench, Record, measure, starts
from benchmarks.inference.report import Report, cell, markdown, show, to_json
from benchmarks.inference.systems import DPASP, ENUMERATE, PEERS, install
from rich.console import Console

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main() -> None:
    """Measure what the command line asks for, print it and write it down."""
    options = _options()
    console = Console(width=None if Console().is_terminal else 140)
    limits = Limits(options.time_limit or (3 if options.quick else 10), options.memory_limit)
    repeat = options.repeat or (1 if options.quick else 3)
    found = []
    if options.targets or _everything(options):
        found = list(targets.results(Limits(60, options.memory_limit), repeat))
        targets.show(found, console)
    if options.targets:
        return
    report = _compare(options, limits, repeat, console)
    show(report, console)
    folder = options.output or (HERE if _everything(options) else ROOT / "benchmarks" / "results")
    folder.mkdir(parents=True, exist_ok=True)
    draw(report, folder / "results.png")
    text = markdown(report, targets.markdown(found) if found else [], "results.png")
    (folder / "results.md").write_text(text, encoding="utf-8")
    (folder / "results.json").write_text(to_json(report), encoding="utf-8")
    console.print(f"written: {folder}/results.md, results.json, results.png")


def _compare(options: argparse.Namespace, limits: Limits, repeat: int, console: Console) -> Report:
    """Run all systems on all instances."""
    versions = install(options.venv, options.peers) if options.peers else {}
    for name in set(options.peers) - set(versions):
        console.print(f"{name} could not be installed and is left out", style="bold red")
    systems = [DPASP, ENUMERATE, *(PEERS[name] for name in versions)]
    bench = Bench(str(options.venv.resolve() / "bin"), limits, repeat)
    start = starts(bench, systems, versions)
    for system in systems:
        if system.name not in start:
            console.print(f"{system.name} does not run and is left out", style="bold red")

    def see(record: Record) -> None:
        line = f"{record.family} {record.size} {record.semantics} {record.system}: {cell(record)}"
        console.print(f"{line} {record.note}", style="dim", markup=False)
        if record.agrees is False:
            console.print("ITS ANSWER DIFFERS FROM OURS", style="bold white on red")

    asked = instances(options.families, options.sizes, options.quick)
    records: list[Record] = []
    try:
        for record in measure(bench, systems, start, asked):
            records.append(record)
            see(record)
    except KeyboardInterrupt:
        console.print("stopped; what was measured until now follows", style="bold red")
    return Report(limits, repeat, start, records)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.inference",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--families", type=_names(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--sizes", type=_sizes, help="in place of each family's own")
    parser.add_argument("--peers", type=_names(PEERS), default=list(PEERS), help="or none")
    parser.add_argument("--quick", action="store_true", help="small sizes, 3 s, no repetition")
    parser.add_argument("--targets", action="store_true", help="only the targets")
    parser.add_argument("--time-limit", type=float, metavar="S", help="CPU seconds a run")
    parser.add_argument("--memory-limit", type=float, metavar="MB", default=4000)
    parser.add_argument("--repeat", type=int, metavar="N", help="of runs below a second")
    parser.add_argument("--venv", type=Path, default=ROOT / ".bench-venv", help="of the peers")
    parser.add_argument("--output", type=Path, metavar="FOLDER")
    return parser.parse_args()


def _everything(options: argparse.Namespace) -> bool:
    """Whether all families are measured in all sizes with all peers."""
    whole = options.families == list(FAMILIES) and options.peers == list(PEERS)
    return whole and not options.sizes and not options.quick


def _names(known: Mapping[str, object]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = [] if text == "none" else text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(known)}")
        return names

    return read


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(","))


if __name__ == "__main__":
    main()
