#!/usr/bin/env python3
"""Runs scenario files: commands with their expected output and exit status.

    tests/cli/run.py --busbar build/release/busbar [--update] FILE.test...

A scenario file holds cases. Everything of a case is on lines of its own; text is indented by four spaces.

    # a remark
    == a sentence about behaviour            begins a case
    file cluster.yaml:                       makes a file of the indented lines that follow
        gpus: 8
    bytes junk.yaml: random 4096 7           makes a file of 4096 random bytes (stream 7), or: hex fffe00, repeat 65 "a: "
    $ busbar topo cluster.yaml --json        one command, in a folder of its own where bench/, examples/ and data/ exist
    exit 0                                   compulsory
    stdout has "links"                       the text must occur; also: stdout lacks, stdout is empty; likewise stderr
    stderr has cluster.yaml:1:7
    json results[0].time_us = 5785 within 0.1%     also = == != < <= > >= with a number, a string or another path
    json results has 3                       number of entries; also: json results exists
    json sum parts_s = total_s within 0.1%   the same with the sum over the numbers of a map or list
    output m.svg has NVLink                  the same of a file that the command wrote; also: output m.svg lacks
    same twice                               a second run prints the same bytes (the key `run` of --json aside)
    stdout:                                  the whole of it, rewritten by --update
        GPUs: 8

Every case also demands that nothing is killed by a signal or hangs, that exit 2 comes with a message on stderr, that
--json with exit 0 prints one JSON value and nothing else, and that its schema is busbar.<command>/<number>.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIME_LIMIT_S = 120
SHARED = ("bench", "examples", "data", "tests")
INDENT = "    "


class BadScenario(Exception):
    pass


class Case:
    def __init__(self, name, line):
        self.name, self.line = name, line
        self.files = {}        # name -> bytes
        self.command = None
        self.exit = None
        self.checks = []       # (line number, text)
        self.golden = None     # (first line number of the block, lines)
        self.twice = False


def parse_bytes(recipe):
    kind, _, rest = recipe.strip().partition(" ")
    if kind == "hex":
        return bytes.fromhex(rest)
    if kind == "random":
        count, seed = (int(word) for word in rest.split())
        out, state = bytearray(), seed & 0xFFFFFFFF
        while len(out) < count:  # a plain linear congruential stream: the same bytes with every Python
            state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
            out.append(state >> 24)
        return bytes(out)
    if kind == "repeat":
        count, text = shlex.split(rest)
        return (text * int(count)).encode()
    raise BadScenario(f"unknown recipe '{recipe}'")


def parse(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    cases, at = [], 0

    def block():
        """The indented lines from here on."""
        nonlocal at
        found = []
        while at < len(lines) and (lines[at].startswith(INDENT) or not lines[at].strip()):
            found.append(lines[at][len(INDENT):])
            at += 1
        while found and not found[-1].strip():  # blank lines before the next directive are not part of the block
            found.pop()
            at -= 1
        return found

    while at < len(lines):
        line, number = lines[at], at + 1
        at += 1
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("== "):
            cases.append(Case(line[3:].strip(), number))
            continue
        if not cases:
            raise BadScenario(f"{path}:{number}: a file begins with '== a sentence'")
        case = cases[-1]
        if match := re.fullmatch(r"file (\S+):", line):
            case.files[match[1]] = "".join(text + "\n" for text in block()).encode()
        elif match := re.fullmatch(r"bytes (\S+): (.+)", line):
            case.files[match[1]] = parse_bytes(match[2])
        elif line.startswith("$ "):
            if case.command:
                raise BadScenario(f"{path}:{number}: one command a case")
            case.command = shlex.split(line[2:])
        elif match := re.fullmatch(r"exit (\d+)", line):
            case.exit = int(match[1])
        elif line == "same twice":
            case.twice = True
        elif line == "stdout:":
            case.golden = (at, block())
        elif re.match(r"(stdout|stderr) (has |lacks |is empty$)|output \S+ (has|lacks) |json ", line):
            case.checks.append((number, line))
        else:
            raise BadScenario(f"{path}:{number}: do not understand '{line}'")
    for case in cases:
        if not case.command or case.exit is None:
            raise BadScenario(f"{path}:{case.line}: '{case.name}' needs a '$ command' and an 'exit'")
    if not cases:
        raise BadScenario(f"{path}: no case in it")
    return cases


def lookup(value, path):
    """results[0].bound_by.link in a JSON value; KeyError names the missing key."""
    for name, index in re.findall(r"([A-Za-z_][\w-]*)|\[(-?\d+)\]", path):
        try:
            value = value[name] if name else value[int(index)]
        except (KeyError, IndexError, TypeError):
            raise KeyError(f"no '{name or index}' on the way along {path}") from None
    return value


def measure(path, value):
    """The value at a path; with "sum " before the path, the sum of the values there."""
    if not path.startswith("sum "):
        return lookup(value, path)
    parts = lookup(value, path[4:])
    return math.fsum(parts.values() if isinstance(parts, dict) else parts)


def operand(text, value):
    try:
        return json.loads(text)
    except ValueError:
        return lookup(value, text)


COMPARE = {
    "=": lambda a, b: a == b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}


def check_json(text, value):
    """None, or how `value` violates the rule `text`."""
    try:
        if match := re.fullmatch(r"(\S+) has (\d+)", text):
            count = len(lookup(value, match[1]))
            return None if count == int(match[2]) else f"{match[1]} has {count} entries"
        if match := re.fullmatch(r"(\S+) exists", text):
            lookup(value, match[1])
            return None
        if match := re.fullmatch(r"((?:sum )?\S+) = (\S+) within ([\d.]+)%", text):
            found, wanted = measure(match[1], value), operand(match[2], value)
            near = abs(found - wanted) <= abs(wanted) * float(match[3]) / 100
            return None if near else f"{match[1]} is {found}, {100 * (found / wanted - 1):+.3f} % off {wanted:.9g}"
        if match := re.fullmatch(r"(\S+) (==|=|!=|<=|>=|<|>) (.+)", text):
            found, wanted = lookup(value, match[1]), operand(match[3], value)
            return None if COMPARE[match[2]](found, wanted) else f"{match[1]} is {found!r}, not {match[2]} {wanted!r}"
    except (KeyError, TypeError) as error:
        return str(error)
    return f"do not understand the rule '{text}'"


def check_text(text, streams):
    stream, _, rule = text.partition(" ")
    found = streams[stream]
    if rule == "is empty":
        return None if not found else f"{stream} is not empty"
    verb, _, wanted = rule.partition(" ")
    present = wanted in found
    return None if present == (verb == "has") else f"{stream} {'lacks' if verb == 'has' else 'has'} '{wanted}'"


def check_output(text, outputs):
    """`text`: NAME has TEXT."""
    name, _, rule = text.partition(" ")
    if name not in outputs:
        return f"no file {name} was written"
    return check_text(text, {name: outputs[name]})


def without_run(text):
    """--json output without its volatile part; other text unchanged."""
    try:
        value = json.loads(text)
        return [(key, value[key]) for key in value if key != "run"]
    except (ValueError, TypeError, KeyError):
        return text


class Runner:
    def __init__(self, busbar):
        self.busbar = str(pathlib.Path(busbar).resolve())

    def execute(self, case, folder):
        command = [self.busbar if word == "busbar" and at == 0 else word for at, word in enumerate(case.command)]
        env = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": folder, "COLUMNS": "100"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                env[name] = os.environ[name]
        return subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=TIME_LIMIT_S)

    def run(self, case):
        """(complaints, stdout) of one case."""
        with tempfile.TemporaryDirectory() as folder:
            for name in SHARED:
                if (ROOT / name).is_dir():
                    os.symlink(ROOT / name, pathlib.Path(folder, name))
            for name, content in case.files.items():
                pathlib.Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
                pathlib.Path(folder, name).write_bytes(content)
            try:
                done = self.execute(case, folder)
                again = self.execute(case, folder) if case.twice else None
            except subprocess.TimeoutExpired:
                return [f"did not end within {TIME_LIMIT_S} s"], ""
            outputs = {path.name: path.read_text("utf-8", "replace") for path in pathlib.Path(folder).iterdir()
                       if path.is_file() and path.name not in case.files}
        streams = {"stdout": done.stdout.decode("utf-8", "replace"), "stderr": done.stderr.decode("utf-8", "replace")}
        complaints = self.judge(case, done.returncode, streams, outputs)
        if again and (again.returncode != done.returncode or not self.same(case, done.stdout, again.stdout)):
            complaints.append("a second run prints other bytes")
        if complaints and streams["stderr"]:
            complaints.append("stderr was:\n      " + streams["stderr"][-2000:].rstrip().replace("\n", "\n      "))
        return complaints, streams["stdout"]

    def same(self, case, first, second):
        if "--json" in case.command:
            return without_run(first) == without_run(second)
        return first == second

    def judge(self, case, code, streams, outputs):
        if code < 0:
            return [f"killed by signal {-code}"]
        complaints = [] if code == case.exit else [f"exit {code}, not {case.exit}"]
        if code == 2 and not streams["stderr"].strip():
            complaints.append("exit 2 without a message on stderr")
        value = None
        if "--json" in case.command and (code == 0 or streams["stdout"].strip()):
            try:
                value = json.loads(streams["stdout"])
                schema = value.get("schema", "")
                if not re.fullmatch(rf"busbar\.{re.escape(case.command[1])}/\d+", schema):
                    complaints.append(f"schema is '{schema}'")
            except (ValueError, AttributeError) as error:
                complaints.append(f"stdout is not one JSON object: {error}")
        for number, text in case.checks:
            if text.startswith("json "):
                problem = check_json(text[5:], value) if value is not None else "no JSON to look at"
            elif text.startswith("output "):
                problem = check_output(text[7:], outputs)
            else:
                problem = check_text(text, streams)
            if problem:
                complaints.append(f"line {number}: {problem}")
        if case.golden and "".join(line + "\n" for line in case.golden[1]) != streams["stdout"]:
            complaints.append(f"line {case.golden[0]}: stdout differs; read it with --update and git diff")
        return complaints


def rewrite(path, goldens):
    """Puts new texts in the place of old ones; `goldens` is [(first line, old count, new text)]."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for first, count, text in sorted(goldens, reverse=True):
        lines[first:first + count] = [(INDENT + line).rstrip() if line else "" for line in text.splitlines()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--busbar", required=True, help="the program that 'busbar' in the scenarios stands for")
    arguments.add_argument("--update", action="store_true", help="rewrite the 'stdout:' blocks with what comes out now")
    arguments.add_argument("files", nargs="+", type=pathlib.Path)
    options = arguments.parse_args()
    runner, failed, total = Runner(options.busbar), 0, 0
    for path in options.files:
        goldens = []
        try:
            cases = parse(path)
        except (BadScenario, OSError) as error:
            print(f"FAIL  {error}")
            failed += 1
            continue
        for case in cases:
            total += 1
            complaints, stdout = runner.run(case)
            if options.update and case.golden:
                goldens.append((case.golden[0], len(case.golden[1]), stdout))
                complaints = [text for text in complaints if "stdout differs" not in text]
            print(f"{'FAIL' if complaints else 'ok  '}  {path.name}:{case.line}: {case.name}")
            for text in complaints:
                print(f"      {text}")
            failed += bool(complaints)
        if goldens:
            rewrite(path, goldens)
    print(f"{total} cases, {failed} failed")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
