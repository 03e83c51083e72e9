#!/usr/bin/env python3
"""Writes sources that show together that each header under src/ compiles alone.

    tools/write_header_checks.py SRC DIR     writes DIR/<header, "/" as ".">.cc for every header

A source that includes A and then B, where B includes A, shows it for both: what B finds before its first own line is
what it includes itself. So the headers are divided into as few chains as possible, each header reached from the next
by includes; the source of a chain's last header includes all of them, and the other sources are empty.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def reached_from(includes):
    """{header: all headers that it includes, directly or not}."""
    reached = {}

    def visit(header):
        if header not in reached:
            reached[header] = set()  # ends a circle
            for below in includes[header]:
                reached[header] |= {below} | visit(below)
        return reached[header]
    for header in includes:
        visit(header)
    return reached


def chains(includes):
    """As few lists as possible that hold every header once, each header reached from the next one of its list."""
    reached = reached_from(includes)
    below = {}  # header -> the one before it in its chain; a largest matching (Fulkerson 1956, from Dilworth's theorem)
    above = {}

    def extend(header, tried):
        for lower in sorted(reached[header] - {header}):
            if lower not in tried:
                tried.add(lower)
                if lower not in above or extend(above[lower], tried):
                    above[lower], below[header] = header, lower
                    return True
        return False
    for header in sorted(includes):
        extend(header, set())

    def chain_to(header):
        return (chain_to(below[header]) if header in below else []) + [header]
    return [chain_to(header) for header in sorted(includes) if header not in above]


def main(root, folder):
    texts = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in root.rglob("*.h")}
    includes = {header: [name for name in INCLUDE.findall(text) if name in texts] for header, text in texts.items()}
    last = {chain[-1]: chain for chain in chains(includes)}
    folder.mkdir(parents=True, exist_ok=True)
    for header in texts:
        # The header itself twice: it has to guard against that.
        lines = [f'#include "{name}"\n' for name in last.get(header, []) + ([header] if header in last else [])]
        source = folder / (header.replace("/", ".") + ".cc")
        if not source.exists() or source.read_text(encoding="utf-8") != "".join(lines):
            source.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
