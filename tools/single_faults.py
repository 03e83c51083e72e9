#!/usr/bin/env python3
"""Measures how often `busbar expect` names a single fault of a machine, and writes the tables of docs/doctor.md.

    tools/single_faults.py BUSBAR [--faults 300] [--seed 1] [--jobs 1] [--out ROWS.csv]

Each table of times is made by a twin of a preset that the search does not see: one part slow or dead, the links of
the network, of the server and between GPUs at 0.92 to 1.08 of their rates, the launch 0.7 to 1.5 times as long, 3 %
noise on every time, and in one case of three another engine or NCCL release. The search gets the table and the preset.
Right: the part, or one that a candidate lists as alike, is in the first rank. A rank holds the faults whose times differ
less than noise and the fitted ranges hide.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PRESETS = ("dgx-h100:2", "dgx-h100:4", "dgx-h100", "dgx-a100:2", "dgx-a100:4", "dgx-a100", "dgx-h200:2", "dgx-b200:2",
           "dgx-b200", "aws-p5:2", "aws-p4d:2", "azure-ndv4:2", "oci-h100:2", "gh200-4:4", "mi300x-8:2", "mi300x-8",
           "dgx-1v:2", "dgx-1v", "rtx4090-pcie", "a100-pcie:2")
COLLECTIVES = ("all_reduce", "all_reduce", "all_gather", "reduce_scatter", "all_to_all")
KINDS = ("nic", "cable", "nic-slot", "gpu-slot", "nvlink", "gpu", "node", "uplink", "spine-ratio")
FACTORS = (0.75, 0.6, 0.5, 0.35, 0.25, 0)
RELEASES = ("2.19", "2.22", "2.27")
SIZES = ("-b", "64K", "-e", "4G", "-f", "4")
LOSSES = ((0, 4), (4, 8), (8, 15), (15, 30), (30, 60), (60, 101))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stderr.strip()}


def parts_of(busbar, preset):
    """Selectors by kind of part, of those that collectives use."""
    topo = run([busbar, "topo", preset, "--all", "--json"])
    kind = {d["name"]: d["kind"] for d in topo["devices"]}
    parts = collections.defaultdict(list)
    nodes = topo["counts"]["nodes"]
    for link in topo["links"]:
        a, b = link["from"], link["to"]
        ends, selector = {kind[a], kind[b]}, f"{a}-{b}"
        local = [n.split(".")[-1] for n in (a, b)]
        nic = any(n.startswith("nic") for n in local)
        if ends == {"gpu"} or "nvswitch" in ends:
            parts["nvlink"].append(selector)
        elif nodes > 1 and nic and ends & {"leaf", "spine", "core", "switch"}:
            parts["cable"].append(selector)
        elif nodes > 1 and nic:
            parts["nic-slot"].append(selector)
        elif "gpu" in ends and ends & {"pcie_switch", "pcie", "cpu", "root_port"}:
            parts["gpu-slot"].append(selector)
        elif ends == {"leaf", "spine"}:
            parts["uplink"].append(selector)
    parts["gpu"] = [n for n in kind if kind[n] == "gpu"]
    if nodes > 1:
        parts["nic"] = [n for n in kind if kind[n] == "nic" and n.split(".")[-1].startswith("nic")]
        parts["node"] = [f"node{i}" for i in range(nodes)]
        if parts["uplink"]:
            parts["spine-ratio"] = ["leaf*-spine*"]
    return {k: sorted(set(v)) for k, v in parts.items() if v}


def disturbed(preset, draw):
    """Flags of the twin besides its fault."""
    out = ["--set", f"protocol.launch={draw['launch']:.3f}us"]
    for key, value in draw["shares"].items():
        out += ["--set", f"{key}={value}"]
    return out + draw["other"]


def table(busbar, preset, op, flags):
    got = run([busbar, "collective", preset, op, *SIZES, "--json", *flags])
    return [(r["size_bytes"], r["time_us"]) for r in got["results"]] if "results" in got else None


def plateau(times):
    largest = times[-1][0]
    return statistics.median(t / s for s, t in times if s >= largest / 16)


def draw_case(busbar, i, seed, parts, base):
    rng = random.Random(seed * 100_003 + i)
    preset = PRESETS[i % len(PRESETS)]
    here = parts[preset]
    kind = rng.choice([k for k in KINDS if k in here])
    factor = rng.choice(FACTORS if kind not in ("node", "spine-ratio") else FACTORS[:-1])
    draw = {"preset": preset, "op": rng.choice(COLLECTIVES), "kind": kind, "factor": factor,
            "part": rng.choice(here[kind]), "launch": base[preset]["launch_us"] * rng.uniform(0.7, 1.5), "shares": {},
            "other": [], "noise": rng.randrange(1 << 30)}
    for key, value in base[preset]["shares"].items():
        scaled = value * rng.uniform(0.92, 1.08)
        draw["shares"][key] = f"{scaled:.0f}Gb/s" if key.endswith("rate") else f"{min(1.0, scaled):.4f}"
    if i % 3 == 0:
        draw["other"] = rng.choice([["--engine", "analytic"]] + [["--nccl", r] for r in RELEASES])
    return draw


def judge(busbar, draw):
    flags = disturbed(draw["preset"], draw)
    fault = ["--fail", draw["part"]] if draw["factor"] == 0 else ["--degrade", f"{draw['part']}={draw['factor']}"]
    sound = table(busbar, draw["preset"], draw["op"], flags)
    broken = table(busbar, draw["preset"], draw["op"], flags + fault)
    if sound is None or broken is None:
        return None  # the machine cannot run without the part
    rng = random.Random(draw["noise"])
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "times.csv"
        file.write_text("size_bytes,time_us,collective\n" + "".join(
            f"{s},{t * (1 + rng.gauss(0, 0.03)):.4f},{draw['op']}\n" for s, t in broken))
        got = run([busbar, "expect", str(file), "--cluster", draw["preset"], "--json"])
    row = {k: draw[k] for k in ("preset", "op", "kind", "part", "factor")}
    row["loss"] = 100 * (1 - plateau(sound) / plateau(broken))
    row["verdict"] = got.get("verdict", "error: " + got.get("error", ""))
    findings = got.get("findings", [])
    row["severity"] = findings[0]["severity"] if findings else "none"
    candidates = findings[0]["candidates"] if findings else []
    ranks = [c["rank"] for c in candidates if draw["part"] in (c["alike"] or [c["part"]])
             or (draw["kind"] == "spine-ratio" and c["rule"] == "over-subscribed-spine")]
    row["rank"] = min(ranks) if ranks else 0
    row["first"] = candidates[0]["rule"] if candidates else ""
    row["together"] = sum(c["rank"] == 1 for c in candidates)
    row["very_first"] = bool(candidates) and (draw["part"] in candidates[0]["alike"] or (
        draw["kind"] == "spine-ratio" and candidates[0]["rule"] == "over-subscribed-spine"))
    return row


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "-"


def wrong_names(rows):
    return [r for r in rows if r["severity"] == "fail" and r["rank"] != 1]


def report(rows):
    shown = [r for r in rows if r["severity"] in ("fail", "warn")]
    large = [r for r in rows if r["loss"] > 8]
    right = [r for r in large if r["rank"] == 1]
    told = [r for r in large if r["severity"] in ("fail", "warn")]
    wrong = wrong_names(rows)
    out = [f"{len(rows)} faults, {len(large)} of them with a loss above 8 %: the part or one alike is first in "
           f"{percent(len(right), len(large))}, among the first three in "
           f"{percent(sum(1 <= r['rank'] <= 3 for r in large), len(large))}; the first of the first rank alone is right in "
           f"{percent(sum(r['very_first'] for r in large), len(large))} (a rank holds "
           f"{statistics.median(r['together'] for r in large):.0f} causes in the median); named (not \"cannot tell\") in "
           f"{percent(len(told), len(large))}, and of those named right in "
           f"{percent(sum(r['rank'] == 1 for r in told), len(told))}. Losses up to 8 %: "
           f"{percent(sum(r['severity'] in ('none', 'unknown') for r in rows if r['loss'] <= 8), len(rows) - len(large))}"
           f" are \"good\" or \"cannot tell\". Wrong names at fail: {len(wrong)} of "
           f"{sum(r['severity'] == 'fail' for r in rows)}.", ""]
    out += ["| loss of bandwidth | faults | named | first right | first three right | wrong at fail |",
            "|---|---|---|---|---|---|"]
    for low, high in LOSSES:
        here = [r for r in rows if low <= max(r["loss"], 0) < high]
        out.append(f"| {low} to {min(high, 100)} % | {len(here)} | {sum(r in shown for r in here)} | "
                   f"{sum(r['rank'] == 1 for r in here)} | {sum(1 <= r['rank'] <= 3 for r in here)} | "
                   f"{sum(r in wrong for r in here)} |")
    firsts = sorted({r["first"] for r in large})
    out += ["", "First rule named, by the part that is at fault, for losses above 8 % (in brackets: the true part is not "
            "in the first rank):", "", "| fault | " + " | ".join(f or "none" for f in firsts) + " |",
            "|---" * (len(firsts) + 1) + "|"]
    for kind in KINDS:
        here = [r for r in large if r["kind"] == kind]
        cells = []
        for f in firsts:
            same = [r for r in here if r["first"] == f]
            bad = sum(r["rank"] != 1 for r in same)
            cells.append((f"{len(same)}" + (f" ({bad})" if bad else "")) if same else "")
        out.append(f"| {kind} | " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def shares_of(preset):
    """Shares of the links' rates that the preset's library reaches, from the catalogue; 1 where it states none."""
    name, protocol = preset.split(":")[0], None
    while protocol is None:
        text = (ROOT / f"catalog/nodes/{name}.yaml").read_text()
        stated, base = re.search(r"^protocol: (\S+)", text, re.M), re.search(r"^base: (\S+)", text, re.M)
        protocol, name = stated and stated[1], base and base[1]
    stated = dict(re.findall(r"^  (share_\w+): ([\d.]+)", (ROOT / f"catalog/protocols/{protocol}.yaml").read_text(), re.M))
    return {f"protocol.{k}": float(stated.get(k, 1)) for k in ("share_scale_up", "share_server", "share_switch")}


def base_of(busbar, preset):
    """The launch, and the rates to disturb."""
    first = run([busbar, "collective", preset, "all_reduce", "-b", "1M", "-e", "1M", "--json"])
    shares = shares_of(preset)
    for link in run([busbar, "topo", preset, "--all", "--json"])["links"]:
        if link["kind"] in ("infiniband", "ethernet") and ".nic" in link["from"] + link["to"]:
            shares["fabric.link.rate"] = 8 * link["GBps_per_direction"] / link["lanes"]
            break
    return {"launch_us": first["launch"]["us"], "shares": shares}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("busbar")
    p.add_argument("--faults", type=int, default=300)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--out")
    p.add_argument("--check", type=float, metavar="PERCENT", help="exit 1 if fewer are right, or a wrong part is at fail")
    o = p.parse_args()
    parts = {preset: parts_of(o.busbar, preset) for preset in PRESETS}
    base = {preset: base_of(o.busbar, preset) for preset in PRESETS}
    cases = [draw_case(o.busbar, i, o.seed, parts, base) for i in range(o.faults)]
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        rows = [r for r in pool.map(lambda c: judge(o.busbar, c), cases) if r]
    if o.out:
        with open(o.out, "w", newline="") as f:
            w = csv.DictWriter(f, rows[0].keys())
            w.writeheader()
            w.writerows(rows)
    sys.stdout.write(report(rows))
    large = [r for r in rows if r["loss"] > 8]
    if o.check is not None and (100 * sum(r["rank"] == 1 for r in large) < o.check * len(large) or wrong_names(rows)):
        sys.exit(1)


if __name__ == "__main__":
    main()
