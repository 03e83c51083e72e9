"""tools/build_time compares the processor time of two commits, including child processes."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "build_time"
# Spends the given processor time in a child of a child, as a compiler below ninja does.
SPEND = """#!/bin/sh
{python} -c 'import time
while time.process_time() < {seconds}: pass' && true
exit {status}
"""


class BuildTime(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        self.git("init", "-q")

    def git(self, *words):
        done = subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words], cwd=self.top,
                              text=True, capture_output=True, check=True)
        return done.stdout.strip()

    def commit(self, seconds, status=0):
        script = self.top / "run"
        script.write_text(SPEND.format(python=sys.executable, seconds=seconds, status=status))
        script.chmod(0o755)
        self.git("add", "run")
        self.git("commit", "-q", "-m", "x")
        return self.git("rev-parse", "HEAD")

    def measure(self, *words):
        return subprocess.run([sys.executable, TOOL, "run", "--repository", self.top, *words], text=True,
                              capture_output=True, check=False)

    def test_prints_both_times_and_their_ratio(self):
        old = self.commit(1.5)
        self.commit(0.45)
        done = self.measure("--old", old)
        self.assertEqual(done.returncode, 0, done.stderr)
        percent = float(done.stdout.splitlines()[-1].split()[1])
        self.assertGreater(percent, 27)
        self.assertLess(percent, 42)  # starting Python costs both sides the same

    def test_ends_with_1_above_the_limit(self):
        old = self.commit(0.2)
        self.commit(0.6)
        self.assertEqual(self.measure("--old", old).returncode, 1)

    def test_a_command_that_fails_is_no_measurement(self):
        old = self.commit(0.01, status=1)
        done = self.measure("--old", old)
        self.assertEqual(done.returncode, 2)
        self.assertIn("ended with 1", done.stderr)
        self.assertNotIn("%", done.stdout)

    def test_one_side_alone_has_no_ratio(self):
        self.commit(0.01)
        done = self.measure("--only", "new")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("%", done.stdout)


if __name__ == "__main__":
    unittest.main()
