#!/usr/bin/env python3
"""Fits the constants of NCCL's protocols without one board, or one source, and predicts it: tools/leave_one_out.py BUSBAR.

For each board of data/measured/collectives.csv the constants of its generation (catalog/protocols, the block
`fitted`) start from the file's own, sourced values and are fitted on the single-node configurations of the other
boards of that generation: one constant at a time, by factors, as long as cost() falls. A board of NVLink without such
others is predicted with the means of the constants fitted for the other generations with NVLink, and with the share of
bandwidth that NCCL's source counts for its generation. What networks and launches cost is not fitted again.

A source is who measured: a repository, a thread, a page (column `source`). Without it, the constants of the boards that it
measured in one node are fitted as above on all other sources, and those of the networks that it measured (catalog/transports)
on the several-node configurations of all other sources over such networks, from the mean of the other networks. Without
any other source a network has that mean. Rows of collectives_more.csv are in no fit: the catalogue's constants left them out.

Prints tables in Markdown: the error of each board with the constants as they are in the catalogue, and left out, and the
same by size, over all boards and over all sources.
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
UNSEEN = ROOT / "data/measured/collectives_more.csv"
GENERATIONS = {
    "nccl-ampere": ["dgx-a100"],
    "nccl-blackwell": ["dgx-b200", "gb200-nvl72"],
    "nccl-cards": ["rtx2080ti-pcie", "rtx4070tis-pcie", "rtx4090-pcie", "rtxpro6000-pcie", "dgx-spark"],
    "nccl-hopper": ["dgx-h100", "dgx-h200", "gh200-4", "hgx-h100-4"],
    "nccl-volta": ["dgx-1v", "v100-pcie"],
    "rccl-cdna": ["mi300x-8", "mi355x-8"],
}
NVLINK = ("nccl-volta", "nccl-ampere", "nccl-hopper", "nccl-blackwell")  # one set of constants in NCCL's source
NETWORKS = ("efa-v1", "efa", "infiniband", "roce", "slingshot", "tcpx", "tcpxo")  # catalog/transports with rows
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


def text_of(head, values):
    """A file of constants with these fitted values."""
    block = "".join(f"  {k}: {v:.6g}{'' if k.startswith('share') else 'us'}\n" for k, v in values.items())
    return f"{head}fitted:\n{block}  fit: \"left out\"\n  source: \"tools/leave_one_out.py\"\n  confidence: low\n"


def source_of(text):
    """Who measured: "owner/repository", "owner/repository#thread", or a page."""
    found = re.match(r"[\w.-]+/[\w.-]+(#\d+)?", re.sub(r"https://|github\.com/", "", text))
    return found[0] if found else text


class Predictor:
    def __init__(self, busbar, folder, table=DATA):
        self.busbar, self.folder = busbar, pathlib.Path(folder)
        with open(table, newline="") as f:
            self.header, *rows = list(csv.reader(f))
        self.at = {name: i for i, name in enumerate(self.header)}
        self.rows = [r for r in rows if r[self.at["use"]] == "accuracy"]
        for kind in ("protocols", "transports"):
            (self.folder / kind).mkdir(exist_ok=True)

    def cell(self, row, column):
        return row[self.at[column]]

    def predicted(self, rows, files):
        """`rows`, as `busbar validate` predicts them with the constants {file of the catalogue: (head, values)}."""
        for name, (head, values) in files.items():
            (self.folder / f"{name}.yaml").write_text(text_of(head, values))
        table = self.folder / "rows.csv"
        with open(table, "w", newline="") as f:
            csv.writer(f).writerows([self.header] + rows)
        run = subprocess.run([self.busbar, "validate", table, "--catalog", self.folder, "--json"],
                             capture_output=True, text=True, check=False)
        for name in files:
            (self.folder / f"{name}.yaml").unlink()
        if run.returncode != 0:
            raise SystemExit(run.stderr)
        out = json.loads(run.stdout)["rows"]
        for row, found in zip(rows, out):
            found["source"], found["launch"] = source_of(self.cell(row, "source")), self.cell(row, "launch")
        return [r for r in out if r["scored"]]

    def rows_of(self, boards, generation, head, values, one_node):
        """Rows that count, as `busbar validate` predicts them with these constants."""
        rows = [r for r in self.rows
                if self.cell(r, "node") in boards and (not one_node or self.cell(r, "nodes") == "1")]
        return self.predicted(rows, {f"protocols/{generation}": (head, values)})

    def has_one_node(self, board):
        return any(self.cell(r, "node") == board and self.cell(r, "nodes") == "1" for r in self.rows)

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


def p90(ordered):
    return ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]


def figures(errors):
    every = sorted(abs(e) for band_errors in errors.values() for e in band_errors)
    return f"{statistics.median(every):.1f} | {p90(every):.1f}" if every else "- | -"


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


class Fitted:
    """A file of constants, and the rows that it is fitted on."""

    def __init__(self, name, predictor, rows, start):
        self.name, self.predictor, self.rows = name, predictor, rows
        self.head, self.now = split((ROOT / f"catalog/{name}.yaml").read_text())
        self.start, self.known = start(self), {}

    def without(self, source):
        """The constants that the rows of all other sources give; None: there are no others."""
        if all(source_of(self.predictor.cell(r, "source")) == source for r in self.rows):
            return None
        return fit(lambda values: cost(errors_of([r for r in self.trial(values) if r["source"] != source])), self.start)

    def trial(self, values):
        key = tuple(values.items())
        if key not in self.known:
            self.known[key] = self.predictor.predicted(self.rows, {self.name: (self.head, values)})
        return self.known[key]


def network_of(predictor, row):
    """The file of catalog/transports of a row over several nodes."""
    fabric = predictor.cell(row, "fabric")
    if fabric == "efa":
        slow = float(predictor.cell(row, "nic_gbps") or 0) < 200 and float(predictor.cell(row, "nics_per_node") or 0) <= 4
        return "efa-v1" if slow else "efa"
    return {"ib": "infiniband", "unknown": "roce"}.get(fabric, fabric)


def mean_of_networks(name):
    """What the other networks were fitted to: the geometric mean of each constant."""
    files = [split((ROOT / f"catalog/transports/{n}.yaml").read_text())[1] for n in NETWORKS if n != name]
    return {k: statistics.geometric_mean([f[k] for f in files]) for k in files[0]}


def constants_of(predictor):
    """Every file of constants: its rows, and what its fit starts from."""
    one = [r for r in predictor.rows if predictor.cell(r, "nodes") == "1"]
    several = [r for r in predictor.rows if predictor.cell(r, "nodes") != "1"]
    out = []
    for generation, boards in GENERATIONS.items():
        rows = [r for r in one if predictor.cell(r, "node") in boards]
        out.append((generation, Fitted(f"protocols/{generation}", predictor, rows, lambda f: sourced(f.head, f.now))))
    for network in NETWORKS:
        rows = [r for r in several if network_of(predictor, r) == network]
        out.append((None, Fitted(f"transports/{network}", predictor, rows, lambda f, n=network: mean_of_networks(n))))
    return out


def sources_left_out(busbar, only=None):
    """(source, rows as predicted without it, rows with the catalogue) of each source, and the rows in no fit."""
    with tempfile.TemporaryDirectory() as folder:
        predictor = Predictor(busbar, folder)
        every = constants_of(predictor)
        for source in sorted({source_of(predictor.cell(r, "source")) for r in predictor.rows}):
            if only and source not in only:
                continue
            files = {}
            for generation, fitted in every:
                if not any(source_of(predictor.cell(r, "source")) == source for r in fitted.rows):
                    continue
                values = fitted.without(source)
                if values is None and generation in NVLINK:
                    values = of_other_generations(generation, fitted.start, fitted.head)
                files[fitted.name] = (fitted.head, values or fitted.start)
            rows = [r for r in predictor.rows if source_of(predictor.cell(r, "source")) == source]
            yield source, predictor.predicted(rows, files), predictor.predicted(rows, {})
        unseen = Predictor(busbar, folder, UNSEEN)
        rows = unseen.predicted(unseen.rows, {})
        for source in sorted({r["source"] for r in rows}):
            yield source, [r for r in rows if r["source"] == source], []


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


def print_sources(busbar, only):
    rows_of_all = []
    print("\n".join(["| source left out | configurations | median of \\|error\\| (%) | p90 (%) | in the catalogue: median (%) | p90 (%) |",
                     "|---|---|---|---|---|---|"]))
    for source, rows, now in sources_left_out(busbar, only):
        rows_of_all += rows
        count = sum(len(e) for e in errors_of(rows).values())
        print(f"| {source} | {count} | {figures(errors_of(rows))} | {figures(errors_of(now or rows))} |", flush=True)
    print("\n".join(["", *by_size([(rows_of_all, {})])]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("busbar", help="the command to ask")
    parser.add_argument("--board", action="append", help="only these boards")
    parser.add_argument("--by", choices=["board", "source"], default="board", help="what is left out")
    parser.add_argument("--source", action="append", help="only these sources")
    args = parser.parse_args()
    if args.by == "source" or args.source:
        print_sources(args.busbar, args.source)
        return
    print("\n".join(TITLE))
    boards = []
    for board, fitted_on, rows, with_it in boards_left_out(args.busbar, args.board):
        boards.append((rows, with_it))
        print(line_of(board, fitted_on, rows, with_it), flush=True)
    print("\n".join(["", *by_size(boards)]))


if __name__ == "__main__":
    main()
