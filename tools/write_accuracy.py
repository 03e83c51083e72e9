#!/usr/bin/env python3
"""Writes catalog/accuracy from the measured tables: tools/write_accuracy.py BUSBAR [--check].

Every row of data/measured/collectives.csv and training.csv that counts is predicted (`busbar validate`); rows of one
configuration and size band are reduced to their median; the middle nine tenths of measured / predicted - 1 make a band:
of collectives by size and by whether ranks stand in one node or in several, of training steps by GPU. The errors of
boards and series that were left out of the fit are taken over from the files: tools/leave_one_out.py prints them.
With --check nothing is written, and a band that has moved by more than two percent points ends it with 1.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess

from leave_one_out import MIB, ROOT, band, share_within

FOLDER = ROOT / "catalog/accuracy"
FROM = ["0B", "1MiB", "64MiB", "1GiB"]
LEAST = 5  # configurations of a GPU that make a band of its own


def rows_of(busbar, table, *more):
    command = [busbar, "validate", ROOT / f"data/measured/{table}.csv", "--json", *more]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return [r for r in json.loads(run.stdout)["rows"] if r["scored"]]


def truth(row):
    return 100 * (row["measured"] / row["predicted"] - 1)


def fields(values):
    low, high = share_within(values)
    return f"low_percent: {low:.1f}, high_percent: {high:.1f}, configurations: {len(values)}"


def kept(name):
    """The part of the file that this tool does not know: boards and series that were left out."""
    path = FOLDER / f"{name}.yaml"
    found = re.search(r"^left_out:\n(?:  .*\n)+", path.read_text(), re.M) if path.exists() else None
    if not found:
        raise SystemExit(f"{path}: no block left_out; tools/leave_one_out.py prints what belongs there")
    return found[0]


def collectives(busbar):
    medians = {}
    gpus = set()
    for r in rows_of(busbar, "collectives"):
        medians.setdefault((r["several_nodes"], band(r["size_bytes"]), r["source_id"]), []).append(truth(r))
        gpus.add(r["gpu"])
    text = ("# How far predicted collectives were off: the bands that commands print. Written by tools/write_accuracy.py\n"
            "name: collectives\n"
            'source: "data/measured/collectives.csv against busbar validate; docs/accuracy.md"\n'
            'fit: "measured / predicted - 1, medians of a configuration and size band, the middle nine tenths"\n'
            "confidence: medium\n"
            f"gpus: [{', '.join(sorted(gpus))}]\nbands:\n")
    for several in (False, True):
        for b, start in enumerate(FROM):
            values = [statistics.median(v) for (s, at, _), v in medians.items() if s == several and at == b]
            text += f"  - {{from: {start}, several_nodes: {str(several).lower()}, {fields(values)}}}\n"
    return text + kept("collectives")


def training(busbar):
    by_gpu = {}
    for r in rows_of(busbar, "training", "--only", "use=accuracy,moe=no,layout_complete=yes"):
        by_gpu.setdefault(r["gpu"], []).append(truth(r))
    text = ("# How far predicted training steps were off: the bands that commands print. Written by tools/write_accuracy.py\n"
            "name: training\n"
            'source: "data/measured/training.csv, dense models, against busbar validate; docs/accuracy.md"\n'
            'fit: "measured / predicted - 1 of each configuration, the middle nine tenths"\n'
            "confidence: medium\ngpus:\n")
    for gpu, values in sorted(by_gpu.items()):
        if len(values) >= LEAST:
            text += f"  - {{name: {gpu}, {fields(values)}}}\n"
    return text + kept("training")


def differs(old, new):
    numbers = [[float(n) for n in re.findall(r"_percent: (-?[0-9.]+)", text)] for text in (old, new)]
    return len(numbers[0]) != len(numbers[1]) or any(abs(a - b) > 2 for a, b in zip(*numbers))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("busbar", help="the command to ask")
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--only", choices=["collectives", "training"], help="one of the two files")
    args = parser.parse_args()
    moved = []
    for name, make in (("collectives", collectives), ("training", training)):
        if args.only not in (None, name):
            continue
        text, path = make(args.busbar), FOLDER / f"{name}.yaml"
        if not args.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif differs(path.read_text(), text):
            moved.append(str(path.relative_to(ROOT)))
    if moved:
        raise SystemExit(f"{', '.join(moved)}: bands have moved; run tools/write_accuracy.py without --check")


if __name__ == "__main__":
    main()
