#!/usr/bin/env python3
"""Scores `busbar expect` on published tables with a fault put in by arithmetic, and writes the table of docs/doctor.md.

    tools/perturbed_tables.py BUSBAR [--check | --list | --least PERCENT]

No engine of Busbar has a part in the tables: each is a healthy one of data/measured/collectives.csv (six sizes or more, up to 64 MiB at
least) whose times a formula changes. FAULTS says the formulas and which causes are right. The healthy tables get noise alone, of 3 to
8 %. Sources are in two parts by the SHA-256 of their names: tables of one third, with other random numbers, are held out from tuning.
--list prints every table; --part NAME judges one part and writes nothing; --check writes nothing and exits 1 if the page differs.
--least judges a third of the tables, writes nothing, and exits 1 if fewer are right first or a name at fail is wrong.
"""
import collections
import concurrent.futures
import csv
import hashlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from judge_measured import machine, ranks, settings
from page_section import write_section

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/doctor.md"
BEGIN, END = "<!-- perturbed: tools/perturbed_tables.py -->\n", "<!-- end of perturbed -->\n"
MIB = 1 << 20
PARTS = {"worked on": 39, "held out": 52771}  # seeds
WORKERS = 2
PART_OF_RAIL = {"slow-nic", "slow-cable", "slow-nic-slot", "slow-switch"}
NETWORK = {"fabric-misconfigured", "collapse"}


def capped(rows, gbps, latency_us=0.0):
    """No more bus bandwidth than `gbps`, and each time longer by a latency."""
    return [(size, max(us, us * bus / gbps) + latency_us) for size, us, bus in rows]


def best(rows):
    return max(bus for _, _, bus in rows)


