#!/usr/bin/env python3
"""Writes the flow lists with which packet simulators are compared.

    tools/packet_workloads.py FOLDER [W0 W1 ...]      no name: all

W0  one flow of 2 MB across leaves            W3  32 hosts send 1 MB each to host 0
W1  permutation of 128 hosts, 2 MB each       W4  ring all-reduce of 64 MiB over 64 hosts, W4b over 128
W2  permutation of 1,024 hosts, 2 MB each     W5  all-to-all of 64 hosts, 256 KiB per pair

The same bytes on every machine: permutations come from a 64-bit linear congruential generator (Knuth's MMIX constants).
"""
import pathlib
import sys

MIB = 1 << 20
MASK = (1 << 64) - 1


def cycle(n, seed):
    """A random permutation that is one cycle, so that no host sends to itself (Sattolo 1986)."""
    x = (seed * 2654435761 + 12345) & MASK
    to = list(range(n))
    for last in range(n - 1, 0, -1):
        x = (x * 6364136223846793005 + 1442695040888963407) & MASK
        other = (x >> 33) % last
        to[last], to[other] = to[other], to[last]
    return to


def permutation(n, size, seed):
    return [(a, b, size, "") for a, b in enumerate(cycle(n, seed))]


def ring(n, total):
    """2 (n - 1) rounds; a rank that has received from the left sends to the right."""
    return [(rank, (rank + 1) % n, total // n, (t - 1) * n + (rank - 1) % n if t else "")
            for t in range(2 * (n - 1)) for rank in range(n)]


WORKLOADS = {
    "W0": lambda: [(0, 127, 2_000_000, "")],
    "W1": lambda: permutation(128, 2_000_000, 1),
    "W2": lambda: permutation(1024, 2_000_000, 2),
    "W3": lambda: [(16 + 3 * k, 0, 1_000_000, "") for k in range(32)],
    "W4": lambda: ring(64, 64 * MIB),
    "W4b": lambda: ring(128, 64 * MIB),
    "W5": lambda: [(a, (a + k) % 64, 256 * 1024, "") for k in range(1, 64) for a in range(64)],
}


def main(words):
    if not words or words[0] in ("-h", "--help") or any(w not in WORKLOADS for w in words[1:]):
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(words[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in words[1:] or WORKLOADS:
        lines = ["id,src,dst,bytes,start_ns,after,trigger"]
        lines += [f"{i},{a},{b},{size},0,{after},acked" for i, (a, b, size, after) in enumerate(WORKLOADS[name]())]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
