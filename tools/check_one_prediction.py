#!/usr/bin/env python3
"""Refuses code that times collectives without predict, or training steps without step (DESIGN 4.11, 4.16).

    tools/check_one_prediction.py [ROOT]

Only the rooms below predict, and predict itself, make engines, choose algorithms and lower calls. All others ask a
Predictor. Only step runs a program on an engine; all others ask step::predict() or its parts. Tests may do as they
like. Exit 1 names the places.
"""
import pathlib
import re
import sys

from code_lines import code_lines

BELOW = ("choice", "engine", "floors", "lowering", "nccl", "packet", "predict")
MADE_THERE = re.compile(r"\b(make_(?:flow|analytic|packet)_engine|make_packet_chooser|resolve_algorithms?|"
                        r"run_packet_jobs|find_relief|build_nccl_comm)\(|\b(Lowering|NcclSchedules)\s+\w+[({;]")
STEPS_MADE_THERE = re.compile(r"\bsimulate_step\(")
# They draw what NCCL searches for, or compare it with a log, and time nothing.
EXEMPT = {"questions/rings_question.cc", "doctor/logged_job.cc"}


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    read, found = 0, 0
    for place, number, code in code_lines(root, BELOW):
        read += 1
        if place not in EXEMPT and MADE_THERE.search(code):
            print(f"src/busbar/{place}:{number}: prepares collectives by itself; ask a Predictor")
            found += 1
        if not place.startswith("step/") and STEPS_MADE_THERE.search(code):
            print(f"src/busbar/{place}:{number}: times a training step by itself; ask step::predict()")
            found += 1
    print(f"{read} lines, {found} that do without predict or step")
    return 1 if found or not read else 0


if __name__ == "__main__":
    sys.exit(main())
