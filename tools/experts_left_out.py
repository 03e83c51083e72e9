#!/usr/bin/env python3
"""Leaves one model with experts out of the fit of `expert_wait`: tools/experts_left_out.py BUSBAR.

The time of every row of data/measured/training.csv that has experts is linear in `expert_wait` of
catalog/frameworks/megatron-core.yaml. It is predicted with that value and with twice as much. For each model the wait is
set on all other models, by their mean error without sign. Prints a table in Markdown.
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
GRID_US = range(0, 2001, 20)


def times(busbar, catalog=None):
    command = [busbar, "validate", ROOT / "data/measured/training.csv", "--only", "use=accuracy,moe=yes", "--json"]
    command += ["--catalog", catalog] if catalog else []
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["rows"]
    return {r["row_id"]: (r["model"], r["predicted"], r["measured"]) for r in rows if r["scored"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("busbar", help="the command to ask")
    busbar = parser.parse_args().busbar
    text = (ROOT / "catalog" / FILE).read_text()
    found = re.search(r"value: ([0-9]+)us", text)
    wait = float(found[1])
    now = times(busbar)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / FILE).parent.mkdir()
        (pathlib.Path(folder) / FILE).write_text(text.replace(found[0], f"value: {2 * wait:.0f}us"))
        double = times(busbar, folder)
    rows = {}  # model -> [(time now, growth for twice the wait, measured)]
    for key, (model, time, measured) in now.items():
        rows.setdefault(model, []).append((time, double[key][1] - time, measured))

    def errors(of, at):
        return [100 * ((t + d * (at / wait - 1)) / m - 1) for t, d, m in of]

    print("| model left out | configurations | mean error (%) | wait without it (us) | mean \\|error\\| without it (%) | p90 (%) |")
    print("|---|---|---|---|---|---|")
    every = []
    for one in sorted(rows):
        others = [r for other, rs in rows.items() if other != one for r in rs]
        best = min(GRID_US, key=lambda at: statistics.mean(map(abs, errors(others, at))))
        left_out = sorted(map(abs, errors(rows[one], best)))
        every += left_out
        p90 = left_out[min(len(left_out) - 1, int(0.9 * len(left_out)))]
        print(f"| {one} | {len(left_out)} | {statistics.mean(errors(rows[one], wait)):+.1f} | {best} | "
              f"{statistics.mean(left_out):.1f} | {p90:.1f} |")
    every.sort()
    print(f"\nOver all: mean {statistics.mean(every):.1f} %, 90 % below {every[int(0.9 * len(every))]:.1f} %.")


if __name__ == "__main__":
    main()
