#!/usr/bin/env python3
"""Checks that every header below src/ includes, itself or through others, what declares the types it uses.

    tools/check_header_names.py [ROOT]

The compiler cannot show this where a header comes after others, and compiling each header alone (target busbar_headers,
which tools/check_all builds) takes minutes. Types are the names that begin as types do here.
Exit 1 names the places.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_standard_includes  # noqa: E402
import write_header_checks  # noqa: E402

NAME = re.compile(r"(?<![\w:.>])(?:\w+::)*([A-Z]\w*[a-z]\w*)")
ATTRIBUTE = r"(?:(?:\[\[\w+\]\]|alignas\([^()]*(?:\([^()]*\))?[^()]*\))\s+)?"
DECLARED = re.compile(r"\b(?:enum class|enum|struct|class|concept|using|typename|typename\.\.\.|class\.\.\.)\s+" + ATTRIBUTE + r"(\w+)")


def declarers(tree):
    """{name: the headers that declare it outside of functions and types}."""
    out = {}
    for name, header in tree.headers.items():
        for word in header.declared:
            out.setdefault(word, set()).add(name)
    return out


def faults_of(name, texts, reached, given_by):
    """[(line number, type, a header that declares it)] of the header `name`, which reaches the headers `reached`."""
    code = {header: check_standard_includes.code_of(texts[header]) for header in reached}
    faults, told = [], {word for text in code.values() for word in DECLARED.findall(text)}
    for number, line in enumerate(code[name].splitlines(), 1):
        for word in NAME.findall(line):
            if word not in told and word in given_by:
                faults.append((number, word, min(given_by[word])))
            told.add(word)
    return faults


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    source = root / "src"
    texts = {str(path.relative_to(source)): path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.h"))}
    tree = write_header_checks.Tree(texts)
    given_by = declarers(tree)
    wrong = 0
    for header in texts:
        for line, name, where in faults_of(header, texts, tree.reached[header], given_by):
            wrong += 1
            print(f"src/{header}:{line}: {name} without \"{where}\"")
    print(f"{len(texts)} headers, {wrong} names without their header")
    return 1 if wrong or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
