#!/usr/bin/env python3
"""`busbar new` asks five questions at a terminal, each with a default, and writes what was answered.

    tests/house/new_test.py BUSBAR
"""
import os
import pathlib
import pty
import sys
import tempfile


def at_terminal(command, folder, answers):
    """Runs `command` in `folder` at a terminal of its own; returns what it shows."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execv(command[0], command)
    shown = b""
    os.write(terminal, ("".join(a + "\n" for a in answers) + "\x04").encode())  # then the end of input
    while True:
        try:
            more = os.read(terminal, 4096)
        except OSError:  # the other side has gone
            break
        if not more:
            break
        shown += more
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


def complaints(busbar):
    with tempfile.TemporaryDirectory() as folder:
        status, shown = at_terminal([busbar, "new"], folder, ["3", "dgx-a100", "4", "leaf-spine 2:1", "ours"])
        file = pathlib.Path(folder) / "ours.yaml"
        text = file.read_text() if file.exists() else ""
        for wanted in ("nodes: 3  # yours", "base: dgx-a100  # yours", "nics: 4  # yours", "kind: leaf-spine  # yours",
                       "oversubscription: 2  # yours", "name: ours  # yours"):
            if wanted not in text:
                yield f"the file lacks '{wanted}'; exit {status}: {shown}"
        status, shown = at_terminal([busbar, "new"], folder, [""] * 5)
        if status != 0 or "4 servers of dgx-h100" not in shown:
            yield f"empty answers are not the defaults; exit {status}: {shown}"
        if shown.count("]: ") != 5:
            yield f"not five questions: {shown}"


def main():
    found = list(complaints(os.path.abspath(sys.argv[1])))
    for line in found:
        print("WRONG", line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
