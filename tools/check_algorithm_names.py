#!/usr/bin/env python3
"""Refuses comparisons of an algorithm's name outside src/busbar/collectives: use its traits (DESIGN 4.12).

    tools/check_algorithm_names.py [ROOT]

The names are those of src/busbar/collectives/algorithms.cc. Tests may compare them, and formats reads files in which
others name theirs. Exit 1 names the places.
"""
import pathlib
import re
import sys

ENTRY = re.compile(r'^    \{"(\w+)",', re.MULTILINE)
EXEMPT = ("collectives", "formats")


def comparison_with(names):
    name = r'"(?:' + "|".join(names) + r')[("]'
    return re.compile(rf"[!=]=\s*{name}|{name}\s*[!=]=|(?:starts_with|std::(?:find|count|erase))\([^;]*{name}")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    rooms = root / "src" / "busbar"
    names = ENTRY.findall((rooms / "collectives" / "algorithms.cc").read_text(encoding="utf-8"))
    compares = comparison_with(names)
    found = 0
    for path in sorted(rooms.rglob("*")):
        if path.suffix not in (".h", ".cc") or path.stem.endswith("_test"):
            continue
        if path.relative_to(rooms).parts[0] in EXEMPT:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if compares.search(line.split("//")[0]):
                print(f"{path.relative_to(root)}:{number}: compares an algorithm's name; ask traits_of() or Schedule::traits")
                found += 1
    print(f"{len(names)} algorithms, {found} comparisons of their names")
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main())
