#!/usr/bin/env python3
"""On presets packets (RoCE, nothing broken) take about the time of fluids: docs/models/flow.md, "Validation".

    tests/house/packets_test.py BUSBAR
"""
import json
import subprocess
import sys

MACHINES = ("dgx-h100:2", "dgx-a100:2")
LIMITS = {"1M": 20, "16M": 10}  # percent
PACKETS = ("--engine", "packet", "--transport", "roce", "--lb", "spray")


def time_us(busbar, *words):
    done = subprocess.run([busbar, "collective", *words, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["results"][0]["time_us"]


def main():
    busbar, wrong = sys.argv[1], 0
    for machine in MACHINES:
        for algorithm in ("ring", "tree"):
            for size, limit in LIMITS.items():
                words = (machine, "all_reduce", "--algorithm", algorithm, "-b", size, "-e", size)
                off = 100 * (time_us(busbar, *words, *PACKETS) / time_us(busbar, *words) - 1)
                bad = abs(off) > limit
                wrong += bad
                print(f"{'WRONG ' if bad else ''}{machine} {algorithm} {size}: {off:+.1f} %")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
