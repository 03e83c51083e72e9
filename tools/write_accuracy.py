#!/usr/bin/env python3
"""Writes catalog/accuracy from the measured tables: tools/write_accuracy.py BUSBAR [--check].

Every row of data/measured that counts is predicted without its source: constants are fitted on the rows of all other sources
(collectives: tools/leave_one_out.py, some minutes; training steps: `busbar validate --leave-out`). Bands of collectives are
made of these for each GPU that was measured, from rows on it and on others (tools/accuracy_bands.py), and for all others from
boards that are left out of the fit one after another. Bands of training steps are made for dense models and for those with
experts, on GPUs whose clocks under load are known or not. Tables of docs/accuracy.md between <!-- NAME --> and <!-- end -->
are written too. With --check nothing is written, and bands of a class that hold less than 80 % of its rows end it with 1.
"""
import argparse
import csv
import json
import math
import re
import statistics
import subprocess

import accuracy_bands
import leave_one_out
from leave_one_out import ROOT, band

FOLDER = ROOT / "catalog/accuracy"
FROM = ["0B", "1MiB", "64MiB", "1GiB"]
NAMES = ["below 1 MiB", "1-64 MiB", "64 MiB-1 GiB", "1 GiB and more"]
STEPS = ("--only", "use=accuracy")
LEAST_HELD = 80  # percent of the rows of a class


def validated(busbar, table, *more):
    command = [busbar, "validate", ROOT / f"data/measured/{table}.csv", "--json", *more]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def scored(report):
    return [r for r in report["rows"] if r["scored"]]


def kept(name):
    """The part of the file for boards and series that were left out."""
    path = FOLDER / f"{name}.yaml"
    found = re.search(r"^left_out:\n(?:  .*\n)+", path.read_text(), re.M) if path.exists() else None
    if not found:
        raise SystemExit(f"{path}: no block left_out; tools/write_accuracy.py writes it")
    return found[0]


def by_size(rows):
    out = [[] for _ in FROM]
    for r in rows:
        out[band(r["size_bytes"])].append(accuracy_bands.Seen(r, r["predicted"]))
    return out


def ends(low, high):
    """Rounded outwards: a band that ends at a row contains it."""
    return (f"low_percent: {math.floor(1000 * math.expm1(low)) / 10:.1f}, "
            f"high_percent: {math.ceil(1000 * math.expm1(high)) / 10:.1f}")


def counts(seen):
    return (f"configurations: {len({s.configuration for s in seen})}, sources: {len({s.source for s in seen})}")


def line(start, seen, unit, machine, share, held, indent):
    """A band; `machine`: (property, value) pairs."""
    words = "".join(f", {name}: {value}" for name, value in machine if name != "several" and value)
    several = dict(machine).get("several", bool(dict(machine).get("network")))
    return (f"{indent}- {{from: {start}, several_nodes: {str(several).lower()}{words}, "
            f"{ends(*accuracy_bands.band_of(seen, unit, machine, share))}, {counts(seen)}, held_percent: {held:.1f}}}\n")


def kind_lines(seen_by_size):
    """A band for each kind of machine with measurements, below 1 MiB one for each launch mode too; (coverage, width, p90) of
    each size."""
    text, holds = "", []
    for start, seen in zip(FROM, seen_by_size):
        small = start == FROM[0]
        properties = ("network", "joined") + (("launch",) if small else ())
        share = accuracy_bands.share_for(seen, "source", properties, "source")
        holds.append(accuracy_bands.coverage(accuracy_bands.bands_left_out(seen, "source", properties, share)))
        modes = ((), *((("launch", mode),) for mode in ("graph", "loop", "process") if small))
        for network in ("", "infiniband", "ethernet"):
            for joined in ("mesh", "pcie", "switch"):
                for mode in modes:
                    machine = (("network", network), ("joined", joined), *mode)
                    text += line(start, seen, "source", machine, share, holds[-1][0], "  ")
    return text, holds


