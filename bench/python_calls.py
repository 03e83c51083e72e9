#!/usr/bin/env python3
"""What a call from Python costs next to the model's own time.

    BUSBAR_LIBRARY=build/release/libbusbar.so bench/python_calls.py [CALLS]

Asks for the same path CALLS times in three ways, in turns, and prints the median time of each: in C alone (busbar_ask and
busbar_answer_free with a ready request), as a function of the package, and with a field read from its JSON.
"""
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

import busbar as bb  # noqa: E402
from busbar._library import LIBRARY  # noqa: E402

FIELDS = {"cluster": "rtx4090-pcie", "a": "0", "b": "1"}
REQUEST = b'{"question":"path","cluster":"rtx4090-pcie","a":"0","b":"1"}'


def in_c():
    LIBRARY.busbar_answer_free(LIBRARY.busbar_ask(REQUEST, None))


def in_python():
    bb.path(**FIELDS)


def with_a_field():
    return bb.path(**FIELDS).latency_ns


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    ways = (in_c, in_python, with_a_field)
    times = {way: [] for way in ways}
    for _ in range(calls):
        for way in ways:
            begin = time.perf_counter()
            way()
            times[way].append(time.perf_counter() - begin)
    for way in ways:
        print(f"{way.__name__:14} {1e6 * statistics.median(times[way]):8.1f} us")


if __name__ == "__main__":
    main()
