#!/usr/bin/env python3
"""Fits the constants of training steps: tools/training_fit.py BUSBAR.

Constants: `held_share` of a generation of GPUs (catalog/clocks), `kernel_time` of a framework (catalog/frameworks). Each
dense row of data/measured/training.csv is predicted three times: as the catalogue is, with every held_share a tenth
lower, and with every kernel_time a tenth higher. Its time is linear in 1 / held_share and in kernel_time between and
beyond. The fit changes one constant at a time as long as the mean of |predicted / measured - 1| falls, where a row counts
at most FARTHEST. NeMo and Megatron have kernel_time 1. The rows of Korthikanti et al. take part in no fit.

Prints the fitted constants. Errors with GPUs, frameworks and series left out: `busbar validate ... --leave-out`.
"""
import argparse
import csv
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "data/measured/training.csv"
ROWS = "use=accuracy,moe=no,layout_complete=yes"
NEVER_FITTED = "korthikanti2022-T5"
REFERENCE = ("nemo", "megatron")
GENERATIONS = {"ampere": "a100", "hopper": "h", "blackwell": "b"}  # beginnings of GPU names, gb200 and gb300 besides
FARTHEST = 0.4
STEPS = (0.1, 0.03, 0.01, 0.003)


def generation_of(gpu):
    if gpu.startswith("gb"):
        return "blackwell"
    return next(name for name, start in GENERATIONS.items() if gpu.startswith(start))


def value_of(path, key):
    return float(re.search(rf"^{key}: \{{value: ([0-9.]+)", path.read_text(), re.M)[1])


def scaled(path, key, factor):
    return re.sub(rf"^({key}: \{{value: )([0-9.]+)", lambda m: f"{m[1]}{factor * float(m[2]):.6f}", path.read_text(), flags=re.M)


def predictions(busbar, catalog=None):
    command = [busbar, "validate", TABLE, "--only", ROWS, "--json"] + (["--catalog", catalog] if catalog else [])
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["rows"]
    return {r["row_id"]: r for r in rows if r["scored"]}


class Row:
    def __init__(self, now, slower_clock, slower_software, series, constants):
        self.gpu, self.framework, self.series = now["gpu"], now["kind"], series
        self.generation = generation_of(self.gpu)
        self.ratio = now["predicted"] / now["measured"]
        self.clock = (slower_clock["predicted"] / now["predicted"] - 1) / (1 / 0.9 - 1)
        self.software = (slower_software["predicted"] / now["predicted"] - 1) / 0.1
        self.held, self.time = constants[self.generation], constants.get(self.framework, 1)

    def error(self, constants):
        """predicted / measured - 1 with other constants."""
        software = constants.get(self.framework, 1) / self.time
        clock = self.held / constants[self.generation]
        return self.ratio * (1 + self.clock * software * (clock - 1) + self.software * (software - 1)) - 1


def cost(rows, constants):
    return statistics.mean(min(abs(r.error(constants)), FARTHEST) for r in rows)


def fit(rows, constants):
    """Coordinate descent from `constants` over those that some row needs."""
    best, least = dict(constants), cost(rows, constants)
    free = sorted({r.generation for r in rows} | {r.framework for r in rows} - set(REFERENCE))
    for step in STEPS:
        falls = True
        while falls:
            falls = False
            for name in free:
                for move in (step, -step):
                    trial = dict(best)
                    trial[name] = trial.get(name, 1) * (1 + move)
                    if (c := cost(rows, trial)) < least - 1e-9:
                        best, least, falls = trial, c, True
    return best


def figures(errors):
    sizes = sorted(abs(e) for e in errors)
    p90 = sizes[min(len(sizes) - 1, int(0.9 * len(sizes)))]
    return f"{100 * statistics.median(errors):+.1f} | {100 * statistics.mean(sizes):.1f} | {100 * p90:.1f} | {100 * sizes[-1]:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("busbar", help="the command to ask")
    args = parser.parse_args()
    with open(TABLE, newline="") as f:
        series = {r["row_id"]: r["source_id"] for r in csv.DictReader(f)}
    constants, start = {}, {}
    with tempfile.TemporaryDirectory() as slow:
        clocks, software = pathlib.Path(slow) / "clocks", pathlib.Path(slow) / "software"
        for folder in (clocks / "clocks", software / "frameworks"):
            folder.mkdir(parents=True)
        for name in GENERATIONS:
            path = ROOT / f"catalog/clocks/{name}.yaml"
            constants[name], start[name] = value_of(path, "held_share"), 0.9
            (clocks / "clocks" / path.name).write_text(scaled(path, "held_share", 0.9))
        for path in sorted((ROOT / "catalog/frameworks").glob("*.yaml")):
            if "\nkernel_time:" not in path.read_text():
                continue
            constants[path.stem], start[path.stem] = value_of(path, "kernel_time"), 1
            (software / "frameworks" / path.name).write_text(scaled(path, "kernel_time", 1.1))
        for name in REFERENCE:
            text = f'name: {name}\nkernel_time: {{value: 1.1, source: "tools/training_fit.py"}}\n'
            (software / "frameworks" / f"{name}.yaml").write_text(text)
        now, low, high = (predictions(args.busbar, c) for c in (None, clocks, software))
    rows = [Row(now[i], low[i], high[i], series[i], constants) for i in now if i in low and i in high]
    fitted = fit([r for r in rows if r.series != NEVER_FITTED], start)
    print("| constant | in the catalogue | fitted |\n|---|---|---|")
    for name in sorted(fitted):
        print(f"| {name} | {constants[name]:.3f} | {fitted[name]:.3f} |")
    print(f"\nWith the fitted constants: {figures([r.error(fitted) for r in rows])} (median, mean, p90, max).")
    own = [r.ratio - 1 for r in rows if r.series == NEVER_FITTED]
    print(f"{NEVER_FITTED}, in no fit: {figures(own)}")


if __name__ == "__main__":
    main()
