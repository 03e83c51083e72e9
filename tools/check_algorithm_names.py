#!/usr/bin/env python3
"""Refuses comparisons of an algorithm's name outside src/busbar/collectives: use its traits (DESIGN 4.12).

    tools/check_algorithm_names.py [ROOT]

The names are those of src/busbar/collectives/algorithms.cc, and NCCL's in nccl/algorithms.cc in small letters. Tests
may compare them, and formats reads files in which others name theirs. Exit 1 names the places.
"""
import pathlib
import re
import sys

from code_lines import code_lines

ENTRY = re.compile(r'^    \{"(\w+)",', re.MULTILINE)
NCCL_ENTRY = re.compile(r'\{"(\w+)", "[\w(),]+", (?:true|false)\}')
EXEMPT = ("collectives", "formats")


def comparison_with(names):
    name = r'"(?:' + "|".join(names) + r')[("]'
    return re.compile(rf"[!=]=\s*{name}|{name}\s*[!=]=|(?:starts_with|std::(?:find|count|erase))\([^;]*{name}")


def names_in(root):
    rooms = pathlib.Path(root) / "src" / "busbar"
    names = ENTRY.findall((rooms / "collectives" / "algorithms.cc").read_text(encoding="utf-8"))
    nccl = rooms / "nccl" / "algorithms.cc"
    if names and nccl.exists():
        names += [name.lower() for name in NCCL_ENTRY.findall(nccl.read_text(encoding="utf-8"))]
    return sorted(set(names))


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    names, found = names_in(root), 0
    compares = comparison_with(names)
    for place, number, code in code_lines(root, EXEMPT):
        if compares.search(code):
            print(f"src/busbar/{place}:{number}: compares an algorithm's name; ask traits_of() or Schedule::traits")
            found += 1
    print(f"{len(names)} algorithms, {found} comparisons of their names")
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main())
