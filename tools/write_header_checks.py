#!/usr/bin/env python3
"""Writes a few sources that show together that each header under src/ compiles alone.

    tools/write_header_checks.py SRC DIR N     writes DIR/0.cc to DIR/<N-1>.cc, some of them empty

A source may include A before B and still show that B compiles alone, if B gains nothing from A:
- A is among what B includes itself, directly or not; or
- B has no word that A declares, and nothing that A defines is only declared in B and what B includes.
What A includes has to meet the same conditions. tools/check_standard_includes.py does the same for the standard library
and fmt; other foreign headers count as declaring everything. So headers are divided into as few chains as possible, each
header included by the next, and each chain goes into the first source where it gains nothing.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_standard_includes  # noqa: E402

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
FOREIGN = re.compile(r"^#include <([^>]+)>", re.MULTILINE)
BRACES = re.compile(r"\bnamespace\b[\s\w:]*\{|[{}]")
DECLARED = re.compile(r"(?:\b(?:struct|class|union|enum class|enum)|#define)\s+(\w+)|(\w+)\s*[(={;\[]")
OPENED = re.compile(r"\b(?:struct|class)\s+(\w+)\s*;")
DEFINED = re.compile(r"\b(?:struct|class|union)\s+(\w+)[^;{(]*\{")


def outer_code(code):
    """The part of `code` outside all braces but those of namespaces; "{" and ";" stand for what was in braces."""
    out, open_braces, at = [], [], 0
    for match in BRACES.finditer(code):
        if "inner" not in open_braces:
            out.append(code[at:match.start()])
        at = match.end()
        if match[0] == "}":
            if open_braces and open_braces.pop() == "inner" and "inner" not in open_braces:
                out.append(";")
        else:
            if match[0] == "{" and "inner" not in open_braces:
                out.append("{")
            open_braces.append("inner" if match[0] == "{" else "namespace")
    return "".join(out) + code[at:]


class Header:
    """What a header says by its own text."""

    def __init__(self, text):
        code = check_standard_includes.code_of(text)
        outer = outer_code(code)
        self.words = set(re.findall(r"[A-Za-z_]\w*", code))
        self.declared = {word for match in DECLARED.findall(outer) for word in match if word}
        self.defined = set(DEFINED.findall(outer))
        self.opened = set(OPENED.findall(outer))
        self.foreign = {name for name in FOREIGN.findall(text) if name not in check_standard_includes.NAMES and "fmt/" not in name}
        self.changes_others = bool(re.search(r"\boperator\b", outer) or re.search(r"template\s*<\s*>", code))


class Tree:
    """All headers: `includes` of each, and what one gains from another."""

    def __init__(self, texts):
        self.headers = {name: Header(text) for name, text in texts.items()}
        self.includes = {name: [other for other in INCLUDE.findall(text) if other in texts] for name, text in texts.items()}
        self.reached = {name: below | {name} for name, below in reached_from(self.includes).items()}
        self.incomplete, self.foreign = {}, {}
        for name, below in self.reached.items():
            parts = [self.headers[other] for other in below]
            self.incomplete[name] = set().union(*(p.opened for p in parts)) - set().union(*(p.defined for p in parts))
            self.foreign[name] = set().union(*(p.foreign for p in parts))
        self.known = {}

    def gains(self, name, other):
        """Whether the header `name` may compile only because `other`, which it does not include, came before it."""
        if (name, other) not in self.known:
            mine, its = self.headers[name], self.headers[other]
            self.known[name, other] = bool(its.changes_others or its.declared & mine.words or its.defined & self.incomplete[name] or
                                           its.foreign - self.foreign[name])
        return self.known[name, other]

    def may_follow(self, chain, before):
        """Whether `chain` gains nothing from the headers `before` it."""
        before = set(before)
        for name in chain:
            if any(self.gains(name, other) for other in before - self.reached[name]):
                return False
            before |= self.reached[name]
        return True

    def sources(self):
        """Lists of headers, one list per source."""
        out = []
        for chain in sorted(chains(self.includes), key=lambda chain: (len(self.reached[chain[-1]]), chain)):
            for names, before in out:
                if self.may_follow(chain, before):
                    break
            else:
                names, before = [], set()
                out.append((names, before))
            names += chain
            before.update(*(self.reached[name] for name in chain))
        return [names for names, _ in out]


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


def main(root, folder, most):
    texts = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in root.rglob("*.h")}
    sources = Tree(texts).sources()
    if len(sources) > most:
        sys.exit(f"{len(texts)} headers need {len(sources)} sources to show that each compiles alone, not {most}")
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(most):
        names = sources[number] if number < len(sources) else []
        text = "".join(f'#include "{name}"\n' for name in names + names)  # each header guards against a second time
        source = folder / f"{number}.cc"
        if not source.exists() or source.read_text(encoding="utf-8") != text:
            source.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]))
