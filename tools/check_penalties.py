#!/usr/bin/env python3
"""Compares fluids with the penalties of catalog/penalties with packets, on ten cases that are not tabulated.

    tools/check_penalties.py BUSBAR [SEEDS]      SEEDS: 11 to 15 unless given, such as 11,12

Prints a row of docs/models/packet.md per case: errors against packets in percent, without > with penalties. The flows of
all seeds are taken together, since a class has a few hundred flows a seed, of which two or three make its 99th percentile.
Takes about three minutes of processor time.
"""
import json
import math
import pathlib
import subprocess
import sys

FABRIC = pathlib.Path(__file__).resolve().parents[1] / "bench/cases/ls128.yaml"
CASES = (  # words, --set of the machine, sizes, load, transport, balance
    ("64 hosts", ["nodes=64"], "websearch", 0.4, "nscc", "spray"),
    ("200 Gb/s", ["fabric.link.rate=200Gb/s"], "websearch", 0.55, "dcqcn", "ecmp"),
    ("256 hosts", ["nodes=256"], "websearch", 0.45, "dcqcn", "spray"),
    ("cables of 1 us", ["fabric.link.latency=1us"], "websearch", 0.6, "nscc", "ecmp"),
    ("128 hosts", [], "hadoop", 0.5, "dcqcn", "ecmp"),
    ("32 hosts", ["nodes=32"], "websearch", 0.7, "ib", "ecmp"),
    ("800 Gb/s", ["fabric.link.rate=800Gb/s"], "websearch", 0.65, "nscc", "spray"),
    ("half the uplinks", ["fabric.oversubscription=2"], "websearch", 0.3, "dcqcn", "ecmp"),
    ("64 hosts", ["nodes=64"], "hadoop", 0.3, "nscc", "spray"),
    ("96 hosts at 100 Gb/s", ["nodes=96", "fabric.link.rate=100Gb/s"], "websearch", 0.5, "ib", "ecmp"))
CLASSES = ((0, 30e3), (30e3, 300e3), (300e3, 3e6), (3e6, math.inf))


def p99(times):
    return sorted(times)[math.ceil(0.99 * len(times) - 1e-9) - 1]


def mean(times):
    return sum(times) / len(times)


def run(busbar, case, seed, *more):
    _, machine, sizes, load, transport, balance = case
    command = [busbar, "flows", FABRIC, "--sizes", sizes, "--load", load, "--transport", transport, "--lb", balance,
               "--seed", seed, "--json", *(word for m in machine for word in ("--set", m)), *more]
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def classes_of(flows, key):
    return [[f[key] for f in flows if low <= f["bytes"] < high] for low, high in CLASSES]


def errors(busbar, case, seeds):
    """Of all flows (mean), then per class (mean, p99): (without, with) penalties."""
    fluid, packets, factor = [[] for _ in CLASSES], [[] for _ in CLASSES], [{"mean": [], "p99": []} for _ in CLASSES]
    for seed in seeds:
        result = run(busbar, case, seed)
        times = classes_of(result["flows"], "fct_us")
        for row in result["fct_by_size"]:  # with penalties: by how much they are longer
            c = [low for low, _ in CLASSES].index(row["from_bytes"])
            factor[c]["mean"].append(row["fct_us"]["mean"] / mean(times[c]))
            factor[c]["p99"].append(row["fct_us"]["p99"] / p99(times[c]))
        for c, (mine, theirs) in enumerate(zip(times, classes_of(run(busbar, case, seed, "--engine", "packet")["flows"],
                                                                 "received_us"))):
            fluid[c] += mine
            packets[c] += theirs
    error = lambda have, want: 100 * (have / want - 1)
    whole, all_fluid = mean(sum(packets, [])), sum(fluid, [])
    longer = sum(mean(factor[c]["mean"]) * sum(f) for c, f in enumerate(fluid) if f)
    out = [(error(mean(all_fluid), whole), error(longer / len(all_fluid), whole))]
    for c in range(len(CLASSES)):
        for key, of in (("mean", mean), ("p99", p99)):
            if not fluid[c]:
                out.append(None)
                continue
            without = of(fluid[c])
            out.append((error(without, of(packets[c])), error(mean(factor[c][key]) * without, of(packets[c]))))
    return out


def main(busbar, seeds):
    print("| machine | sizes, load | transport | mean | <30 kB mean | p99 | <300 kB mean | p99 | <3 MB mean | p99 "
          "| larger mean | p99 |\n|" + "---|" * 12)
    for case in CASES:
        cells = [f"{e[0]:+.0f} > {e[1]:+.0f}" if e else "" for e in errors(busbar, case, seeds)]
        print(f"| {case[0]} | {case[2]}, {case[3]} | {case[4]}, {case[5]} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], [int(s) for s in sys.argv[2].split(",")] if len(sys.argv) > 2 else range(11, 16))
