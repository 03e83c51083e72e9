#!/usr/bin/env python3
"""Scores the doctor on the public threads of tests/doctor/threads and writes the table of docs/doctor.md (section Threads).

    tools/doctor_threads.py BUSBAR [--check | --rules | --collected DATE]

Each log is judged alone. RULES says which rules name a cause, CLASSES which name a few of which it is one. A finding that only says
what was seen ("symptom") names none. Of the part that only scores, nothing but counts is printed; --rules lists each thread of the other
part instead. --collected prints the table of the threads of that day alone, such as 2026-11-27. --check writes nothing and exits 1 if the
page differs. Without PyYAML it exits 77.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from page_section import write_section

try:
    import yaml
except ImportError:
    print("PyYAML is missing (python3-yaml)", file=sys.stderr)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[1]
THREADS = ROOT / "tests/doctor/threads"
PAGE = ROOT / "docs/doctor.md"
BEGIN, END = "<!-- threads: tools/doctor_threads.py -->\n", "<!-- end of threads -->\n"
# A rule stands for a cause if its text names that cause and hardly any other.
RULES = {
    "acs-on": {"acs-redirect"},
    "algorithm-setting-excludes-collective": {"pinned-algorithm"},
    "collective-mismatch": {"collectives-differ", "flight-mismatch", "models-differ", "sizes-differ", "parameters-unused"},
    "disk-full": {"disk-full"},
    "driver-library-mismatch": {"driver-mismatch"},
    "driver-too-old": {"driver-too-old"},
    "duplicate-gpu": {"duplicate-gpu"},
    "fabric-manager-not-running": {"system-not-ready", "fabric-manager", "fabric-service", "fabric-version"},
    "fabric-manager-restarted-without-reset": {"nvls-setup", "nvls-bind"},
    "fault-of-the-library": {"known-slow-release", "known-slow-sends", "release-misses-peermem", "topology-too-large", "gin-failed"},
    "gdr-module-absent": {"gdr-module", "release-misses-peermem", "gdr-mapping-failed", "peermem-refused"},
    "firewall-between-hosts": {"efa-unreachable"},
    "gid-index-wrong": {"roce-gid", "gid-by-hand", "gid-without-device", "roce-default-gid", "gid-link-local"},
    "gid-read-fails-in-container": {"gid-unreadable"},
    "gpu-arch-override-set": {"gpu-access-fault", "amd-build-misses-gpu"},
    "gpu-ecc": {"gpu-ecc", "xid-memory"},
    "gpu-fell-off-bus": {"gpu-lost", "xid-bus", "gpu-not-started", "pcie-fatal"},
    "gpu-in-exclusive-mode": {"gpu-exclusive"},
    "gpu-ipc-not-in-kernel": {"gpu-ipc"},
    "gpu-ipc-unavailable-in-container": {"gpu-ipc"},
    "gpu-needs-reset": {"gpu-needs-reset", "gpu-lost", "xid-firmware"},
    "gpu-out-of-memory": {"gpu-memory", "memory-warning"},
    "gpus-linked-by-pcie-only": {"gpus-by-pcie"},
    "graph-file-set": {"graph-file"},
    "host-name-resolves-to-loopback": {"bootstrap-lo", "peer-is-loopback", "gloo-loopback"},
    "host-name-unresolved": {"name-not-found", "name-not-resolved", "name-retried"},
    "ib-port-unstable": {"port-down", "port-event", "port-errors", "link-down-in-kernel-log"},
    "interface-setting-wrong": {"no-network", "no-interface", "wrong-interface", "interface-of-containers", "hca-filter", "interface-not-there"},
    "iommu-not-passthrough": {"iommu-on", "iommu-pt-missing", "iommu-translates", "dma-fault"},
    "libfabric-too-old": {"ofi-registration"},
    "memlock-limit": {"memlock", "memlock-failed", "queue-failed"},
    "more-ranks-than-gpus": {"no-such-gpu", "duplicate-gpu", "no-slots"},
    "mpi-cannot-reach-host": {"launcher-cannot-start"},
    "mpi-transport-unfit": {"mpi-transport", "mpi-openib"},
    "mtu-differs": {"mtu-differs", "mtu-small"},
    "nccl-for-other-cuda": {"other-cuda-build", "driver-too-old", "build-misses-gpu"},
    "nccl-too-old": {"nccl-too-old", "older-library"},
    "nccl-versions-differ": {"versions-differ", "versions-mismatch", "installed-releases-differ"},
    "network-plugin-missing": {"cloud-plugin-missing"},
    "nic-firmware-too-old": {"firmware-differs", "nic-firmware-old"},
    "nic-groups-unequal": {"mixed-nic-counts"},
    "no-usable-interface": {"no-network", "no-interface"},
    "numa-host-memory-differs": {"shm-attach"},
    "nvlink-link-down": {"nvlink-down", "xid-nvlink", "xgmi-down", "xgmi-errors", "nvlink-down-of-board", "nvlinks-all-down", "nvswitch-error", "nvlink-failed"},
    "nvls-slots-exhausted": {"nvls-slots"},
    "older-nccl-loaded": {"older-library"},
    "one-rank-works-longer-than-timeout": {"watchdog-behind", "flight-behind", "barrier-timeout"},
    "open-files-limit": {"open-files", "open-files-soft", "too-many-files"},
    "p2p-broken": {"no-peer-access", "no-peer-access-nvlink", "peer-data-wrong"},
    "peer-rank-died-of-oom": {"host-memory-killed", "killed", "killed-by-signal", "host-memory-short"},
    "plugin-fails-to-load": {"plugin-fails-to-load"},
    "port-in-use": {"port-in-use"},
    "rdma-devices-not-in-container": {"rdma-hidden", "rdma-absent", "rdma-sys-missing", "rdma-no-user-driver", "no-rdma-devices", "rdma-not-opened"},
    "scheduler-hides-gpus": {"no-such-gpu"},
    "send-and-receive-not-grouped": {"peer-address"},
    "settings-differ-between-hosts": {"settings-differ", "setting-stays"},
    "shared-memory-too-small": {"shm-failed", "shm-small", "shm-in-loader", "shared-memory-warning", "bus-error", "bus-error-by-signal"},
    "sharp-not-available": {"sharp-failed"},
    "terminal-closed": {"session-ended"},
    "test-built-without-mpi": {"ranks-alone", "ranks-of-one"},
    "too-many-peers": {"too-many-peers"},
    "topology-file-malformed": {"topology-file"},
    "ucx-too-old": {"ucx-error"},
    "wrong-interface": {"wrong-interface", "interface-of-containers", "bootstrap-lo", "peer-on-bridge", "gloo-loopback", "virtual-interface"},
}
# A rule names a class if its text lists the cause among a few others.
CLASSES = {
    "acs-on": {"local-protection", "gdr-off", "gdr-one-side", "no-peer-access", "no-peer-access-nvlink", "peer-data-wrong", "test-without-rows", "gpus-by-pcie"},
    "algorithm-setting-excludes-collective": {"schedule-warning"},
    "collective-mismatch": {"flight-behind", "watchdog-behind", "ranks-behind", "barrier-timeout", "barrier-missed", "ranks-stalled", "store-wait", "message-truncated"},
    "disk-full": {"no-space"},
    "duplicate-gpu": {"usage-unnamed"},
    "fabric-manager-restarted-without-reset": {"fabric-manager"},
    "fault-of-the-library": {"internal-warning"},
    "firewall-between-hosts": {"peers-apart", "peer-unreachable", "store-timeout", "ofi-transfer", "init-unfinished", "mpi-apart", "store-wait"},
    "gdr-module-absent": {"gdr-off", "gdr-one-side", "perftest-failed"},
    "gid-index-wrong": {"connection-refused-by-nic", "retries-exceeded", "gid-not-routed"},
    "gpu-ipc-unavailable-in-container": {"peer-memory-warning", "peer-access-refused"},
    "gpu-out-of-memory": {"gpu-allocation-failed"},
    "ib-port-unstable": {"retries-exceeded", "ib-not-active"},
    "more-ranks-than-gpus": {"usage-unnamed"},
    "other-load-on-the-gpus": {"table-uneven"},
    "mtu-differs": {"connection-refused-by-nic", "retries-exceeded"},
    "nccl-for-other-cuda": {"older-library"},
    "nccl-too-old": {"other-cuda-build"},
    "nccl-versions-differ": {"peer-address", "message-truncated"},
    "one-rank-works-longer-than-timeout": {"watchdog-first", "barrier-missed", "ranks-stalled", "store-wait"},
    "p2p-broken": {"acs-redirect", "iommu-on", "wrong-results", "dma-fault", "peer-access-refused"},
    "rails-not-connected": {"connection-refused-by-nic", "gid-not-routed"},
    "rdma-devices-not-in-container": {"ofi-no-provider", "ofi-slow-provider", "rdma-not-used", "no-net-plugin"},
    "scheduler-hides-gpus": {"gpu-ipc", "no-gpu-seen", "peer-access-refused"},
    "peer-rank-died-of-oom": {"loader-died"},
    "shared-memory-too-small": {"no-space", "system-call-unnamed", "loader-died"},
    "topology-file-malformed": {"topology-warning"},
    "wrong-interface": {"peers-apart", "peer-unreachable", "store-timeout", "init-unfinished", "mpi-apart"},
    "driver-library-mismatch": {"no-gpu-seen", "compat-refused"},
    "memlock-limit": {"perftest-failed"},
    "plugin-fails-to-load": {"symbol-missing"},
    "libfabric-too-old": {"symbol-missing"},
    "older-nccl-loaded": {"symbol-missing"},
    "driver-too-old": {"compat-refused"},
    "interface-setting-wrong": {"peers-apart"},
}


def judged(busbar, log):
    """Rules that fire, in order and without consequences, the severity of each, and which are symptoms; None: nothing was recognised."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "job.log"
        path.write_text(log)
        done = subprocess.run([busbar, "doctor", str(path), "--json", "--fail-on", "never"], capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        return None
    found = [f for f in json.loads(done.stdout)["findings"] if not f.get("follows_from")]
    return [f["rule"] for f in found], {f["rule"]: f["severity"] for f in found}, {f["rule"] for f in found if f["symptom"]}


def score(thread, result):
    """The words of the table's columns that this thread counts in."""
    rules, severity, symptoms = result or ([], {}, set())
    if thread["healthy"]:
        return {"sound"} | ({"false alarm"} if set(severity.values()) - {"note"} else set())
    right = RULES.get(thread["cause"], set())  # no rule stands for the other causes
    near = right | CLASSES.get(thread["cause"], set())
    causes = [r for r in rules if r not in symptoms or r in near]
    out = {"failed"}
    out |= {"first"} if causes[:1] and causes[0] in right else set()
    out |= {"class first"} if causes[:1] and causes[0] in near else set()
    out |= {"among three"} if near & set(causes[:3]) else set()
    out |= {"wrong at fail"} if causes[:1] and causes[0] not in near and severity[causes[0]] == "fail" else set()
    out |= {"silent"} if not rules else set()
    out |= {"asks"} if result is None else set()
    return out | ({"tellable"} if thread.get("tellable", True) else set())


def share(n, of):
    return f"{n} ({100 * n / of:.0f} %)" if of else "-"


def row(busbar, part, collected=None):
    counts = {}
    for path in sorted((THREADS / part).glob("*.yaml")):
        thread = yaml.safe_load(path.read_text())
        if collected and str(thread.get("collected")) != collected:
            continue
        columns = score(thread, judged(busbar, thread["log"]))
        for column in columns:
            counts[column] = counts.get(column, 0) + 1
        if part == "rules" and "--rules" in sys.argv:
            print(path.name, thread.get("cause"), judged(busbar, thread["log"]), sorted(columns))
    n = counts.get
    failed = n("failed", 0)
    return (f"| {part} | {failed} | {n('tellable', 0)} | {share(n('first', 0), failed)} | {share(n('class first', 0), failed)} | "
            f"{share(n('among three', 0), failed)} | {n('wrong at fail', 0)} | {n('silent', 0)} | {n('asks', 0)} | {n('sound', 0)} | {n('false alarm', 0)} |")


def table(busbar, collected=None):
    return "\n".join(["| part | failed jobs | cause shows in the lines | right first | it or its class first | among three | "
                      "wrong first, at fail | silent | of these, asks for more (status 2) | sound jobs | false alarms |",
                      "|---|---|---|---|---|---|---|---|---|---|---|",
                      row(busbar, "rules", collected), row(busbar, "scored", collected)]) + "\n"


def main():
    if "--rules" in sys.argv:
        print(row(sys.argv[1], "rules"))
        return
    if "--collected" in sys.argv:
        print(table(sys.argv[1], sys.argv[sys.argv.index("--collected") + 1]), end="")
        return
    write_section(PAGE, BEGIN, END, table(sys.argv[1]), "--check" in sys.argv, "tools/doctor_threads.py")


if __name__ == "__main__":
    main()
