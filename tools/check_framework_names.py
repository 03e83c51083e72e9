#!/usr/bin/env python3
"""Refuses the names of training frameworks in code: what they do is data, in catalog/frameworks (DESIGN 4.16).

    tools/check_framework_names.py [ROOT]

The names are the files of catalog/frameworks and their aliases. Help may mention one, tests may use them. Exit 1 names
the places.
"""
import pathlib
import re
import sys

from code_lines import code_lines

ALIASES = re.compile(r"^aliases: \[(.*)\]$", re.MULTILINE)
# They write and read the flags of other programs, whose names are titles there.
EXEMPT = {"questions/framework_flags.cc", "questions/flag_words.cc", "questions/flag_words.h"}


def names_in(root):
    names = set()
    for file in sorted(pathlib.Path(root, "catalog", "frameworks").glob("*.yaml")):
        names.add(file.stem)
        for aliases in ALIASES.findall(file.read_text(encoding="utf-8")):
            names.update(word.strip() for word in aliases.split(","))
    return sorted(names - {"other", "fsdp"})  # words of many things


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    names, found = names_in(root), 0
    literal = re.compile('"(?:' + "|".join(map(re.escape, names)) + ')[:"]', re.IGNORECASE)
    for place, number, code in code_lines(root, ()):
        if place not in EXEMPT and literal.search(code):
            print(f"src/busbar/{place}:{number}: names a framework; put what it does into catalog/frameworks")
            found += 1
    print(f"{len(names)} names of frameworks, {found} places with one")
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main())
