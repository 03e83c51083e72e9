#!/usr/bin/env python3
"""What `collective --out` writes takes, read back by `import --cluster`, the time that was printed.

    tests/house/exports_test.py BUSBAR
"""
import json
import pathlib
import subprocess
import sys
import tempfile

# machine, operation, algorithm, sizes, largest difference in percent as XML and as GOAL
CASES = (
    ("dgx-h100", "all_reduce", "ring", ("1M", "256M"), 1, 1),
    ("dgx-h100:2", "all_reduce", "ring", ("1M", "256M"), 1, 1),
    ("dgx-1v", "all_reduce", "ring", ("1M", "256M"), 1, 1),
    ("dgx-h100", "all_reduce", "tree", ("1M", "256M"), 5, 5),
    ("dgx-h100:2", "all_reduce", "tree", ("1M", "256M"), 5, 5),
    ("dgx-a100:2", "all_reduce", "tree", ("1M", "256M"), 5, 5),
    ("dgx-h100:2", "all_to_all", "pairwise", ("1M", "256M"), 1, 1),
    ("dgx-a100:2", "all_to_all", "pairwise", ("1M", "256M"), 3, 3),
)


def run(busbar, *words):
    done = subprocess.run([busbar, *words, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"busbar {' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def differences(busbar, folder, machine, op, algorithm, size):
    """Of the times read back from the time printed, in percent: as XML, as GOAL."""
    out = []
    for name in ("s.xml", "s.goal"):
        file = str(pathlib.Path(folder) / name)
        timed = run(busbar, "collective", machine, op, "--algorithm", algorithm, "-b", size, "-e", size, "--out", file)
        sizes = ("-b", size, "-e", size) if name == "s.xml" else ()
        back = run(busbar, "import", file, "--cluster", machine, *sizes)["timed"]
        back_us = (back["results"][0] if "results" in back else back)["time_us"]
        out.append(100 * (back_us / timed["results"][0]["time_us"] - 1))
    return out


def main():
    busbar, wrong = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as folder:
        for machine, op, algorithm, sizes, *most in CASES:
            for size in sizes:
                for kind, off, limit in zip(("XML", "GOAL"), differences(busbar, folder, machine, op, algorithm, size),
                                            most):
                    bad = abs(off) > limit
                    wrong += bad
                    print(f"{'WRONG ' if bad else ''}{machine} {op} {algorithm} {size} as {kind}: {off:+.2f} %")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
