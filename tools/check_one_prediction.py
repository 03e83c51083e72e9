#!/usr/bin/env python3
"""Refuses code that prepares or times collectives without predict (DESIGN 4.11).

    tools/check_one_prediction.py [ROOT]

Only the rooms below predict, and predict itself, make engines, choose algorithms and lower calls. All others ask a
Predictor. Tests may do as they like. Exit 1 names the places.
"""
import pathlib
import re
import sys

BELOW = ("choice", "engine", "floors", "lowering", "packet", "predict")
MADE_THERE = re.compile(r"\b(make_(?:flow|analytic|packet)_engine|make_packet_chooser|resolve_algorithms?|"
                        r"run_packet_jobs|find_relief|build_nccl_comm)\(|\b(Lowering|NcclSchedules)\s+\w+[({;]")
# Draws what NCCL searches for.
EXEMPT = {"cli/cmd_rings.cc"}


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    rooms = root / "src" / "busbar"
    read = found = 0
    for path in sorted(rooms.rglob("*")):
        place = path.relative_to(rooms)
        if path.suffix not in (".h", ".cc") or path.stem.endswith("_test") or place.parts[0] in (*BELOW, "nccl"):
            continue
        read += 1
        if str(place) in EXEMPT:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if MADE_THERE.search(line.split("//")[0]):
                print(f"src/busbar/{place}:{number}: prepares collectives by itself; ask a Predictor")
                found += 1
    print(f"{read} files, {found} that do without predict")
    return 1 if found or not read else 0


if __name__ == "__main__":
    sys.exit(main())
