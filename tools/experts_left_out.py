#!/usr/bin/env python3
"""Leaves one model with experts out of the fit of `expert_launch`: tools/experts_left_out.py BUSBAR.

Every row of data/measured/training.csv that has experts is predicted with each value of GRID_US for `expert_launch` of
catalog/frameworks/megatron-core.yaml. For each model the launch is set on all other models, by their mean error without
sign. Prints a table in Markdown.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = "frameworks/megatron-core.yaml"
GRID_US = range(8, 37, 2)


def errors(busbar, text, launch_us):
    """Of each model: the signed errors in percent."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / FILE).parent.mkdir()
        (pathlib.Path(folder) / FILE).write_text(re.sub(r"value: [0-9]+us", f"value: {launch_us}us", text))
        command = [busbar, "validate", ROOT / "data/measured/training.csv", "--only", "use=accuracy,moe=yes", "--json",
                   "--catalog", folder]
        rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["rows"]
    of = {}
    for r in rows:
        if r["scored"]:
            of.setdefault(r["model"], []).append(r["error_percent"])
    return of


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("busbar", help="the command to ask")
    busbar = parser.parse_args().busbar
    text = (ROOT / "catalog" / FILE).read_text()
    now = int(re.search(r"value: ([0-9]+)us", text)[1])
    at = {launch: errors(busbar, text, launch) for launch in sorted({*GRID_US, now})}

    print("| model left out | configurations | mean error (%) | launch without it (us) | mean \\|error\\| without it (%) | p90 (%) |")
    print("|---|---|---|---|---|---|")
    every = []
    for one in sorted(at[now]):
        best = min(GRID_US, key=lambda us: statistics.mean(
            abs(e) for model, of in at[us].items() if model != one for e in of))
        left_out = sorted(map(abs, at[best][one]))
        every += left_out
        p90 = left_out[min(len(left_out) - 1, int(0.9 * len(left_out)))]
        print(f"| {one} | {len(left_out)} | {statistics.mean(at[now][one]):+.1f} | {best} | "
              f"{statistics.mean(left_out):.1f} | {p90:.1f} |")
    every.sort()
    print(f"\nOver all: mean {statistics.mean(every):.1f} %, 90 % below {every[int(0.9 * len(every))]:.1f} %.")


if __name__ == "__main__":
    main()