def stepped(rows, rng):
    middle = rows[rng.randrange(len(rows) // 3, 2 * len(rows) // 3)][0]
    return [(s, us * (3 if middle <= s <= 4 * middle else 1)) for s, us, _ in rows]


# name: several nodes?, formula, causes that are right
FAULTS = {
    "sockets": (True, lambda r, g: capped(r, g.uniform(2, 5), 30), {"tcp-fallback"}),
    "no GPUDirect": (True, lambda r, g: capped(r, best(r) * g.uniform(0.3, 0.5), 8), {"no-gpudirect"}),
    "one NIC of eight": (True, lambda r, g: capped(r, best(r) / 8), {"single-rail"}),
    "a hidden slow NIC": (True, lambda r, g: capped(r, best(r) * g.choice((0.25, 0.5))), PART_OF_RAIL),
    "all NICs slow": (True, lambda r, g: capped(r, best(r) * g.choice((0.25, 0.5))), NETWORK),
    "collapse above a size": (True, lambda r, g: [(s, us * (4 if s >= 16 * MIB else 1)) for s, us, _ in r], NETWORK),
    "a step at some sizes": (True, stepped, NETWORK),
    "lost packets": (True, lambda r, g: [(s, us * (1 + (g.expovariate(0.7) if s > MIB else 0))) for s, us, _ in r], NETWORK),
    "peer access off": (False, lambda r, g: capped(r, g.uniform(10, 20), 15), {"p2p-disabled"}),
    "half of the NVLinks of a GPU": (False, lambda r, g: capped(r, best(r) / 2), {"slow-gpu", "slow-nvlink", "slow-nvswitch"}),
    "healthy": (None, lambda r, g: [(s, us) for s, us, _ in r], set()),
}


def base_tables():
    """Healthy tables: rows (size, us, bus GB/s) by configuration, with a row that describes the machine."""
    found = collections.defaultdict(dict)
    about = {}
    with open(ROOT / "data/measured/collectives.csv", newline="") as file:
        for row in csv.DictReader(file):
            timed = float(row["busbw_GBps"] or 0) > 0 and float(row["time_us"] or 0) > 0
            usable = timed and row["use"] == "accuracy" and row["size_known"] == "yes"
            if usable and row["collective"] in ("all_reduce", "all_gather", "reduce_scatter"):
                key = row["source_id"], row["collective"]
                found[key].setdefault(int(row["size_bytes"]), (float(row["time_us"]), float(row["busbw_GBps"])))
                about[key] = row
    for key, sizes in found.items():
        row = about[key]
        if len(sizes) >= 6 and max(sizes) >= 64 * MIB and int(row["ranks_per_gpu"] or 1) == 1:
            cluster, why = machine(row)
            if cluster and not why:
                yield row, cluster, [(s, *sizes[s]) for s in sorted(sizes)]


def judged(busbar, row, cluster, times):
    """The place of a cause by rule, the rule that is named at fail, and the verdict."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "t.csv"
        path.write_text("size_bytes,time_us\n" + "".join(f"{s},{us:.2f}\n" for s, us in times))
        done = subprocess.run([busbar, "expect", str(path), "--cluster", cluster, "--collective", row["collective"], "--json",
                               *ranks(row, busbar, cluster), *settings(row)], capture_output=True, text=True, cwd=ROOT)
    if not done.stdout.startswith("{"):
        return None
    answer = json.loads(done.stdout)
    finding = (answer["findings"] or [{"candidates": [], "severity": "", "rule": None}])[0]
    places = {}
    for c in finding["candidates"]:
        places.setdefault(c["rule"], c["rank"])
    at_fail = finding["rule"] if finding["severity"] == "fail" else None
    return answer["verdict"], places, at_fail


def part_of(row):
    return "held out" if hashlib.sha256(row["source_id"].encode()).digest()[0] % 3 == 0 else "worked on"


def drawn(part, share):
    """Tables of a part, one of `share`: the fault, the causes that are right, and what judged() takes."""
    rng = random.Random(PARTS[part])
    bases = [b for b in base_tables() if part_of(b[0]) == part]
    for name, (several, fault, right) in FAULTS.items():
        fitting = [b for b in bases if several is None or (int(b[0]["nodes"] or 1) > 1) == several]
        for _ in range((60 if name == "healthy" else 6) // share):
            row, cluster, rows = fitting[rng.randrange(len(fitting))]
            noise = rng.uniform(0.03, 0.08) if name == "healthy" else 0.03
            yield name, right, row, cluster, [(s, us * rng.lognormvariate(0, noise)) for s, us in fault(rows, rng)]


def tables(busbar, part, share=1):
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        asked = [(name, right, row, pool.submit(judged, busbar, row, cluster, times))
                 for name, right, row, cluster, times in drawn(part, share)]
        for name, right, row, answer in asked:
            got = answer.result()
            if "--list" in sys.argv:
                print(name, row["source_id"], row["collective"], got, flush=True)
            if got:
                yield name, right, *got


def counted(busbar, part, share=1):
    counts = collections.defaultdict(collections.Counter)
    for name, right, verdict, places, at_fail in tables(busbar, part, share):
        place = min((places[r] for r in right if r in places), default=99)
        counts[name].update({"tables": 1, "low": verdict == "low", "first": place == 1, "three": place <= 3,
                             "wrong": at_fail is not None and at_fail not in right})
    return counts


def enough(counts, percent):
    """Whether so many of the faults are right first, and no name at fail is wrong."""
    faults = [c for name, c in counts.items() if name != "healthy"]
    first, n = (sum(c[key] for c in faults) for key in ("first", "tables"))
    wrong = sum(c["wrong"] for c in counts.values())
    print(f"{n} tables with a fault: {first} right first; {wrong} wrong at fail")
    return 100 * first >= percent * n and wrong == 0


def table_of(part, counts):
    out = ["| fault | tables | low | first | among three | wrong at fail |", "|---|---|---|---|---|---|"]
    total = collections.Counter()
    for name, c in counts.items():
        first = "-" if name == "healthy" else c["first"]
        out.append(f"| {name} | {c['tables']} | {c['low']} | {first} | {first if first == '-' else c['three']} | {c['wrong']} |")
        if name != "healthy":
            total.update(c)
    n = total["tables"]
    head = (f"{part.capitalize()}, {n} tables with a fault: right first {100 * total['first'] / n:.0f} %, among three "
            f"{100 * total['three'] / n:.0f} %, wrong at fail {total['wrong']}. {counts['healthy']['tables']} healthy: "
            f"{counts['healthy']['wrong']} at fail.")
    return head + "\n\n" + "\n".join(out) + "\n"


def main():
    busbar = sys.argv[1]
    if "--least" in sys.argv:
        sys.exit(0 if enough(counted(busbar, "worked on", 3), float(sys.argv[sys.argv.index("--least") + 1])) else 1)
    asked = [sys.argv[sys.argv.index("--part") + 1]] if "--part" in sys.argv else list(PARTS)
    text = "\n".join(table_of(part, counted(busbar, part)) for part in asked)
    if "--list" in sys.argv or "--part" in sys.argv:
        print(text)
    else:
        write_section(PAGE, BEGIN, END, text, "--check" in sys.argv, "tools/perturbed_tables.py")


if __name__ == "__main__":
    main()
