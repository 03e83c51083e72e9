#!/usr/bin/env python3
"""Refuses calls of std::filesystem that throw: a loop of links or a long name would end the command without a message.

    tools/check_filesystem.py [ROOT]

Every call that asks the system must pass a std::error_code; a range-based for over a folder cannot. Members count for
iterators and entries with the names `it` and `entry`. Exit 1 names the places. Tests may throw.
"""
import pathlib
import re
import sys

LIBRARY = r"(?:fs|filesystem)::"
ASKS = (r"absolute|canonical|weakly_canonical|relative|proximate|copy|copy_file|copy_symlink|create_director(?:y|ies)|"
        r"create_\w*link|current_path|exists|equivalent|file_size|hard_link_count|last_write_time|permissions|read_symlink|"
        r"remove|remove_all|rename|resize_file|space|status|symlink_status|temp_directory_path|is_\w+")
ITERATOR = r"(?:recursive_)?directory_iterator"
CALLS = (re.compile(rf"{LIBRARY}({ASKS}|{ITERATOR}(?:\s+\w+)?)\s*([({{])"),
         re.compile(rf"\b(?:it|entry)(?:->|\.)({ASKS}|increment|refresh)\s*(\()"))
LOOP = re.compile(rf"for\s*\([^;()]*:\s*(?:std::)?{LIBRARY}{ITERATOR}")
CODE = re.compile(r"std::error_code&?\s+(\w+)")


def arguments(text, opening):
    """The text between the bracket at `opening` and the one that closes it."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] in "({") - (text[at] in ")}")
        if depth == 0:
            return text[opening + 1:at]
    return text[opening + 1:]


def throwing_calls(text):
    """Line and name of each call without an error code."""
    text = re.sub(r"//[^\n]*", "", text)
    if "<filesystem>" not in text:
        return
    codes = set(CODE.findall(text))
    for pattern in CALLS:
        for call in pattern.finditer(text):
            if not codes & set(re.findall(r"\w+", arguments(text, call.start(2)))):
                yield text.count("\n", 0, call.start()) + 1, call[1]
    for loop in LOOP.finditer(text):
        yield text.count("\n", 0, loop.start()) + 1, "range-based for"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    files = [p for p in sorted((root / "src").rglob("*")) if p.suffix in (".h", ".cc") and not p.stem.endswith("_test")]
    found = {(path, *call) for path in files for call in throwing_calls(path.read_text(encoding="utf-8"))}
    for path, line, name in sorted(found):
        print(f"{path.relative_to(root)}:{line}: {name} throws; pass a std::error_code")
    print(f"{len(files)} files, {len(found)} throwing calls")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
