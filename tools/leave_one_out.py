#!/usr/bin/env python3
"""Fits the constants of NCCL's protocols without one board, or one source, and predicts it: tools/leave_one_out.py BUSBAR.

For each board of data/measured/collectives.csv the constants of its generation (catalog/protocols, the block
`fitted`) start from the file's own, sourced values and are fitted on the single-node configurations of the other
boards of that generation: shares on the rows from 1 GiB on, then times on the others; one constant at a time, by factors, as long
as cost() and surprise() together fall. A board of NVLink without such
others is predicted with the means of the constants fitted for the other generations with NVLink, and with the share of
bandwidth that NCCL's source counts for its generation. What networks and launches cost is not fitted again.

A source is who measured: a repository, a thread, a page (column `source`). Without it, the constants of the boards that it
measured in one node are fitted as above on all other sources, and those of the networks that it measured (catalog/transports)
on the several-node configurations of all other sources over such networks, from the median of the other networks. With fewer
than LEAST configurations of others, what the fit starts from stays. Rows of collectives_more.csv take part.

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
# catalog/transports with rows, by kind: NICs that write into the memory of remote GPUs, and transports with software between
NETWORKS = (("infiniband", "roce", "slingshot", "efa"), ("efa-v1", "tcpx", "tcpxo"))
FACTORS = {True: (1.1, 1.03, 1.01), False: (1.6, 1.25, 1.1)}  # that a fit tries: of shares, of times
PASSES = 6
FARTHEST = math.log(1.6)  # a configuration that is farther off has another cause
BEYOND = 0.25  # what counts of an error beyond that: enough to lead a fit that starts there
WIDTH = {True: 0.1, False: 0.7}  # how far constants are from what a fit starts from, as logarithms: shares, times
LINKS_US = 0.7  # what the links of a step take, next to which its time counts
PRIOR = 4  # percent of error that being one width away weighs against one source; less against more
LEAST_US = 0.05
START = 0.9
# Boards whose NICs are behind the CPU and slower than their network: nothing about its share of the rate follows from them.
BEHIND_CPU = ("hgx-a100-4",)
LEAST = 3  # configurations of a fit
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
        found = re.search(rf"^{name}: ([0-9.]+)(us)?( +#.*)?$", head, re.M)
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
    def __init__(self, busbar, folder, tables=(DATA, UNSEEN)):
        self.busbar, self.folder, self.rows = busbar, pathlib.Path(folder), []
        for table in tables:
            with open(table, newline="") as f:
                self.header, *rows = list(csv.reader(f))
            self.at = {name: i for i, name in enumerate(self.header)}
            self.rows += [r for r in rows if r[self.at["use"]] == "accuracy"]
        for kind in ("protocols", "transports"):
            (self.folder / kind).mkdir(exist_ok=True)

    def cell(self, row, column):
        return row[self.at[column]]

    def distinct(self, rows):
        """One row of each configuration and factor of four in size: in place and out of place have one prediction."""
        size = {id(r): int(self.cell(r, "size_bytes")) for r in rows}
        return list({(self.cell(r, "source_id"), size[id(r)].bit_length() // 2): r for r in rows}.values())

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

    def is_large(self, row):
        return int(self.cell(row, "size_bytes")) >= 1024 * MIB

    def rows_of(self, boards, generation, head, values):
        """Rows that count, as `busbar validate` predicts them with these constants."""
        rows = [r for r in self.rows if self.cell(r, "node") in boards]
        return self.predicted(rows, {f"protocols/{generation}": (head, values)})

    def to_fit(self, boards, generation, head, values, large):
        """The same of one node, as a fit asks for them."""
        rows = [r for r in self.distinct(self.rows) if self.cell(r, "node") in boards and self.cell(r, "nodes") == "1"]
        return self.predicted([r for r in rows if self.is_large(r) == large], {f"protocols/{generation}": (head, values)})

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


def loss(error_percent):
    far = abs(math.log1p(error_percent / 100))
    return min(far, FARTHEST) + BEYOND * max(0, far - FARTHEST)


def cost(rows):
    """In percent: the mean over size bands of loss(), where a source weighs as the root of its number of configurations."""
    found = {}
    for r in rows:
        of = found.setdefault(band(r["size_bytes"]), {}).setdefault(r["source"], {})
        of.setdefault(r["source_id"], []).append(r["error_percent"])
    bands = []
    for sources in found.values():
        far = [([loss(statistics.median(e)) for e in of.values()], math.sqrt(len(of))) for of in sources.values()]
        bands.append(sum(w * statistics.mean(e) for e, w in far) / sum(w for _, w in far))
    return 100 * statistics.mean(bands) if bands else 0.0


def surprise(values, start, sources):
    """In percent: what it costs constants to be far from what the fit starts from, with so many sources."""
    def far(name):
        share = name.startswith("share")
        links = 0 if share else LINKS_US
        return math.log((values[name] + links) / (start[name] + links)) / WIDTH[share]

    return PRIOR / max(1, sources) * sum(far(n) ** 2 for n in values)


def moved(values, name, factor):
    """`values` with one of them times `factor`. A share is at most 1, a time at least LEAST_US. A send with flags takes no longer
    than one without, LL no longer than LL128: those that would are moved along."""
    out = dict(values)
    out[name] = min(1.0, values[name] * factor) if name.startswith("share") else max(LEAST_US, values[name] * factor)
    kind, _, where = name.partition("_")
    order = [n for n in (f"ll_{where}", f"ll128_{where}", f"step_{where}") if n in values]
    if kind != "share" and name in order:
        at = order.index(name)
        out.update({n: min(out[n], out[name]) for n in order[:at]})
        out.update({n: max(out[n], out[name]) for n in order[at:]})
    return out


def descend(total, start, names, factors):
    """Coordinate descent over the constants `names`."""
    best, least = dict(start), total(start)
    for factor in factors:
        for _ in range(PASSES):
            before = least
            for name in names:
                for step in (factor, 1 / factor):
                    trial = moved(best, name, step)
                    if trial != best and (c := total(trial)) < least:
                        best, least = trial, c
                        break
            if least > before * 0.99:
                break
    return best


def fit(predict, start):
    """Shares on the rows from 1 GiB on, where times do not count, and times on all others. `predict`: values, whether large
    sizes are asked for -> rows."""
    def total(values, large):
        rows = predict(values, large)
        return cost(rows) + surprise(values, start, len({r["source"] for r in rows}))

    best = dict(start)
    for large in (True, False, True):
        names = [n for n in start if n.startswith("share") == large]
        best = descend(lambda values: total(values, large), best, names, FACTORS[large])
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
        predictor = Predictor(busbar, folder, [DATA])
        for generation, boards in GENERATIONS.items():
            head, now = split((ROOT / f"catalog/protocols/{generation}.yaml").read_text())
            for board in boards:
                if only and board not in only:
                    continue
                others = [b for b in boards if b != board]
                left_out = sourced(head, now)
                fitted_on = [b for b in others if predictor.has_one_node(b)]
                if fitted_on:
                    left_out = fit(lambda v, large: predictor.to_fit(fitted_on, generation, head, v, large), left_out)
                elif generation in NVLINK:
                    left_out = of_other_generations(generation, left_out, head)
                with_it = predictor.errors([board], generation, head, now)
                yield board, fitted_on, predictor.rows_of([board], generation, head, left_out), with_it


class Fitted:
    """A file of constants, and the rows that it is fitted on."""

    def __init__(self, name, predictor, rows, start):
        self.name, self.predictor, self.rows = name, predictor, predictor.distinct(rows)
        self.head, self.now = split((ROOT / f"catalog/{name}.yaml").read_text())
        self.start, self.known = start(self), {}

    def without(self, source):
        """The constants that the rows of all other sources give; None: they are too few. `source` None: of all."""
        cell = self.predictor.cell
        if len({cell(r, "source_id") for r in self.rows if source_of(cell(r, "source")) != source}) < LEAST:
            return None
        return fit(lambda values, large: [r for r in self.trial(values, large) if r["source"] != source], self.start)

    def trial(self, values, large):
        key = (large, *values.items())
        if key not in self.known:
            rows = [r for r in self.rows if self.predictor.is_large(r) == large
                    and not (large and self.predictor.cell(r, "node") in BEHIND_CPU)]
            self.known[key] = self.predictor.predicted(rows, {self.name: (self.head, values)}) if rows else []
        return self.known[key]


def network_of(predictor, row):
    """The file of catalog/transports of a row over several nodes."""
    fabric = predictor.cell(row, "fabric")
    if fabric == "efa":
        slow = float(predictor.cell(row, "nic_gbps") or 0) < 200 and float(predictor.cell(row, "nics_per_node") or 0) <= 4
        return "efa-v1" if slow else "efa"
    return {"ib": "infiniband", "unknown": "roce"}.get(fabric, fabric)


def middle_of_networks(name):
    """What the other networks were fitted to: the median of each share, and of each time among those of its kind."""
    kind = next(k for k in NETWORKS if name in k)
    fitted = {n: split((ROOT / f"catalog/transports/{n}.yaml").read_text())[1] for k in NETWORKS for n in k if n != name}
    return {c: statistics.median([f[c] for n, f in fitted.items() if n in kind or c.startswith("share")])
            for c in fitted["roce" if name != "roce" else "infiniband"]}


def start_of_network(fitted, name):
    """The middle of the networks, and as sourced what the others do not have."""
    middle = middle_of_networks(name)
    return middle | {c: v for c, v in sourced(fitted.head, fitted.now).items() if c not in middle}


def constants_of(predictor):
    """Every file of constants: its rows, and what its fit starts from."""
    one = [r for r in predictor.rows if predictor.cell(r, "nodes") == "1"]
    several = [r for r in predictor.rows if predictor.cell(r, "nodes") != "1"]
    out = []
    for generation, boards in GENERATIONS.items():
        rows = [r for r in one if predictor.cell(r, "node") in boards]
        out.append((generation, Fitted(f"protocols/{generation}", predictor, rows, lambda f: sourced(f.head, f.now))))
    for network in (n for kind in NETWORKS for n in kind):
        rows = [r for r in several if network_of(predictor, r) == network]
        out.append((None, Fitted(f"transports/{network}", predictor, rows, lambda f, n=network: start_of_network(f, n))))
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


def print_fits(busbar):
    """The constants that the rows of all sources give, next to those in the catalogue."""
    with tempfile.TemporaryDirectory() as folder:
        for _, fitted in constants_of(Predictor(busbar, folder)):
            values = fitted.without(None) or fitted.now
            far = [cost([r for large in (True, False) for r in fitted.trial(v, large)]) for v in (fitted.now, values)]
            print(f"{fitted.name}: cost {far[0]:.2f} -> {far[1]:.2f}")
            print("".join(f"  {k}: {fitted.now[k]:g} -> {v:.3g}\n" for k, v in values.items()), end="", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("busbar", help="the command to ask")
    parser.add_argument("--board", action="append", help="only these boards")
    parser.add_argument("--by", choices=["board", "source"], default="board", help="what is left out")
    parser.add_argument("--source", action="append", help="only these sources")
    parser.add_argument("--fit", action="store_true", help="print what the rows of all sources give, for the catalogue")
    args = parser.parse_args()
    if args.fit:
        print_fits(args.busbar)
        return
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
