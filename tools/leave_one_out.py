#!/usr/bin/env python3
"""Fits the constants of NCCL's protocols without one board and predicts that board: tools/leave_one_out.py BUSBAR.

For each board of data/measured/collectives.csv the constants of its generation (catalog/protocols, the block
`fitted`) start from the file's own, sourced values and are fitted on the single-node configurations of the other
boards of that generation: one constant at a time, by factors, as long as cost() falls. A board of NVLink without such
others is predicted with the means of the constants fitted for the other generations with NVLink, and with the share of
bandwidth that NCCL's source counts for its generation. What networks and launches cost is not fitted again.

Prints two tables in Markdown: the error of each board with the constants as they are in the catalogue, and left out;
and the same by size, over all boards.
"""
import argparse
import csv
import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "data/measured/collectives.csv"
GENERATIONS = {
    "nccl-ampere": ["dgx-a100"],
    "nccl-blackwell": ["dgx-b200", "gb200-nvl72"],
    "nccl-cards": ["rtx2080ti-pcie", "rtx4070tis-pcie", "rtx4090-pcie", "rtxpro6000-pcie", "dgx-spark"],
    "nccl-hopper": ["dgx-h100", "dgx-h200", "gh200-4", "hgx-h100-4"],
    "nccl-volta": ["dgx-1v", "v100-pcie"],
    "rccl-cdna": ["mi300x-8", "mi355x-8"],
}
NVLINK = ("nccl-volta", "nccl-ampere", "nccl-hopper", "nccl-blackwell")  # one set of constants in NCCL's source
FACTORS = (1.5, 1.2, 1.07)
PASSES = 6
FARTHEST = math.log(1.6)  # a configuration that is farther off says nothing about the constants
LEAST_US = 0.05
START = 0.9
MIB = 1 << 20
BANDS = ("below 1 MiB", "1-64 MiB", "64 MiB-1 GiB", "1 GiB and more")


def band(size):
    return sum(size >= edge * MIB for edge in (1, 64, 1024))


def split(text):
    """A protocol file as its text without the block `fitted`, and the names and fitted values of that block."""
    head, _, tail = text.partition("\nfitted:\n")
    values = re.findall(r"^  (\w+): ([0-9.]+)(us)?$", tail, re.M)
    return head + "\n", {name: float(value) for name, value, _ in values}


def sourced(head, names):
    """The constants in the file before any fit; a share that it does not state is START."""
    out = {}
    for name in names:
        found = re.search(rf"^{name}: ([0-9.]+)(us)?$", head, re.M)
        out[name] = float(found[1]) if found else START
    return out


