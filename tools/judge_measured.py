#!/usr/bin/env python3
"""Judges measured tables with `busbar expect` and compares the verdicts with what the sources say.

    tools/judge_measured.py BUSBAR [TABLE.csv] [--out ROWS.csv]

Each configuration of TABLE (data/measured/collectives.csv) becomes one file of times, judged against the machine as it
should be: its board, number of servers, and the network of its NICs with RDMA. Known-bad configurations should be low,
with the stated cause among the first; healthy ones (use=accuracy) should not be named at fail. Prints the tables of
docs/doctor.md.
"""
import argparse
import collections
import csv
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Causes by the kind that the table of sources gives. A setting has several effects.
RIGHT = {"tcp-fallback": {"tcp-fallback"}, "no-gpudirect": {"no-gpudirect"}, "acs": {"no-gpudirect", "p2p-disabled"},
         "p2p-disabled": {"p2p-disabled"}, "fabric-misconfigured": {"fabric-misconfigured", "collapse"},
         "single-rail": {"single-rail"}, "slow-node": {"slow-node"}, "nccl-setting": {"nccl-setting", "single-rail"}}
INFINIBAND = {100: "edr", 200: "hdr", 400: "ndr", 800: "xdr"}


def network(row, gbps):
    kind = row["fabric"]
    if kind == "ib" and gbps in INFINIBAND:
        return f"infiniband-{INFINIBAND[gbps]}"
    if kind == "efa":
        return "efa-v4" if gbps >= 400 else "efa-v3" if gbps >= 200 else "efa-v2" if int(row["nics_per_node"]) > 4 else "efa-v1"
    if kind == "slingshot" or row["node"] in ("gh200-4", "mi250x-4"):
        return "slingshot-11"
    if kind in ("tcpx", "tcpxo"):
        return f"{kind}-{gbps}g"
    return f"roce-{gbps}g"


def machine(row):
    """The cluster file of the machine as it should be, or the reason why there is none."""
    node = row["node"]
    if not node or node == "unknown":
        return None, "the board is not known"
    if not (ROOT / f"catalog/nodes/{node}.yaml").exists():
        return None, "the board is not in the catalogue"
    if "40GB" in row["gpu"] and (ROOT / f"catalog/nodes/{node}-40.yaml").exists():
        node += "-40"
    nodes, total = int(row["nodes"] or 1), int(row["gpus_total"] or 0)
    per = int(row["gpus_per_node"] or 0)
    if "nvl72" in node or node.endswith("-pcie") or "nvbridge" in node or "nvl" in node.split("-"):
        return None, "boards of cards and racks are described by more columns than this tool reads"
    nics, gbps = row["nics_per_node"], row["nic_gbps"]
    fabric = ""
    keys = f"base: {node}"
    if nodes > 1:
        if nics and gbps and int(gbps) > 0:
            fabric = (f", fabric: {{kind: rail-optimised, network: {network(row, int(gbps))}, link: {{rate: {gbps}Gb/s}}, "
                      "cable_m: {nic: 5, leaf: 20, core: 50}}")
            keys += f", nics: {nics}"
            if per >= 8 and int(nics) > per and int(nics) % per == 0 and row["fabric"] != "efa":
                keys += f", ports_per_card: {int(nics) // per}"
        else:
            return f"{node}:{nodes}", ""
    return f"{{name: {node}, nodes: {nodes}, routing: spray, node: {{{keys}}}{fabric}}}", "" if total else "no GPU count"


