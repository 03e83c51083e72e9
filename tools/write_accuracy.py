#!/usr/bin/env python3
"""Writes catalog/accuracy from the measured tables: tools/write_accuracy.py BUSBAR [--check].

Every row of data/measured/collectives.csv and training.csv that counts is predicted (`busbar validate`). Bands of
collectives: tools/accuracy_bands.py, for each GPU that was measured from rows on it and on others, and for all others from
boards that are left out of the fit one after another (tools/leave_one_out.py, which fits the constants again without each;
some minutes). Bands of training steps: the middle nine tenths of measured / predicted - 1 of a GPU, and of pairs of layouts;
models with experts have one band for all GPUs; the errors of series that were left out are taken over from the file. Tables
of docs/accuracy.md between <!-- NAME --> and <!-- end --> are written too. With --check nothing is written, and bands that
hold less than 82 % of the rows of a size class, or of a machine's own rows at a size, end it with 1.
"""
import argparse
import json
import math
import re
import subprocess

import accuracy_bands
import leave_one_out
from leave_one_out import ROOT, band, share_within

FOLDER = ROOT / "catalog/accuracy"
FROM = ["0B", "1MiB", "64MiB", "1GiB"]
NAMES = ["below 1 MiB", "1-64 MiB", "64 MiB-1 GiB", "1 GiB and more"]
TRAINING = ("--only", "use=accuracy,moe=no,layout_complete=yes")
EXPERTS = ("--only", "use=accuracy,moe=yes")
EXPERTS_HELD = 0.85  # share of the rows on a GPU in the band of those on the others
LEAST_HELD = 82  # percent of the rows that bands of nine tenths still hold while small changes move rows
LEAST = 5  # configurations of a GPU that make a band of its own


def validated(busbar, table, *more):
    command = [busbar, "validate", ROOT / f"data/measured/{table}.csv", "--json", *more]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def scored(report):
    return [r for r in report["rows"] if r["scored"]]


def truth(row):
    return 100 * (row["measured"] / row["predicted"] - 1)


def fields(values):
    low, high = share_within(values)
    return f"low_percent: {low:.1f}, high_percent: {high:.1f}, configurations: {len(values)}"


def kept(name):
    """The part of the file for boards and series that were left out."""
    path = FOLDER / f"{name}.yaml"
    found = re.search(r"^left_out:\n(?:  .*\n)+", path.read_text(), re.M) if path.exists() else None
    if not found:
        raise SystemExit(f"{path}: no block left_out; tools/write_accuracy.py writes that of collectives, for training "
                         "steps busbar validate --leave-out prints what belongs there")
    return found[0]


def by_size(rows):
    out = [[] for _ in FROM]
    for r in rows:
        out[band(r["size_bytes"])].append(accuracy_bands.Seen(r))
    return out


def ends(low, high):
    """Rounded outwards: a band that ends at a row contains it."""
    return (f"low_percent: {math.floor(1000 * math.expm1(low)) / 10:.1f}, "
            f"high_percent: {math.ceil(1000 * math.expm1(high)) / 10:.1f}")


def lines_of(seen_by_size, kind, unit, indent, others):
    """A line per kind of machine, nodes and size class; and (coverage, width, p90) of each size class.

    Configurations are those on the kind itself, with `others` those of all kinds, which then has a line for each.
    """
    text, holds = "", []
    kinds = sorted({getattr(s, kind) for seen in seen_by_size for s in seen})
    shares = []
    for seen in seen_by_size:
        shares.append(accuracy_bands.share_for(seen, kind, unit))
        holds.append(accuracy_bands.coverage(accuracy_bands.bands_left_out(seen, kind, unit, shares[-1])))
    for value in kinds:
        for several in (False, True):
            for start, seen, share in zip(FROM, seen_by_size, shares):
                like = {s.configuration for s in seen if getattr(s, kind) == value and s.several == several}
                if not like and not others:
                    continue
                if others:
                    like = {s.configuration for s in seen}
                found = accuracy_bands.band_of(seen, kind, value, several, share)
                if not others:
                    found = accuracy_bands.with_own_rows(seen, kind, value, several, found)
                text += (f"{indent}- {{from: {start}, several_nodes: {str(several).lower()}, {kind}: {value}, "
                         f"{ends(*found)}, configurations: {len(like)}}}\n")
    return text, holds


