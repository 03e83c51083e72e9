#!/usr/bin/env python3
"""Checks the threads that score the doctor, and prints how many there are of each kind.

    tools/check_threads.py [FOLDER]

Each file has its fields, stands in the part that the hash of its address says, and names a known cause. Exit 1 names the files that
do not. Without PyYAML it exits 77.
"""
import hashlib
import pathlib
import sys

try:
    import yaml
except ImportError:
    print("PyYAML is missing (python3-yaml)", file=sys.stderr)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[1]
ALWAYS = {"address", "title", "symptom", "seen", "healthy", "log"}
FAILED = {"cause", "accepted"}
MAYBE = {"release", "harmless", "tellable", "collected"}
LINES = 64


def part_of(address):
    """The part of the corpus that a thread belongs to."""
    return "scored" if int(hashlib.sha256(address.encode()).hexdigest(), 16) % 3 == 0 else "rules"


def faults_of(thread, part, causes):
    """What is wrong with one thread."""
    needed = ALWAYS if thread.get("healthy") else ALWAYS | FAILED
    if missing := sorted(needed - thread.keys()):
        yield f"lacks {', '.join(missing)}"
        return
    if unknown := sorted(thread.keys() - ALWAYS - FAILED - MAYBE):
        yield f"has unknown fields {', '.join(unknown)}"
    if part_of(thread["address"]) != part:
        yield f"belongs to {part_of(thread['address'])}/"
    if not thread["healthy"] and thread["cause"] not in causes:
        yield f"names the unknown cause {thread['cause']}"
    if not 1 <= len(thread["log"].strip("\n").split("\n")) <= LINES:
        yield f"has no log, or more than {LINES} lines"


def main(folder):
    causes = yaml.safe_load((folder / "causes.yaml").read_text(encoding="utf-8"))
    counts, seen, used, failed = {}, {}, set(), False
    for path in sorted(folder.glob("*/*.yaml")):
        thread = yaml.safe_load(path.read_text(encoding="utf-8"))
        faults = list(faults_of(thread, path.parent.name, causes))
        address = thread.get("address")
        if address in seen:
            faults.append(f"has the address of {seen[address].name}")
        seen[address] = path
        used.add(thread.get("cause"))
        kind = (path.parent.name, "sound" if thread.get("healthy") else "failed")
        counts[kind] = counts.get(kind, 0) + 1
        for fault in faults:
            print(f"{path}: {fault}", file=sys.stderr)
            failed = True
    for cause in sorted(causes.keys() - used):
        print(f"{folder / 'causes.yaml'}: no thread has the cause {cause}", file=sys.stderr)
        failed = True
    for (part, kind), count in sorted(counts.items()):
        print(f"{part} {kind}: {count}")
    print(f"causes: {len(causes)}")
    return failed


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/doctor/threads"))
