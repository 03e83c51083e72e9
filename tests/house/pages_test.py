"""Manual pages and completions agree with `--help`, and shells can read them.

    tests/house/pages_test.py BUSBAR
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())


def busbar(*words):
    return subprocess.run([BUSBAR, *words], capture_output=True, text=True, check=True).stdout


def commands():
    listed = busbar("--help").partition("Commands:\n")[2].partition("\n\n")[0]
    return [name for name in re.findall(r"^  (\w+) ", listed, re.MULTILINE)]


def flags(command):
    """Every spelling of every flag that --help of a command lists."""
    help_text = busbar(command, "--help").partition("Examples:")[0]
    heads = re.findall(r"^  (-[^ ]+)", help_text, re.MULTILINE)
    return [name for head in heads for name in head.split(",") if name not in ("-h", "--help")]


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.commands = commands()
        cls.flags = {name: flags(name) for name in cls.commands}

    def test_there_is_something_to_compare(self):
        self.assertGreater(len(self.commands), 8)
        self.assertIn("--html", self.flags["train"])
        self.assertIn("-b", self.flags["collective"])

    def test_no_command_has_two_flags_of_one_name_or_needs_a_flag_that_it_lacks(self):
        for command in self.commands:
            self.assertEqual(len(self.flags[command]), len(set(self.flags[command])), command)
            needed = re.findall(r"with (--[a-z-]+)(?: \w+)?: ", " ".join(busbar(command, "--help").split()))
            self.assertLessEqual(set(needed), set(self.flags[command]), command)

    def test_every_flag_of_every_command_is_in_its_manual_page(self):
        for command in self.commands:
            page = busbar("man", command).replace("\\-", "-").replace("\\(aq", "'")
            page = page.split(".SH FLAGS OF OTHER PROGRAMS")[0]
            options = re.findall(r"^\\fB(-.*)", page, re.MULTILINE)
            named = {name for line in options for name in re.findall(r"\\fB(-\S+)\\fR|, (-\S+)", "\\fB" + line)
                     for name in name if name}
            self.assertEqual(named - {"-h", "--help"}, set(self.flags[command]), command)

    def test_the_overview_names_every_command_with_its_page(self):
        page = busbar("man").replace("\\-", "-")
        for command in self.commands:
            self.assertIn(f".BR busbar-{command} (1)", page)

    def test_pages_have_neither_dates_nor_places(self):
        with tempfile.TemporaryDirectory() as folder:
            busbar("man", "--write", folder)
            names = sorted(path.name for path in pathlib.Path(folder).iterdir())
            self.assertEqual(names, sorted(["busbar.1"] + [f"busbar-{command}.1" for command in self.commands]))
            for path in pathlib.Path(folder).iterdir():
                self.assertRegex(path.read_text(), r'^\.TH BUSBAR\S* 1 "" "busbar [\d.]+" "Busbar"\n')

    @unittest.skipUnless(shutil.which("groff"), "no groff here")
    def test_groff_has_nothing_to_complain_about(self):
        for command in self.commands:
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=busbar("man", command), text=True,
                                  capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)

    def test_json_holds_the_page(self):
        answer = json.loads(busbar("man", "topo", "--json"))
        self.assertEqual((answer["schema"], answer["text"]), ("busbar.man/1", busbar("man", "topo")))

    def test_markdown_has_a_row_per_flag(self):
        page = busbar("man", "collective", "--markdown")
        for name in self.flags["collective"]:
            self.assertIn(f"`{name}`", page)


class Completion(unittest.TestCase):
    def check_syntax(self, shell):
        if not shutil.which(shell):
            self.skipTest(f"no {shell} here")
        done = subprocess.run([shell, "-n", "/dev/stdin"], input=busbar("completion", shell), text=True,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_bash_can_read_its_script(self):
        self.check_syntax("bash")

    def test_zsh_can_read_its_script(self):
        self.check_syntax("zsh")

    def test_fish_can_read_its_script(self):
        self.check_syntax("fish")

    def complete_in_bash(self, *words):
        script = busbar("completion", "bash") + 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _busbar; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "-", *words], capture_output=True, text=True, check=True)
        return done.stdout.split()

    def test_bash_completes_commands_flags_values_and_machines(self):
        self.assertEqual(self.complete_in_bash("busbar", "tra"), ["train"])
        self.assertEqual(self.complete_in_bash("busbar", "train", "--global"), ["--global-batch"])
        self.assertEqual(self.complete_in_bash("busbar", "train", "--engine", "a"), ["analytic"])
        self.assertEqual(self.complete_in_bash("busbar", "train", "--engine", "=", "p"), ["packet"])
        self.assertEqual(self.complete_in_bash("busbar", "topo", "dgx-h1"), ["dgx-h100", "dgx-h100-nvl256"])
        self.assertEqual(self.complete_in_bash("busbar", "collective", "dgx-h100", "all_r"), ["all_reduce"])
        self.assertEqual(self.complete_in_bash("busbar", "train", "--tp", ""), [])

    @unittest.skipUnless(shutil.which("fish"), "no fish here")
    def test_fish_completes_flags_and_values(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "busbar.fish")
            script.write_text(busbar("completion", "fish"))
            ask = f"source {script}; complete -C "
            for line, wanted in (("busbar tra", "train"), ("busbar train --global", "--global-batch"),
                                 ("busbar train --engine a", "analytic"), ("busbar topo dgx-h1", "dgx-h100")):
                done = subprocess.run(["fish", "-N", "-c", f"{ask}'{line}'"], capture_output=True, text=True, check=True,
                                      env={"HOME": folder, "PATH": "/usr/bin:/bin"})
                self.assertIn(wanted, [found.split("\t")[0] for found in done.stdout.splitlines()], line)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh here")
    def test_zsh_loads_its_script(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "_busbar").write_text(busbar("completion", "zsh"))
            ask = f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; print $_comps[busbar]; autoload +X _busbar"
            done = subprocess.run(["zsh", "-f", "-c", ask], capture_output=True, text=True, check=False,
                                  env={"HOME": folder, "PATH": "/usr/bin:/bin"})
            self.assertEqual((done.stdout, done.stderr, done.returncode), ("_busbar\n", "", 0))

    def test_an_unknown_shell_is_refused_by_name(self):
        done = subprocess.run([BUSBAR, "completion", "tcsh"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("bash, zsh or fish", done.stderr)


if __name__ == "__main__":
    unittest.main()