def measured_lines(seen_by_size):
    """Which GPUs were measured at which sizes."""
    text = ""
    for start, seen in zip(FROM, seen_by_size):
        for gpu, several in sorted({(s.gpu, s.several) for s in seen}):
            n = len({s.configuration for s in seen if (s.gpu, s.several) == (gpu, several)})
            text += f"  - {{from: {start}, gpu: {gpu}, several_nodes: {str(several).lower()}, configurations: {n}}}\n"
    return text


def board_lines(seen_by_size):
    """A band for each way to join GPUs, from boards left out; (coverage, width, p90) of each size."""
    text, holds = "", []
    for start, seen in zip(FROM, seen_by_size):
        share = accuracy_bands.share_for(seen, "board", ("joined", "several"), "board")
        holds.append(accuracy_bands.coverage(accuracy_bands.bands_left_out(seen, "board", ("joined", "several"), share)))
        for joined in sorted({s.joined for seen in seen_by_size for s in seen}):
            for several in (False, True):
                text += line(start, seen, "board", (("joined", joined), ("several", several)), share, holds[-1][0], "    ")
    return text, holds


SOURCES = ["| size | configurations | sources | median of \\|error\\| (%), each source left out | p90 (%) |",
           "|---|---|---|---|---|"]


def source_lines(rows):
    """Errors by size, each source left out."""
    out = list(SOURCES)
    for name, found, b in zip(NAMES, by_size(rows), range(len(NAMES))):
        errors = {b: leave_one_out.errors_of(rows).get(b, [])}
        out.append(f"| {name} | {len(errors[b])} | {len({s.source for s in found})} | {leave_one_out.figures(errors)} |")
    return out


def bands_table(holds_left_out, holds):
    return (["| size | left out | in the band (%) | median width (%) | p90 of the error (%) | width / p90 |",
             "|---|---|---|---|---|---|"] +
            [f"| {name} | {what} | {c:.1f} | {w:.1f} | {p:.1f} | {w / p:.2f} |"
             for what, found in (("each source", holds), ("each board", holds_left_out))
             for name, (c, w, p) in zip(NAMES, found)])


def collectives(busbar, fit_again):
    sources = [r for _, rows, _ in leave_one_out.sources_left_out(busbar) for r in rows]
    own, holds = kind_lines(by_size(sources))
    write_table("left out by source", source_lines(sources))
    text = ("# How far predicted collectives were off: the bands that commands print. Written by tools/write_accuracy.py\n"
            "name: collectives\n"
            'source: "data/measured/collectives.csv and collectives_more.csv, each source left out of the fits; docs/accuracy.md"\n'
            'fit: "measured / predicted - 1 by size, network, links between GPUs and launch mode; tools/accuracy_bands.py"\n'
            f"confidence: medium\nmeasured:\n{measured_lines(by_size(sources))}bands:\n{own}")
    if not fit_again:
        return text + kept("collectives")
    table, rows, boards = [], [], []
    for board, others, left_out, with_it in leave_one_out.boards_left_out(busbar):
        boards.append((left_out, with_it))
        table.append(leave_one_out.line_of(board, others, left_out, with_it))
        print(table[-1], flush=True)
        rows += left_out
    bands, holds_left_out = board_lines(by_size(rows))
    write_table("left out", leave_one_out.TITLE + table)
    write_table("left out by size", leave_one_out.by_size(boards))
    write_table("bands", bands_table(holds_left_out, holds))
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


def steps_line(experts, known, left_out, found):
    """Errors of rows with their series left out, and how many are in the band of all other series."""
    errors = sorted(abs(100 * math.expm1(-s.y)) for s, _, _, _ in left_out)
    inside = sum(low <= s.y <= high for s, _, low, high in left_out)
    return (f"| {'experts' if experts else 'dense'}, clocks {'known' if known else 'not known'} | {len(errors)} | "
            f"{len({s.source for s, _, _, _ in left_out})} | {statistics.median(errors):.1f} | {statistics.mean(errors):.1f} | "
            f"{leave_one_out.p90(errors):.1f} | {100 * math.expm1(found[0]):+.0f} to {100 * math.expm1(found[1]):+.0f} | "
            f"{100 * inside / len(errors):.0f} |")


