"""The installed command alone does what the README and the help show: a copy of it in an empty folder, no sources near.

    tests/house/without_checkout_test.py BUSBAR
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSBAR = pathlib.Path(sys.argv.pop(1)).resolve()
EMBEDDED = re.compile(r"\b(examples|data/measured)/")
README_ONLY_BY_HAND = {"busbar explore"}  # serves until it is stopped; explore_test.py asks it
HELP_ONLY_BY_HAND = {  # tens of seconds each; the first and the last words are tried by other lines
    "busbar validate data/measured/collectives.csv",
    "busbar validate data/measured/collectives.csv --only 'collective=all_reduce,size_bytes>1048575'",
    "busbar sweep examples/sweep.yaml --threads 2 --out study.db --json",
}


def commands_of_readme():
    """Of the table of commands and of the examples."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^(?:\| `|\$ )(busbar [^`\n]*)", text, re.MULTILINE)


class WithoutCheckout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        top = pathlib.Path(cls.folder.name)
        (top / "bin").mkdir()
        shutil.copy(BUSBAR, top / "bin" / "busbar")
        cls.empty = top / "empty"
        cls.empty.mkdir()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def busbar(self, command):
        env = {"PATH": f"{self.folder.name}/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": self.folder.name}
        return subprocess.run(["bash", "-c", command], cwd=self.empty, env=env, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False, timeout=300)

    def assert_works(self, command):
        done = self.busbar(command)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout[-500:]}{done.stderr[-1000:]}")
        for line in done.stderr.splitlines():
            self.assertRegex(line, EMBEDDED, command)
        return done

    def test_every_line_of_the_readme(self):
        lines = commands_of_readme()
        self.assertGreater(len(lines), 15)
        for line in lines:
            if line not in README_ONLY_BY_HAND:
                with self.subTest(line):
                    self.assert_works(line)

    def test_the_first_steps_of_the_help(self):
        steps = re.findall(r"^  (busbar .*)$", self.busbar("busbar help").stdout.partition("First steps:")[2], re.MULTILINE)
        self.assertGreater(len(steps), 1)
        for line in steps:
            self.assert_works(line)

    def test_examples_of_the_help_that_read_an_example(self):
        tried = 0
        overview = self.busbar("busbar help").stdout.partition("Commands:\n")[2].partition("\n\n")[0]
        for command in re.findall(r"^  (\w+) ", overview, re.MULTILINE):
            examples = self.busbar(f"busbar help {command}").stdout.partition("\nExamples:\n")[2]
            for line in re.findall(r"^  (busbar .*)$", examples, re.MULTILINE):
                if EMBEDDED.search(line) and line not in HELP_ONLY_BY_HAND:
                    with self.subTest(line):
                        self.assert_works(line)
                    tried += 1
        self.assertGreater(tried, 15)

    def test_an_example_finds_the_machine_that_it_names(self):
        done = self.assert_works("busbar train examples/llama3-8b-64xcards-100g.yaml")
        self.assertIn("examples/cards-100g.yaml is no file here; its built-in copy was read", done.stderr)

    def test_a_built_in_example_gives_the_answer_of_the_file(self):
        command = f"busbar train {shlex.quote('examples/llama3-70b-512xh100.yaml')} --json"
        built_in = json.loads(self.assert_works(command).stdout)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "examples", f"{folder}/examples")
            done = subprocess.run([BUSBAR, *shlex.split(command)[1:]], cwd=folder, capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")
        for answer in (built_in, of_file := json.loads(done.stdout)):
            answer.pop("run")
        self.assertEqual(built_in, of_file)  # inputs_hash too

    def test_a_file_of_the_user_precedes_the_built_in_one(self):
        folder = self.empty / "examples"
        folder.mkdir()
        self.addCleanup(shutil.rmtree, folder)
        (folder / "sweep.yaml").write_text("command: none\n", encoding="utf-8")
        done = self.busbar("busbar sweep examples/sweep.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no command 'none'", done.stderr)

    def test_no_cell_of_the_sweep_fails(self):
        answer = json.loads(self.assert_works("busbar sweep examples/sweep.yaml --json").stdout)
        self.assertEqual((answer["rows"], answer["failed"]), (80, 0))


if __name__ == "__main__":
    unittest.main()
