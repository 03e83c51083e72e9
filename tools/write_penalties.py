#!/usr/bin/env python3
"""Writes catalog/penalties: how much longer flows take packet by packet than under fair sharing.

    tools/write_penalties.py BUSBAR [NAME...]       NAME: transport-balance, such as dcqcn-ecmp (default: all)

It runs the same flows on the flow engine and on the packet engine, on 128 hosts, with three seeds (docs/formats/flows.md):
  loads: random flows (web search, 1 ms). Ratios of mean, median and 99th percentile of the time to the last byte, by
         class of sizes.
  fan_in: every host sends 4 MB to so many others at once and hears from as many. Ratios of mean and 99th percentile.
  crossing: InfiniBand only, whose credits hold up those behind who waits for a spine. The random flows on 2 and 4 leaves,
         where fewer cross a spine: by load and by the share of bytes that do, the part of the excess over fair sharing
         on 8 leaves.
  lasting: InfiniBand only, where the packets that wait for each other become more as long as large flows start. The random
        flows started during shorter and longer times: by load and by the MB that a host's cable carries in that time, the
        part of the excess over fair sharing in 1 ms.
All of it takes about 20 minutes of processor time. Pauses of roce, which nothing controls, differ by 2 to 3 times between
seeds: its entries have a low confidence.
"""
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FABRIC, HOSTS = ROOT / "bench/cases/ls128.yaml", 128
TRANSPORTS = ("nscc", "dcqcn", "ib", "hpcc", "roce", "swift", "dctcp", "tcp-cubic", "credit")
PROFILES = {"roce-tuned": ("--transport", "dcqcn", "--set", "packet=roce-tuned")}  # written when named: roce-tuned-ecmp
BALANCES = ("ecmp", "spray", "adaptive")
LOADS, SEEDS, FAN_IN, BYTES = (0.2, 0.4, 0.6, 0.8), (1, 2, 3), (1, 4, 16, 64), 4_000_000
CROSSING = {"ib": (32, 64)}  # hosts, 16 a leaf
LASTING = {"ib": (0.25, 0.5, 1, 2, 4)}  # ms at 50 GB/s
MB_PER_MS = 50
CLASSES = (("below_30kB", 0, 30e3), ("below_300kB", 30e3, 300e3), ("below_3MB", 300e3, 3e6), ("above", 3e6, math.inf))
KNOWN = {}  # runs of fluids, which are the same for all transports
PACKETS = {}  # runs of the largest machine, for crossing and loads alike


def quantile(times, share):
    return sorted(times)[math.ceil(share * len(times) - 1e-9) - 1]


def summary(flows, key, low, high):
    """Number, mean, median and 99th percentile of a class."""
    times = [f[key] for f in flows if low <= f["bytes"] < high]
    return [len(times), sum(times) / len(times), quantile(times, 0.5), quantile(times, 0.99)]


def flows_of(busbar, balance, seed, source, transport=None, hosts=HOSTS):
    """The flows of a run; on fluids without a transport."""
    key = (balance, seed, hosts, *map(str, source))
    if transport is None and key in KNOWN:
        return KNOWN[key]
    if (transport, key) in PACKETS:
        return PACKETS.pop((transport, key))  # needed twice at most
    command = [busbar, "flows", str(FABRIC), *map(str, source), "--seed", str(seed), "--lb", balance, "--json",
               "--set", f"nodes={hosts}"]
    if transport:
        command += ["--engine", "packet", *PROFILES.get(transport, ("--transport", transport))]
    flows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["flows"]
    if transport is None:
        KNOWN[key] = flows
    elif transport in CROSSING and hosts == HOSTS:
        PACKETS[transport, key] = flows
    return flows


def factors(fluid, packets):
    """Per class: ratios of mean, median and 99th percentile. Arguments: per seed, the summaries of the classes."""
    out = []
    for c in range(len(CLASSES)):
        ratio = [sum(f[c][0] * p[c][i] for f, p in zip(fluid, packets)) / sum(f[c][0] * f[c][i] for f in fluid)
                 for i in (1, 2, 3)]
        out.append(dict(zip(("mean", "p50", "p99"), ratio)))
    return out


def at_load(busbar, transport, balance, load):
    fluid, packets = [], []
    for seed in SEEDS:
        source = ("--sizes", "websearch", "--load", load, "--until", "1ms")
        sums = lambda flows, key: [summary(flows, key, low, high) for _, low, high in CLASSES]
        fluid.append(sums(flows_of(busbar, balance, seed, source), "fct_us"))
        packets.append(sums(flows_of(busbar, balance, seed, source, transport), "received_us"))
    return factors(fluid, packets)