def collectives(busbar, fit_again):
    own, holds = lines_of(by_size(scored(validated(busbar, "collectives"))), "gpu", "configuration", "  ", False)
    text = ("# How far predicted collectives were off: the bands that commands print. Written by tools/write_accuracy.py\n"
            "name: collectives\n"
            'source: "data/measured/collectives.csv against busbar validate; docs/accuracy.md"\n'
            'fit: "measured / predicted - 1 by size, one node or several, GPU, and P2P; tools/accuracy_bands.py"\n'
            f"confidence: medium\nbands:\n{own}")
    if not fit_again:
        return text + kept("collectives")
    table, rows, boards = [], [], []
    for board, others, left_out, with_it in leave_one_out.boards_left_out(busbar):
        boards.append((left_out, with_it))
        table.append(leave_one_out.line_of(board, others, left_out, with_it))
        print(table[-1], flush=True)
        rows += left_out
    bands, holds_left_out = lines_of(by_size(rows), "joined", "board", "    ", True)
    write_table("left out", leave_one_out.TITLE + table)
    write_table("left out by size", leave_one_out.by_size(boards))
    write_table("bands", ["| size | left out | in the band (%) | median width (%) | p90 of the error (%) | width / p90 |",
                          "|---|---|---|---|---|---|"] +
                [f"| {name} | {what} | {c:.1f} | {w:.1f} | {p:.1f} | {w / p:.2f} |"
                 for what, found in (("each board", holds_left_out), ("each configuration", holds))
                 for name, (c, w, p) in zip(NAMES, found)])
    return text + ('left_out:\n  source: "tools/leave_one_out.py, which fits again without each board; docs/accuracy.md"\n'
                   f"  bands:\n{bands}")


def own_tables(busbar):
    """What tables of a machine do to its other answers."""
    more = ROOT / "data/measured/collectives_more.csv"
    found = validated(busbar, "collectives", "--more", more, "--own-table")["own_tables"]
    lines = ["| left out | size | pairs | machines | before (%) | after (%) | own table (%) | moved (%) | worse (%) | "
             "in the band (%) |", "|---|---|---|---|---|---|---|---|---|---|"]
    for r in found["lines"]:
        lines.append(f"| {r['left_out']} | {r['sizes']} | {r['pairs']} | {r['machines']} | {r['before_percent']:.1f} | "
                     f"{r['after_percent']:.1f} | {r['own_percent']:.1f} | {r['moved_percent']:.0f} | "
                     f"{r['worse_percent']:.0f} | {r['in_band_percent']:.0f} |")
    write_table("own tables", lines)


def write_table(name, lines):
    """Replaces the text between <!-- name --> and <!-- end --> in docs/accuracy.md."""
    path = ROOT / "docs/accuracy.md"
    text, n = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m: m[1] + "\n".join(lines) + "\n" + m[2],
                      path.read_text(), flags=re.S)
    if n != 1:
        raise SystemExit(f"{path}: {n} places for the table '{name}'")
    path.write_text(text)


def training(busbar):
    report = validated(busbar, "training", *TRAINING)
    by_gpu = {}
    for r in scored(report):
        by_gpu.setdefault(r["gpu"], []).append(truth(r))
    text = ("# How far predicted training steps were off: the bands that commands print. Written by tools/write_accuracy.py\n"
            "name: training\n"
            'source: "data/measured/training.csv, dense models, against busbar validate; docs/accuracy.md"\n'
            'fit: "measured / predicted - 1 of each configuration, the middle nine tenths"\n'
            "confidence: medium\ngpus:\n")
    for gpu, values in sorted(by_gpu.items()):
        if len(values) >= LEAST:
            text += f"  - {{name: {gpu}, {fields(values)}}}\n"
    pairs = report["summary"]["layouts"]
    text += (f"layouts:\n  percent: {pairs['p90_percent']:.1f}\n  pairs: {pairs['pairs']}\n  jobs: {pairs['jobs']}\n"
             '  source: "pairs of layouts of one job in the same rows: measured against predicted ratio of their times, '
             'nine tenths; docs/models/plan.md"\n')
    return text + experts(busbar) + kept("training")


