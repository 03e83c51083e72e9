#!/usr/bin/env python3
"""Every preset that NCCL or RCCL runs on reads back from its own topology file (`topo --nccl-xml`), with as many GPUs.

    tests/house/presets_xml_test.py BUSBAR
"""
import json
import pathlib
import subprocess
import sys
import tempfile

# No file of NCCL's names their generation: they have other libraries, no compute capability is published, or no multi-GPU board exists.
NO_NCCL = {"cpu-only", "gaudi2-8", "gaudi3-8", "rubin-cpx-8", "strix-halo", "trn2"}
TOO_LARGE = "NCCL reads at most 256 elements"  # racks have a file per host


def run(busbar, *words):
    return subprocess.run([busbar, *words, "--json"], capture_output=True, text=True, check=False)


def complaint(busbar, name, file):
    """Why the preset does not read back; empty if it does or need not."""
    written = run(busbar, "topo", name, "--nccl-xml", file)
    if written.returncode != 0:
        return "" if TOO_LARGE in written.stderr else written.stderr
    back = run(busbar, "topo", file)
    if name in NO_NCCL:
        return "reads back although nothing names its GPUs" if back.returncode == 0 else ""
    if back.returncode != 0:
        return back.stderr
    before, after = (json.loads(done.stdout)["counts"]["gpus"] for done in (written, back))
    return "" if before == after else f"has {before} GPUs, and {after} when read back"


def main():
    busbar, wrong = sys.argv[1], 0
    names = [e["name"] for e in json.loads(run(busbar, "catalog", "nodes").stdout)["entries"]]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if found := complaint(busbar, name, str(pathlib.Path(folder) / "node.xml")):
                print(f"WRONG {name}: {found.strip()}")
                wrong += 1
    print(f"{len(names)} presets, {wrong} wrong")
    return 1 if wrong or len(names) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