def training(busbar):
    report = validated(busbar, "training", *STEPS, "--leave-out")
    with open(ROOT / "data/measured/training.csv", newline="") as f:
        series = {r["row_id"]: r["source_id"] for r in csv.DictReader(f)}
    rows = [dict(r, source=series[r["row_id"]]) for r in scored(report)]
    text = ("# How far predicted training steps were off: the bands that commands print. Written by tools/write_accuracy.py\n"
            "name: training\n"
            'source: "data/measured/training.csv, each series left out of the fits (busbar validate --leave-out); docs/accuracy.md"\n'
            'fit: "measured / predicted - 1 of each configuration; tools/accuracy_bands.py"\n'
            "confidence: medium\nbands:\n")
    table = ["| steps | configurations | series | median of \\|error\\| (%) | mean (%) | p90 (%) | band (%) | in the band (%) |",
             "|---|---|---|---|---|---|---|---|"]
    for experts in (False, True):
        seen = [accuracy_bands.Seen(r, r["without_source"]) for r in rows if (r["layers"] == "experts") == experts]
        share = accuracy_bands.share_for(seen, "source", ("known_clocks",), "source" if experts else "dense")
        left_out = list(accuracy_bands.bands_left_out(seen, "source", ("known_clocks",), share))
        held = accuracy_bands.coverage(left_out)[0]
        for known in (True, False):
            found = accuracy_bands.band_of(seen, "source", (("known_clocks", known),), share)
            text += (f"  - {{experts: {str(experts).lower()}, known_clocks: {str(known).lower()}, {ends(*found)}, {counts(seen)}, "
                     f"held_percent: {held:.1f}}}\n")
            table.append(steps_line(experts, known, [s for s in left_out if s[0].known_clocks == known], found))
    write_table("steps left out", table)
    pairs, ties = report["summary"]["layouts"], report["summary"]["ties"]
    return text + (f"layouts:\n  percent: {pairs['p90_percent']:.1f}\n  pairs: {pairs['pairs']}\n  jobs: {pairs['jobs']}\n"
                   '  source: "pairs of layouts of one job in the same rows: measured against predicted ratio of their times, '
                   'nine tenths; docs/models/plan.md"\n'
                   f"ties:\n  percent: {ties['percent']:.1f}\n  jobs: {ties['jobs']}\n  sources: {ties['sources']}\n"
                   f"  held_percent: {ties['held_percent']:.1f}\n  rows: {ties['tied']:g}\n"
                   '  source: "jobs with two or more layouts in the same rows: how much slower than the best prediction the '
                   'fastest is predicted, widened until sources left out are held; docs/models/plan.md"\n')


def ill_fitting(busbar, table, *more):
    """Classes whose bands in the program contain too few of the rows that count, or of sources left out."""
    found = validated(busbar, table, *more)["summary"]["bands"]
    return [f"{table}, {name}: {b[key]:.0f} % of the rows are in their bands{words}"
            for name, b in found.items() for key, words in (("coverage_percent", ""), ("held_percent", ", sources left out"))
            if b[key] < LEAST_HELD]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("busbar", help="the command to ask")
    parser.add_argument("--check", action="store_true", help="only ask whether the bands still hold")
    parser.add_argument("--quick", action="store_true", help="keep the bands of boards left out: no constant is fitted")
    parser.add_argument("--only", choices=["collectives", "training", "own-tables"],
                        help="one of the two files, or the table of what own tables do in docs/accuracy.md")
    args = parser.parse_args()
    asked = {"collectives": (lambda: collectives(args.busbar, not args.quick), ()),
             "training": (lambda: training(args.busbar), STEPS)}
    if args.only in (None, "own-tables") and not args.check:
        own_tables(args.busbar)
    bad = []
    for name, (make, more) in asked.items():
        if args.only not in (None, name):
            continue
        if args.check:
            bad += ill_fitting(args.busbar, name, *more)
        else:
            (FOLDER / f"{name}.yaml").write_text(make())
    if bad:
        raise SystemExit("; ".join(bad) + ": run tools/write_accuracy.py without --check")


if __name__ == "__main__":
    main()
