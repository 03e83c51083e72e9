#!/usr/bin/env python3
"""Refuses two types of one name in one namespace: the linker would merge their functions without a warning. Refuses
files of a room that open a namespace outside the room's own: busbar::ROOM, or busbar itself in base.

    tools/check_type_names.py [ROOT]

Types in anonymous namespaces and nested types may share names; everything else may not. What may be in another room's
namespace are declarations of it (`class Machine;`) and functions that are found by their argument. Exit 1 names the places.
"""
import collections
import itertools
import pathlib
import re
import sys

TYPE = re.compile(r"(?:struct|class|enum class)\s+(\w+)(?![\w:<])[^;(]*\{")


NAMESPACE = re.compile(r"\s*namespace ([\w:]+) \{")
FOUND_BY_ARGUMENT = {"questions"}  # record_of() of the types of all rooms


def opens_elsewhere(path, room):
    """Lines of `path` that open the namespace of another room for more than declarations."""
    own = "busbar" if room == "base" else f"busbar::{room}"
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        opened = re.match(r"namespace (busbar[\w:]*) \{", line)
        if not opened or opened.group(1) == own or opened.group(1).startswith(own + "::"):
            continue
        if room in FOUND_BY_ARGUMENT:
            continue
        body = itertools.takewhile(lambda inner: not inner.startswith("}"), lines[number:])
        if not all(re.match(r"(class|struct) \w+;|//|$", inner) for inner in body):
            yield number


def outer_types(path):
    """Names of types that `path` defines in named namespaces, with these before them, and their lines."""
    anonymous_at, depth, named = None, 0, []  # names of open namespaces with the depths outside them
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code = line.split("//")[0]
        if anonymous_at is None and re.match(r"\s*namespace \{", code):
            anonymous_at = depth
        if opened := NAMESPACE.match(code):
            named.append((opened.group(1), depth))
        found = TYPE.match(code)
        if found and anonymous_at is None:
            yield "::".join([name for name, _ in named] + [found.group(1)]), number
        depth += code.count("{") - code.count("}")
        while named and depth <= named[-1][1]:
            named.pop()
        if anonymous_at is not None and depth <= anonymous_at:
            anonymous_at = None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    places = collections.defaultdict(list)
    elsewhere = []
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in (".h", ".cc"):
            where = path.relative_to(root)
            elsewhere += [f"{where}:{line}" for line in opens_elsewhere(path, where.parts[2])]
            for name, line in outer_types(path):
                places[name].append(f"{where}:{line}")
    twice = {name: where for name, where in places.items() if len(where) > 1}
    for name, where in sorted(twice.items()):
        print(f"type {name} is defined more than once: {', '.join(where)}")
    for where in elsewhere:
        print(f"{where} opens the namespace of another room")
    print(f"{len(places)} types, {len(twice)} names taken twice, {len(elsewhere)} foreign namespaces")
    return 1 if twice or elsewhere or not places else 0


if __name__ == "__main__":
    sys.exit(main())
