#!/usr/bin/env python3
"""Writes catalog/penalties: how much longer random flows take packet by packet than under fair sharing.

    tools/write_penalties.py BUSBAR

For each transport and way to balance, and each load, it runs the same random flows (web search, 128 hosts, 1 ms, three
seeds) on the flow engine and on the packet engine, and writes the ratios of mean, median and 99th percentile of the
time to the last byte, by class of sizes (docs/formats/flows.md). It takes some minutes.
"""
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FABRIC = ROOT / "bench/cases/ls128.yaml"
PAIRS = (("nscc", "spray"), ("nscc", "ecmp"), ("dcqcn", "ecmp"), ("dcqcn", "spray"), ("ib", "ecmp"))
LOADS, SEEDS = (0.2, 0.4, 0.6, 0.8), (1, 2, 3)
CLASSES = (("below_30kB", 0, 30e3), ("below_300kB", 30e3, 300e3), ("below_3MB", 300e3, 3e6), ("above", 3e6, math.inf))


def summary(flows, key, low, high):
    """Number, mean, median and 99th percentile of a class."""
    times = sorted(f[key] for f in flows if low <= f["bytes"] < high)
    at = [times[math.ceil(share * len(times) - 1e-9) - 1] for share in (0.5, 0.99)]
    return [len(times), sum(times) / len(times), *at]


def run(busbar, load, balance, seed, *more):
    command = [busbar, "flows", str(FABRIC), "--sizes", "websearch", "--load", str(load), "--until", "1ms", "--seed",
               str(seed), "--lb", balance, "--json", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["flows"]


def factors(fluid, packets):
    """Per class: ratios of mean, median and 99th percentile. Arguments: per seed, the summaries of the classes."""
    out = []
    for c in range(len(CLASSES)):
        ratio = [sum(f[c][0] * p[c][i] for f, p in zip(fluid, packets)) / sum(f[c][0] * f[c][i] for f in fluid)
                 for i in (1, 2, 3)]
        out.append(dict(zip(("mean", "p50", "p99"), ratio)))
    return out


def text(transport, balance, by_load):
    lines = [f"# How much longer random flows take with {transport} over {balance} than under fair sharing",
             f"name: {transport}-{balance}", "loads:"]
    for load, classes in by_load.items():
        cells = [f"{name}: {{" + ", ".join(f"{k}: {v:.3g}" for k, v in x.items()) + "}"
                 for (name, _, _), x in zip(CLASSES, classes)]
        lines += [f"  {load}:"] + [f"    {c}" for c in cells]
    lines += ['source: "tools/write_penalties.py: the packet engine on 128 hosts, 8 leaves and 16 spines at 400 Gb/s, web '
              'search, 1 ms, seeds 1 to 3"', "confidence: medium"]
    return "\n".join(lines) + "\n"


def main(busbar):
    for transport, balance in PAIRS:
        by_load = {}
        for load in LOADS:
            fluid, packets = [], []
            for seed in SEEDS:
                sums = lambda flows, key: [summary(flows, key, low, high) for _, low, high in CLASSES]
                fluid.append(sums(run(busbar, load, balance, seed), "fct_us"))
                more = ("--engine", "packet", "--transport", transport)
                packets.append(sums(run(busbar, load, balance, seed, *more), "received_us"))
            by_load[load] = factors(fluid, packets)
        (ROOT / f"catalog/penalties/{transport}-{balance}.yaml").write_text(text(transport, balance, by_load))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
