#!/usr/bin/env python3
"""Writes the table of docs/models/synthesis.md: tools/write_synthesis.py BUSBAR. Some 10 s of processor time."""
import json
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/models/synthesis.md"
COLLECTIVES = ["all_reduce", "all_gather", "broadcast", "gather"]
MACHINES = [
    ("DGX-1V", ["dgx-1v"]),
    ("DGX-1V, 5 GPUs", ["dgx-1v", "-g", "5"]),
    ("4 x 3090 in two pairs", ["rtx3090-nvbridge"]),
    ("DGX H100, a dead NVLink", ["dgx-h100", "--fail", "node0.gpu0-node0.nvswitch0"]),
    ("4 DGX H100 without rails", ["dgx-h100:4", "--set", "fabric=ndr-leaf-spine"]),
    ("4 x 4 A100, 3 of 4 NICs dead", ["hgx-a100-4:4", "--fail", "node*.nic[1-3]"]),
    ("64 DGX-1V", ["dgx-1v:64"]),
    ("128 DGX H100", ["dgx-h100:128"]),
    ("1,024 DGX H100", ["dgx-h100:1024"]),
]


def ask(busbar, words, op, algorithm):
    machine, *flags = words
    command = [busbar, "collective", machine, op, "-b", "1G", "-e", "1G", "--algorithm", algorithm, "--json", *flags]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["results"][0]


def row(busbar, name, words, op):
    library, result = ask(busbar, words, op, "auto"), ask(busbar, words, op, "synthesized")
    made = result["synthesized"]
    return (f"| {name} | {op} | {library['time_us']:,.0f} ({library['algorithm']}) "
            f"| {made['textbook_time_us']:,.0f} ({made['textbook_algorithm']}) "
            f"| {result['time_us']:,.0f} ({made['schedule']}) | {result['floor_us']:,.0f} |")


def main():
    rows = [row(sys.argv[1], name, words, op) for name, words in MACHINES for op in COLLECTIVES]
    rows += [row(sys.argv[1], name, words, "all_to_all") for name, words in MACHINES[:2]]
    text, n = re.subn(r"(\| machine \| collective \|.*\n\|---.*\n)(?:\|.*\n)*", lambda m: m[1] + "\n".join(rows) + "\n",
                      PAGE.read_text())
    if n != 1:
        raise SystemExit(f"{PAGE}: {n} tables of machines and collectives")
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