class Predictor:
    def __init__(self, busbar, folder):
        self.busbar, self.folder = busbar, pathlib.Path(folder)
        with open(DATA, newline="") as f:
            self.header, *self.rows = list(csv.reader(f))
        (self.folder / "protocols").mkdir()

    def rows_of(self, boards, generation, head, values, one_node):
        """Rows that count, as `busbar validate` predicts them with these constants."""
        block = "".join(f"  {k}: {v:.6g}{'' if k.startswith('share') else 'us'}\n" for k, v in values.items())
        text = f"{head}fitted:\n{block}  fit: \"left out\"\n  source: \"tools/leave_one_out.py\"\n  confidence: low\n"
        (self.folder / f"protocols/{generation}.yaml").write_text(text)
        node, nodes = self.header.index("node"), self.header.index("nodes")
        rows = [r for r in self.rows if r[node] in boards and (not one_node or r[nodes] == "1")]
        table = self.folder / "rows.csv"
        with open(table, "w", newline="") as f:
            csv.writer(f).writerows([self.header] + rows)
        run = subprocess.run([self.busbar, "validate", table, "--catalog", self.folder, "--json"],
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise SystemExit(run.stderr)
        return [r for r in json.loads(run.stdout)["rows"] if r["scored"]]

    def has_one_node(self, board):
        node, nodes = self.header.index("node"), self.header.index("nodes")
        return any(r[node] == board and r[nodes] == "1" for r in self.rows)

    def errors(self, *asked):
        """Errors per band: one per configuration."""
        return errors_of(self.rows_of(*asked))


def errors_of(rows):
    """Errors per size band: the median of each configuration."""
    found = {}
    for r in rows:
        found.setdefault((band(r["size_bytes"]), r["source_id"]), []).append(r["error_percent"])
    out = {}
    for (b, _), errors in found.items():
        out.setdefault(b, []).append(statistics.median(errors))
    return out


def cost(errors):
    """In percent: the mean over size bands of the mean |log(predicted / measured)|, each at most FARTHEST."""
    far = [[min(abs(math.log1p(e / 100)), FARTHEST) for e in of] for of in errors.values()]
    return 100 * statistics.mean(map(statistics.mean, far)) if far else 0.0


def allowed(values):
    """A send with flags takes no longer than one without, LL no longer than LL128, and none less than LEAST_US."""
    for where in ("scale_up", "server", "network"):
        steps = [values[n] for n in (f"ll_{where}", f"ll128_{where}", f"step_{where}") if n in values]
        if any(a > b for a, b in zip(steps, steps[1:])) or any(s < LEAST_US for s in steps):
            return False
    return True


def fit(predict, values):
    """Coordinate descent; `predict`: values -> cost."""
    best, least = dict(values), predict(values)
    for factor in FACTORS:
        for _ in range(PASSES):
            before = least
            for name in best:
                for step in (factor, 1 / factor):
                    trial = dict(best)
                    trial[name] *= step
                    if name.startswith("share"):
                        trial[name] = min(trial[name], 1.0)
                    if trial != best and allowed(trial) and (c := predict(trial)) < least:
                        best, least = trial, c
                        break
            if least > before * 0.99:
                break
    return best


def of_other_generations(generation, start, head):
    """`start` with the mean of what the other generations with NVLink were fitted to; shares that `head` states stay.

    A constant that is still as sourced in the catalogue was not moved by any row, and does not count."""
    files = [split((ROOT / f"catalog/protocols/{g}.yaml").read_text()) for g in NVLINK if g != generation]
    out = dict(start)
    for name in out:
        values = [fit[name] for text, fit in files if name in fit and fit[name] != sourced(text, [name])[name]]
        if values and not (name.startswith("share") and f"\n{name}: " in head):
            out[name] = statistics.mean(values)
    return out


def figures(errors):
    every = sorted(abs(e) for band_errors in errors.values() for e in band_errors)
    if not every:
        return "- | -"
    return f"{statistics.median(every):.1f} | {every[min(len(every) - 1, int(0.9 * len(every)))]:.1f}"


def boards_left_out(busbar, only=None):
    """(board, boards that it was fitted on, rows as predicted without it, errors with it) of each board."""
    with tempfile.TemporaryDirectory() as folder:
        predictor = Predictor(busbar, folder)
        for generation, boards in GENERATIONS.items():
            head, now = split((ROOT / f"catalog/protocols/{generation}.yaml").read_text())
            for board in boards:
                if only and board not in only:
                    continue
                others = [b for b in boards if b != board]
                left_out = sourced(head, now)
                fitted_on = [b for b in others if predictor.has_one_node(b)]
                if fitted_on:
                    left_out = fit(lambda v: cost(predictor.errors(fitted_on, generation, head, v, True)), left_out)
                elif generation in NVLINK:
                    left_out = of_other_generations(generation, left_out, head)
                with_it = predictor.errors([board], generation, head, now, False)
                yield board, fitted_on, predictor.rows_of([board], generation, head, left_out, False), with_it


TITLE = ["| board left out | configurations | fitted on | median of \\|error\\| (%) | p90 (%) | in the catalogue: median (%) | p90 (%) |",
         "|---|---|---|---|---|---|---|"]


def line_of(board, fitted_on, rows, with_it):
    count = sum(len(e) for e in with_it.values())
    basis = ", ".join(fitted_on) or "none of its generation: means of the other generations"
    return f"| {board} | {count} | {basis} | {figures(errors_of(rows))} | {figures(with_it)} |"


def by_size(boards):
    """Lines of a table: per size band, over all boards, each one's errors left out and as in the catalogue."""
    out = ["| size | configurations | median of \\|error\\| (%), each board left out | p90 (%) | in the catalogue: median (%) | p90 (%) |",
           "|---|---|---|---|---|---|"]
    for b, name in enumerate(BANDS):
        left_out = {b: [e for rows, _ in boards for e in errors_of(rows).get(b, [])]}
        with_it = {b: [e for _, errors in boards for e in errors.get(b, [])]}
        out.append(f"| {name} | {len(left_out[b])} | {figures(left_out)} | {figures(with_it)} |")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("busbar", help="the command to ask")
    parser.add_argument("--board", action="append", help="only these boards")
    args = parser.parse_args()
    print("\n".join(TITLE))
    boards = []
    for board, fitted_on, rows, with_it in boards_left_out(args.busbar, args.board):
        boards.append((rows, with_it))
        print(line_of(board, fitted_on, rows, with_it), flush=True)
    print("\n".join(["", *by_size(boards)]))


def share_within(values, share=0.9):
    """The middle `share` of the values: its ends, between neighbours in proportion."""
    ordered = sorted(values)

    def at(q):
        place = q * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    return at((1 - share) / 2), at((1 + share) / 2)


if __name__ == "__main__":
    main()