def ranks(row, busbar, cluster):
    """The GPUs that took part: all, or the same places of every node."""
    nodes, per = int(row["nodes"] or 1), int(row["gpus_per_node"] or 0)
    done = subprocess.run([busbar, "topo", cluster, "--json"], capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        return []
    board = json.loads(done.stdout)["counts"]["gpus"] // nodes
    if per in (0, board) or per > board:
        return []
    ids = [t for t in row["node_variant"].split(";") if t.startswith("gpu-ids=")]
    places = [int(i) for i in ids[0][8:].split("-")] if ids else range(per)
    return ["--ranks", ",".join(str(node * board + i) for node in range(nodes) for i in places)]


def settings(row):
    """What the source forced on purpose, in the words of the command line."""
    out = []
    if row["algo"] in ("ring", "tree", "nvls", "nvlstree"):
        out += ["--env", f"NCCL_ALGO={row['algo']}"]
    if row["proto"] in ("ll", "ll128", "simple"):
        out += ["--env", f"NCCL_PROTO={row['proto']}"]
    if row["nvls"] == "off" and row["bad_kind"] != "nccl-setting":
        out += ["--env", "NCCL_NVLS_ENABLE=0"]
    launch = {"graph": "graph", "single-process-multi-gpu": "loop", "one-process-per-gpu": "process"}.get(row["launch"])
    if launch:
        out += ["--launch", launch]
    release = re.search(r"\b2\.(\d+)", row["library_version"])
    if release and 18 <= int(release[1]) <= 30 and "tests" not in row["library_version"]:
        out += ["--nccl", f"2.{release[1]}"]
    return out


def judge(busbar, rows, folder):
    first = rows[0]
    cluster, why = machine(first)
    if why:
        return {"verdict": "not judged", "why": why}
    n = int(first["gpus_total"])
    factor = {"all_reduce": 2 * (n - 1) / n, "all_gather": (n - 1) / n, "reduce_scatter": (n - 1) / n,
              "alltoall": (n - 1) / n}.get(first["collective"], 1)
    lines = ["size_bytes,time_us,collective"]
    for r in rows:
        try:
            size = float(r["size_bytes"])
            time = float(r["time_us"] or 0)
            if time <= 0:
                bus = float(r["busbw_GBps"] or 0) or float(r["algbw_GBps"] or 0) * factor
                time = size * factor / bus / 1e3
            lines.append(f"{int(size)},{time},{first['collective']}")
        except (ValueError, ZeroDivisionError):
            continue
    if len(lines) < 2:
        return {"verdict": "not judged", "why": "no times"}
    file = folder / "t.csv"
    file.write_text("\n".join(lines) + "\n")
    command = [busbar, "expect", str(file), "--cluster", cluster, "--json", *ranks(first, busbar, cluster), *settings(first)]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        return {"verdict": "not judged", "why": done.stderr.strip()[-160:]}
    got = json.loads(done.stdout)
    out = {"verdict": got["verdict"], "why": got["why"], "severity": "none", "rules": "",
           "slower_percent": round(got["plateau"]["slower_percent"], 1),
           "threshold_percent": round(got["plateau"]["threshold_percent"], 1)}
    if got["findings"]:
        f = got["findings"][0]
        out["severity"] = f["severity"]
        out["rules"] = " ".join(f"{c['rank']}:{c['rule']}" for c in f["candidates"])
    return out


def rank_of(kind, rules):
    """Place of the right cause; causes that the results cannot tell apart count one."""
    ranks = [int(r.split(":")[0]) for r in rules.split() if r.split(":")[1] in RIGHT[kind]]
    return min(ranks) if ranks else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("busbar")
    p.add_argument("table", nargs="?", default=str(ROOT / "data/measured/collectives.csv"))
    p.add_argument("--out")
    o = p.parse_args()
    groups = collections.defaultdict(list)
    with open(o.table, newline="") as f:
        for row in csv.DictReader(f):
            groups[(row["source_id"], row["collective"])].append(row)
    judged = []
    with tempfile.TemporaryDirectory() as folder:
        for (name, op), rows in groups.items():
            bad = [r for r in rows if r["known_bad"] == "yes"]
            good = [r for r in rows if r["use"] == "accuracy"]
            if not bad and not good:
                continue
            got = judge(o.busbar, bad or good, pathlib.Path(folder))
            judged.append({"configuration": name, "collective": op, "bad": bool(bad),
                           "kind": bad[0]["bad_kind"] if bad else "", **got})
    if o.out:
        with open(o.out, "w", newline="") as f:
            w = csv.DictWriter(f, ["configuration", "collective", "bad", "kind", "verdict", "why", "severity", "rules",
                                   "slower_percent", "threshold_percent"],
                               restval="")
            w.writeheader()
            w.writerows(judged)
    able = [j for j in judged if j["verdict"] != "not judged"]
    bad = [j for j in able if j["bad"]]
    low = [j for j in bad if j["verdict"] == "low"]
    named = [j for j in bad if j["kind"] in RIGHT]
    ranks = [rank_of(j["kind"], j["rules"]) for j in named]
    good = [j for j in able if not j["bad"]]
    fail = [j for j in good if j["verdict"] != "good"]
    print(f"{len(judged)} configurations, {len(able)} judged. Known bad: {len(low)} of {len(bad)} low. With a named cause: "
          f"{sum(r == 1 for r in ranks)} of {len(named)} first, {sum(1 <= r <= 3 for r in ranks)} among the first three. "
          f"Healthy: {len(fail)} of {len(good)} not good ({sum(j['severity'] == 'fail' for j in fail)} named at fail).\n")
    print("| known-bad configuration | cause | verdict | first causes |\n|---|---|---|---|")
    for j in judged:
        if j["bad"]:
            rules = ", ".join(dict.fromkeys(r.split(":")[1] for r in j.get("rules", "").split()[:5]))
            print(f"| {j['configuration']} | {j['kind']} | {j['verdict']} | {rules or j.get('why', '').split(':')[0]} |")
    print("\nHealthy configurations that are not good: " + (", ".join(f"{j['configuration']} ({j['why']})" for j in fail) or
                                                            "none") + ".")


if __name__ == "__main__":
    main()
