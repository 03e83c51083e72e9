#!/usr/bin/env python3
"""Counts includes between rooms and refuses those against the direction of the arrows.

A folder in a room, other than internal/, is a sub-room. It may use its room, but neither the room nor another sub-room
may use it. Tests may use all of their room.

    tools/check_includes.py [ROOT]      prints the table; exit 1 where a back edge is found
"""
import collections
import pathlib
import re
import sys

# Every room with the rooms its arrows lead to, in order: a room may use these and all that they may use.
ROOMS = {
    "base": [],
    "solve": ["base"],
    "topology": ["base"],
    "routing": ["topology"],
    "collectives": ["base"],
    "program": ["topology", "collectives"],
    "trace": ["base"],
    "floors": ["routing", "program"],
    "lowering": ["solve", "routing", "program"],
    "engine": ["lowering", "floors", "trace"],
    "packet": ["engine"],
    "formats": ["topology", "collectives", "program", "trace"],
    "nccl": ["routing", "collectives"],
    "choice": ["nccl", "engine"],
    "workload": ["program"],
    "spec": ["topology", "workload"],
    "predict": ["choice", "packet", "spec"],
    "step": ["workload", "predict", "formats"],
    "cost": ["spec", "step"],
    "survive": ["step", "spec"],
    "plan": ["step"],
    "accuracy": ["step", "spec", "formats"],
    "popular": ["spec", "formats"],
    "host": ["formats"],
    "doctor": ["accuracy", "host", "nccl"],
    "runtime": ["program", "trace"],
    "study": ["base"],
    "report": ["base", "trace"],
}
ROOMS["questions"] = [room for room in ROOMS if room != "report"]
ROOMS["views"] = ["questions", "report"]
ROOMS["lines"] = ["questions", "report"]
ROOMS["api"] = ["lines", "views", "formats"]
ROOMS["cli"] = list(ROOMS)

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def reachable(room):
    """The room itself and every room below it."""
    found, open_rooms = {room}, [room]
    while open_rooms:
        for below in ROOMS[open_rooms.pop()]:
            if below not in found:
                found.add(below)
                open_rooms.append(below)
    return found


def sub_room(parts):
    """The folders below the room, of the path of a file below it."""
    return tuple(part for part in parts[:-1] if part != "internal")


def check_file(path, inside, room, allowed, counts):
    """Complaints about one file, `inside` being its path in its room; adds its includes to `counts`."""
    own = sub_room(inside.parts)
    complaints = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        parts = match.group(1).split("/")
        place = f"{path}:{number}"
        if parts[0] != "busbar" or len(parts) < 3:
            complaints.append(f"{place}: \"{match.group(1)}\": write the whole path, \"busbar/ROOM/...\"")
            continue
        other = parts[1]
        if other not in ROOMS:
            complaints.append(f"{place}: there is no room '{other}'")
            continue
        counts[room, other] += 1
        if other not in allowed:
            complaints.append(f"{place}: back edge: {room} must not use {other}")
        elif other != room and "internal" in parts:
            complaints.append(f"{place}: '{match.group(1)}' is private to {other}")
        elif other == room and not path.name.endswith("_test.cc"):
            used = sub_room(parts[2:])
            if own[: len(used)] != used:
                complaints.append(f"{place}: back edge: {'/'.join((room,) + own)} must not use {'/'.join((room,) + used)}")
    return complaints


def print_table(counts):
    used = [room for room in ROOMS if any(room in pair for pair in counts)]
    print("includes, row uses column ('!' marks a back edge):")
    print(" " * 12 + "".join(f"{room[:7]:>8}" for room in used))
    for room in used:
        allowed = reachable(room)
        cells = []
        for other in used:
            count = counts.get((room, other), 0)
            cells.append(f"{count or '.'}{'' if other in allowed or not count else '!'}")
        print(f"{room:<12}" + "".join(f"{cell:>8}" for cell in cells))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    source = root / "src" / "busbar"
    counts, complaints, files = collections.Counter(), [], 0
    for folder in sorted(source.iterdir()):
        if not folder.is_dir():
            continue
        if folder.name not in ROOMS:
            complaints.append(f"{folder}: no such room; rooms and their arrows are listed in {pathlib.Path(__file__).name}")
            continue
        allowed = reachable(folder.name)
        for path in sorted(p for p in folder.rglob("*") if p.suffix in (".h", ".cc")):
            files += 1
            complaints += check_file(path, path.relative_to(folder), folder.name, allowed, counts)
    print_table(counts)
    back = sum(n for (room, other), n in counts.items() if other not in reachable(room))
    print(f"{files} files, {sum(counts.values())} includes, {back} back edges")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if not files:
        print(f"{source}: no source files found", file=sys.stderr)
    return 1 if complaints or not files else 0


if __name__ == "__main__":
    sys.exit(main())
