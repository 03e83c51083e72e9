#!/usr/bin/env python3
"""Runs the commands of tutorials and compares their output with the page.

    tests/tutorials/run.py --busbar build/release/busbar [--update] PAGE.md...

Blocks fenced as ```console count. A line "$ command" is run by bash in a folder where examples/, data/, tests/, bench/
and docs/ exist, the same one for all blocks of a page; the lines below it, to the next "$ " or the end, are its output, errors too. A line "..."
stands for any number of lines; the line in which a report repeats its own command is left out. Every command must end with 0; one that is meant to fail says so: "$ command; echo $?".
--update rewrites the output and keeps as many lines before and after "..." as there were.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ("bench", "catalog", "data", "docs", "examples", "tests")
TIME_LIMIT_S = 120


def commands_of(lines):
    """(line number, command, first and last line of its output) of every command; numbers from 0."""
    inside, found = False, []
    for at, line in enumerate(lines):
        if line.startswith("```"):
            if inside and found:
                found[-1][3] = at if found[-1][3] is None else found[-1][3]
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            if found and found[-1][3] is None:
                found[-1][3] = at
            found.append([at, line[2:], at + 1, None])
    return found


def matches(shown, printed):
    """Whether `printed` equals `shown`, in which "..." stands for any lines."""
    if "..." not in shown:
        return shown == printed
    pattern = "".join("(?:.*\n)*" if line == "..." else re.escape(line + "\n") for line in shown)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def shortened(shown, printed):
    """`printed` without the part that `shown` omits."""
    if shown.count("...") != 1 or len(shown) > len(printed):
        return printed
    head = shown.index("...")
    tail = len(shown) - head - 1
    return printed[:head] + ["..."] + (printed[-tail:] if tail else [])


class Page:
    def __init__(self, path, busbar):
        self.path, self.busbar = path, busbar
        self.lines = path.read_text(encoding="utf-8").splitlines()

    def execute(self, command, folder):
        env = {"PATH": f"{folder}/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": folder}
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=TIME_LIMIT_S)
        echo = re.compile(r"^\$ busbar .*\n(?:[^\s].*\n)*", re.MULTILINE)
        printed = [line.rstrip() for line in echo.sub("", done.stdout).splitlines()]
        while printed and not printed[-1]:
            printed.pop()
        return done.returncode, printed

    def run(self, update):
        """Complaints; the page is rewritten when asked."""
        complaints, texts = [], []
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/bin")
            os.symlink(self.busbar, f"{folder}/bin/busbar")
            for name in SHARED:
                os.symlink(ROOT / name, f"{folder}/{name}")
            for at, command, first, last in commands_of(self.lines):
                status, printed = self.execute(command, folder)
                shown = [line.rstrip() for line in self.lines[first:last]]
                while shown and not shown[-1]:
                    shown.pop()
                if status != 0:
                    complaints.append(f"{self.path}:{at + 1}: exit {status}: {command}\n  " + "\n  ".join(printed[-5:]))
                elif update:
                    texts.append((first, last, shortened(shown, printed)))
                elif not matches(shown, printed):
                    complaints.append(f"{self.path}:{at + 1}: prints something else: {command}\n  " + "\n  ".join(printed))
        for first, last, text in reversed(texts):
            blank = [""] if last < len(self.lines) and self.lines[last].startswith("$ ") else []
            self.lines[first:last] = text + blank
        if update:
            self.path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        return complaints

    def count(self):
        return len(commands_of(self.lines))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--busbar", required=True)
    arguments.add_argument("--update", action="store_true")
    arguments.add_argument("pages", nargs="+", type=pathlib.Path)
    options = arguments.parse_args()
    failed = total = 0
    for path in options.pages:
        page = Page(path, pathlib.Path(options.busbar).resolve())
        complaints = page.run(options.update)
        for text in complaints:
            print(f"FAIL  {text}")
        total += page.count()
        failed += len(complaints)
    print(f"{total} commands, {failed} not as shown")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