def experts(busbar):
    """The shortest band from which so many are taken that EXPERTS_HELD of the rows are in that of all other GPUs."""
    rows = [(math.log(r["measured"] / r["predicted"]), r["gpu"]) for r in scored(validated(busbar, "training", *EXPERTS))]

    def band_without(gpu, share):
        return accuracy_bands.shortest([(y, 1) for y, of in rows if of != gpu], share)

    def held(share):
        ends = {gpu: band_without(gpu, share) for _, gpu in rows}
        return sum(ends[gpu][0] <= y <= ends[gpu][1] for y, gpu in rows) / len(rows)

    share = next((s / 100 for s in range(85, 100) if held(s / 100) >= EXPERTS_HELD), 1)
    low, high = (100 * math.expm1(y) for y in band_without(None, share))
    return (f"experts:\n  low_percent: {low:.1f}\n  high_percent: {high:.1f}\n  configurations: {len(rows)}\n"
            f'  source: "rows of models with experts in the same table; {100 * held(share):.0f} % of them are in the band of the '
            'rows on other GPUs"\n')


def ill_fitting(busbar, table, *more):
    """Size classes whose bands in the program contain too few of the rows that count."""
    report = validated(busbar, table, *more)
    bad = [f"{table}, {name}: {b['coverage_percent']:.0f} % of the rows are in their bands"
           for name, b in report["summary"]["bands"].items() if b["coverage_percent"] < LEAST_HELD]
    return bad + (ill_fitting_machines(report) if table == "collectives" else [])


def ill_fitting_machines(report):
    """Machines at sizes whose own bands contain too few of the rows on them; each configuration counts once."""
    held = {}
    for r in scored(report):
        machine = (r["gpu"], r["p2p"], r["several_nodes"], NAMES[band(r["size_bytes"])])
        low, high = r["band_percent"]
        held.setdefault(machine, {}).setdefault(r["source_id"], []).append(low <= truth(r) <= high)
    shares = {m: 100 * sum(sum(c) / len(c) for c in of.values()) / len(of) for m, of in held.items()}
    return [f"{gpu}{'' if p2p else ' with P2P off'}, {'several nodes' if several else 'one node'}, {size}: {share:.0f} % of its "
            "own rows are in its band" for (gpu, p2p, several, size), share in shares.items() if share < LEAST_HELD]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("busbar", help="the command to ask")
    parser.add_argument("--check", action="store_true", help="only ask whether the bands still hold")
    parser.add_argument("--quick", action="store_true", help="keep the bands of boards left out: no constant is fitted")
    parser.add_argument("--only", choices=["collectives", "training", "own-tables"],
                        help="one of the two files, or the table of what own tables do in docs/accuracy.md")
    args = parser.parse_args()
    asked = {"collectives": (lambda: collectives(args.busbar, not args.quick), ()),
             "training": (lambda: training(args.busbar), TRAINING)}
    if args.only in (None, "own-tables") and not args.check:
        own_tables(args.busbar)
    bad = []
    for name, (make, more) in asked.items():
        if args.only not in (None, name):
            continue
        if args.check:
            bad += ill_fitting(args.busbar, name, *more)
            bad += ill_fitting(args.busbar, name, *EXPERTS) if name == "training" else []
        else:
            (FOLDER / f"{name}.yaml").write_text(make())
    if bad:
        raise SystemExit("; ".join(bad) + ": run tools/write_accuracy.py without --check")


if __name__ == "__main__":
    main()
