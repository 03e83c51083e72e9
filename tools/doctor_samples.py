#!/usr/bin/env python3
"""Runs the doctor over the samples in tests/fixtures and writes the table of docs/doctor.md (section Samples).

    tools/doctor_samples.py BUSBAR [--check]

KNOWN says what is wrong with each sample by its origin (tests/fixtures/README.md) or by reading it. A finding at warn or fail that
is not known is a false alarm, a known one that is not found is a miss. --check writes nothing and exits 1 if the page differs.
"""
import json
import pathlib
import subprocess
import sys

from page_section import write_section

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/doctor.md"
BEGIN, END = "<!-- samples: tools/doctor_samples.py -->\n", "<!-- end of samples -->\n"
FOLDERS = ("nccl-log", "nccl-tests", "nvidia-smi-topo", "ibnetdiscover")
# What is wrong, by the rules that should say so; samples that are not listed are sound.
KNOWN = {
    "mlperf11-dell-8xA100-pcie-bert.log": {"host-memory-copies", "p2p-level"},
    "mlperf20-azure-16x8-a100-rnnt.log": {"gdr-off", "sharp-failed", "p2p-level"},
    "mlperf21-azure-nc96ads-4xA100-pcie.log": {"pinned-algorithm"},
    "mlperf30-dell-2x4-a100-maskrcnn.log": {"gdr-off"},
    "mlperf50-dell-2x8-h200-bert.log": {"gdr-level", "nvls-off", "pinned-algorithm"},
    "mlperf51-dell-2x8-b200-llama2lora.log": {"mixed-nics", "nvls-off"},
    "dstack-8xh100-1nic.txt": {"machine-nic-far"},
}


def findings(busbar, file):
    """Rules at warn or fail; None if no line of the file says anything that a rule reads."""
    done = subprocess.run([busbar, "doctor", file, "--json", "--fail-on", "never"], capture_output=True, text=True, cwd=ROOT)
    if done.returncode == 2:
        return None
    return {f["rule"] for f in json.loads(done.stdout)["findings"] if f["severity"] != "note"}


def words(rules):
    return ", ".join(sorted(rules)) or "-"


def table(busbar):
    out = ["| sample | found, as known | missed | false alarm |", "|---|---|---|---|"]
    right = missed = wrong = sound = judged = 0
    for folder in FOLDERS:
        for path in sorted((ROOT / "tests/fixtures" / folder).iterdir()):
            got = findings(busbar, str(path.relative_to(ROOT)))
            if got is None:
                continue
            known = KNOWN.get(path.name, set())
            judged += 1
            right, missed, wrong = right + len(got & known), missed + len(known - got), wrong + len(got - known)
            sound += not known and not got
            out.append(f"| {path.name} | {words(got & known)} | {words(known - got)} | {words(got - known)} |")
    head = (f"{judged} samples are judged; the others say nothing that a rule reads, or leave the operation open. Of "
            f"{right + missed} known faults {right} are found; "
            f"{wrong} findings at warn or fail are false alarms; {sound} of {judged - len(KNOWN)} sound samples have no finding.")
    return head + "\n\n" + "\n".join(out) + "\n"


def main():
    write_section(PAGE, BEGIN, END, table(sys.argv[1]), "--check" in sys.argv, "tools/doctor_samples.py")


if __name__ == "__main__":
    main()