def write_exchange(file, fan_in, seed):
    """Every host sends to `fan_in` others, and as many send to it: as many random cycles through all hosts."""
    dice = random.Random(seed)
    lines = ["id,src,dst,bytes,start_ns,after"]
    for _ in range(fan_in):
        order = list(range(HOSTS))
        dice.shuffle(order)
        lines += [f"{len(lines) + i},{a},{b},{BYTES // fan_in},0," for i, (a, b) in
                  enumerate(zip(order, order[1:] + order[:1]))]
    file.write_text("\n".join(lines) + "\n")


def at_fan_in(busbar, transport, balance, fan_in, folder):
    fluid, packets = [], []
    for seed in SEEDS:
        file = pathlib.Path(folder) / f"exchange-{fan_in}-{seed}.csv"
        write_exchange(file, fan_in, seed)
        fluid += [f["fct_us"] for f in flows_of(busbar, balance, seed, (file,))]
        packets += [f["received_us"] for f in flows_of(busbar, balance, seed, (file,), transport)]
    return {"mean": sum(packets) / sum(fluid), "p99": quantile(packets, 0.99) / quantile(fluid, 0.99)}


def excess(busbar, transport, balance, load, hosts, ms=1):
    """By how much of their time under fair sharing flows take longer."""
    fluid, packets = 0, 0
    for seed in SEEDS:
        source = ("--sizes", "websearch", "--load", load, "--until", f"{ms}ms")
        fluid += sum(f["fct_us"] for f in flows_of(busbar, balance, seed, source, hosts=hosts))
        packets += sum(f["received_us"] for f in flows_of(busbar, balance, seed, source, transport, hosts))
    return packets / fluid - 1


def at_crossing(busbar, transport, balance, load):
    """Share of bytes that cross a spine -> part of the excess of the largest."""
    share = lambda hosts: f"{(hosts - 16) / (hosts - 1):.3g}"
    whole = excess(busbar, transport, balance, load, HOSTS)
    some = {share(h): excess(busbar, transport, balance, load, h) / whole for h in CROSSING[transport]}
    return {0: 0} | some | {share(HOSTS): 1}


def at_lasting(busbar, transport, balance, load):
    """MB of a cable -> part of the excess in 1 ms."""
    part = {ms: excess(busbar, transport, balance, load, HOSTS, ms) for ms in LASTING[transport]}
    return {f"{MB_PER_MS * ms:g}": x / part[1] for ms, x in part.items()}


def cell(x):
    return "{" + ", ".join(f"{k}: {v:.3g}" for k, v in x.items()) + "}"


def text(transport, balance, by_load, by_fan_in, by_crossing, by_lasting):
    lines = [f"# How much longer flows take with {transport} over {balance} than under fair sharing",
             f"name: {transport}-{balance}", "loads:"]
    for load, classes in by_load.items():
        lines += [f"  {load}:"] + [f"    {name}: {cell(x)}" for (name, _, _), x in zip(CLASSES, classes)]
    lines += ["fan_in:"] + [f"  {k}: {cell(x)}" for k, x in by_fan_in.items()]
    if by_crossing:
        lines += ["crossing:"] + [f"  {load}: {cell(x)}" for load, x in by_crossing.items()]
    if by_lasting:
        lines += ["lasting:"] + [f"  {load}: {cell(x)}" for load, x in by_lasting.items()]
    lines += ['source: "tools/write_penalties.py: the packet engine on 128 hosts, 8 leaves and 16 spines at 400 Gb/s, '
              'web search for 1 ms, exchanges of 4 MB a host, seeds 1 to 3"',
              f"confidence: {'low' if transport == 'roce' else 'medium'}"]
    return "\n".join(lines) + "\n"


def main(busbar, names):
    with tempfile.TemporaryDirectory() as folder:
        for transport in (*TRANSPORTS, *(p for p in PROFILES if f"{p}-ecmp" in names)):
            for balance in BALANCES:
                name = f"{transport}-{balance}"
                if names and name not in names:
                    continue
                by_fan_in = {k: at_fan_in(busbar, transport, balance, k, folder) for k in FAN_IN}
                crosses = LOADS if transport in CROSSING else ()
                by_crossing = {load: at_crossing(busbar, transport, balance, load) for load in crosses}
                lasts = LOADS if transport in LASTING else ()
                by_lasting = {load: at_lasting(busbar, transport, balance, load) for load in lasts}
                by_load = {load: at_load(busbar, transport, balance, load) for load in LOADS}
                (ROOT / f"catalog/penalties/{name}.yaml").write_text(
                    text(transport, balance, by_load, by_fan_in, by_crossing, by_lasting))
                print(name, flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
