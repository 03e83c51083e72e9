"""tests/cli/run.py turns red when it should."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE = '''#!/bin/sh
case "$1" in
  topo) echo '{"schema": "busbar.topo/1", "n": 1000, "list": [1, 2], "name": "x", "run": {"wall_s": '$$'}}' ;;
  moody) echo "$$" ;;
  refuse) echo "cluster.yaml:1:2: no" >&2; exit 2 ;;
  silent) exit 2 ;;
  killed) kill -9 $$ ;;
  show) cat "$2" ;;
  draw) echo '<svg>ring</svg>' > "$2" ;;
  noise) echo hello; echo '{"schema": "busbar.noise/1"}' ;;
esac
'''


class ScenarioRunner(unittest.TestCase):
    def run_scenario(self, text, *flags):
        with tempfile.TemporaryDirectory() as folder:
            fake = pathlib.Path(folder, "fake")
            fake.write_text(FAKE)
            fake.chmod(0o755)
            scenario = pathlib.Path(folder, "a.test")
            scenario.write_text(text)
            done = subprocess.run([sys.executable, ROOT / "tests/cli/run.py", "--busbar", fake, *flags, scenario],
                                  capture_output=True, text=True, check=False)
            self.after = scenario.read_text()
            return done.returncode, done.stdout + done.stderr

    def case(self, command, *rules):
        return "== a case\n$ busbar " + command + "\n" + "".join(rule + "\n" for rule in rules)

    def test_true_claims_pass(self):
        good = ("exit 0", "json n = 1001 within 0.1%", "json list has 2", "json sum list = 3 within 0.1%", 'json name = "x"', "json list[0] < n",
                "stdout has schema", "stdout lacks error", "stderr is empty", "same twice")
        code, text = self.run_scenario(self.case("topo --json", *good))
        self.assertEqual(code, 0, text)

    def test_each_false_claim_fails(self):
        for rule in ("json n = 1002 within 0.1%", "json sum list = 4 within 0.1%", "json list has 3", 'json name = "y"', "json list[0] > n",
                     "json missing.key = 1", "json list[7] = 1", "stdout has nowhere", "stdout lacks schema",
                     "stderr has schema", "stdout is empty", "stdout:\n    other"):
            with self.subTest(rule=rule):
                code, text = self.run_scenario(self.case("topo --json", "exit 0", rule))
                self.assertEqual(code, 1, text)

    def test_files_that_were_written_are_looked_at(self):
        self.assertEqual(self.run_scenario(self.case("draw m.svg", "exit 0", "output m.svg has ring"))[0], 0)
        for rule in ("output m.svg has square", "output m.svg lacks ring", "output n.svg has ring"):
            with self.subTest(rule=rule):
                self.assertEqual(self.run_scenario(self.case("draw m.svg", "exit 0", rule))[0], 1)

    def test_the_wrong_exit_status_fails(self):
        self.assertEqual(self.run_scenario(self.case("refuse", "exit 0"))[0], 1)
        self.assertEqual(self.run_scenario(self.case("refuse", "exit 2", "stderr has :1:2: no"))[0], 0)

    def test_rules_nobody_wrote_down_hold_too(self):
        for command, exit_line in (("silent", "exit 2"), ("killed", "exit 0"), ("noise --json", "exit 0")):
            with self.subTest(command=command):
                self.assertEqual(self.run_scenario(self.case(command, exit_line))[0], 1)

    def test_output_that_changes_between_runs_fails(self):
        self.assertEqual(self.run_scenario(self.case("moody", "exit 0", "same twice"))[0], 1)

    def test_files_are_made_as_written(self):
        text = "== a\nfile f:\n    a: 1\n      b\n\n$ busbar show f\nexit 0\nstdout:\n    a: 1\n      b\n"
        self.assertEqual(self.run_scenario(text)[0], 0)

    def test_update_rewrites_the_golden_text_and_nothing_else(self):
        text = "# r\n== a\nfile f:\n    new\n$ busbar show f\nexit 0\nstdout:\n    old\n    older\n\n== b\n$ busbar x\nexit 0\n"
        code, output = self.run_scenario(text, "--update")
        self.assertEqual(code, 0, output)
        self.assertEqual(self.after, text.replace("    old\n    older\n", "    new\n"))

    def test_a_scenario_that_claims_nothing_fails(self):
        for text in ("", "# only a remark\n", "== a\n$ busbar topo\n", "== a\nexit 0\n", "== a\n$ busbar topo\nexit 0\nhuh\n"):
            with self.subTest(text=text):
                self.assertEqual(self.run_scenario(text)[0], 1)


if __name__ == "__main__":
    unittest.main()
