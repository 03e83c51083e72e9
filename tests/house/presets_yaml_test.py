#!/usr/bin/env python3
"""Every preset, written as a file (`topo --yaml`), is the same machine when read back.

    tests/house/presets_yaml_test.py BUSBAR
"""
import json
import pathlib
import subprocess
import sys
import tempfile

MOST_WITH_PARTS = 128  # GPUs of machines whose devices and links are compared one by one
OF_INPUTS = ("inputs_hash", "run")  # names of files and times


def topo(busbar, *words):
    return subprocess.run([busbar, "topo", *words], capture_output=True, text=True, check=False)


def machine(done):
    found = json.loads(done.stdout)
    return {key: value for key, value in found.items() if key not in OF_INPUTS}


def complaint(busbar, name, file):
    """Why the preset is another machine when read back; empty if it is not."""
    written = topo(busbar, name, "--json", "--yaml", file)
    if written.returncode != 0:
        return written.stderr
    parts = ["--all"] if json.loads(written.stdout)["counts"]["gpus"] <= MOST_WITH_PARTS else []
    written, back = (topo(busbar, what, "--json", *parts) for what in (name, file))
    if back.returncode != 0:
        return back.stderr
    before, after = machine(written), machine(back)
    return "" if before == after else "differs in " + ", ".join(k for k in before if before[k] != after.get(k))


def main():
    busbar, wrong = sys.argv[1], 0
    entries = subprocess.run([busbar, "catalog", "nodes", "--json"], capture_output=True, text=True, check=True).stdout
    names = [e["name"] for e in json.loads(entries)["entries"]]
    with tempfile.TemporaryDirectory() as folder:
        file = str(pathlib.Path(folder) / "machine.yaml")
        for name in [*names, "dgx-h100:4", "gb200-nvl72:2", "rtx4090-pcie:3", "tpu-v5p:2"]:
            if found := complaint(busbar, name, file):
                print(f"WRONG {name}: {found.strip()}")
                wrong += 1
    print(f"{len(names)} presets, {wrong} wrong")
    return 1 if wrong or len(names) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
