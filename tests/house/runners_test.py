"""./run and ./test never end with 0 after something in them failed."""
import os
import pty
import subprocess
import unittest

from stubs import House, NONE_INSTALLED

FAIL_WHEN = 'case "$*" in {0}) echo "pretended failure" >&2; exit {1};; esac'

# A build of 40 steps, the last of which ends it with the status given.
STEPS = '''case "$*" in *--build*)
  i=0; while [ "$i" -lt 40 ]; do
    i=$((i + 1)); echo "[$i/40] Building CXX object src/busbar/engine/CMakeFiles/busbar_engine.dir/Unity/unity_$i.o"
  done; exit {0};; esac'''


class Runners(unittest.TestCase):
    def expect(self, script, good, prepare=lambda house: None):
        with House() as house:
            prepare(house)
            done = house.run("bash", "./" + script)
            if good:
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            else:
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertNotIn("passed in", done.stdout)
            return done, house.log.read_text()

    def test_both_end_with_0_when_everything_works(self):
        done, calls = self.expect("run", True)
        self.assertIn("out/llama3-70b-512xh100.html", done.stdout)
        self.assertEqual(calls.count("busbar train"), 2)
        done, calls = self.expect("test", True)
        self.assertIn("all checks passed", done.stdout)
        self.assertEqual(calls.count("ctest "), 2)

    def test_every_step_of_test_can_fail_it(self):
        steps = {
            "cmake": ("*preset?checked*", "*preset?asan*", "*build?build/checked*", "*build?build/asan*"),
            "ctest": ("*build/checked*", "*build/asan*"),
        }
        for program, patterns in steps.items():
            for pattern in patterns:
                with self.subTest(program=program, step=pattern):
                    self.expect("test", False, lambda h, p=program, s=pattern: h.stub(p, FAIL_WHEN.format(s, 8)))

    def test_every_step_of_run_can_fail_it(self):
        for pattern in ("*preset?release*", "*build?build/release*"):
            self.expect("run", False, lambda h, s=pattern: h.stub("cmake", FAIL_WHEN.format(s, 1)))
        for pattern in ("*512xh100.yaml*", "*pp4.yaml*"):
            product = lambda h, s=pattern: h.write(h.top / "build/release/busbar", "busbar", FAIL_WHEN.format(s, 1))
            self.expect("run", False, product)

    def test_both_end_with_2_when_packages_cannot_be_had(self):
        def nobody(house):
            house.stub("dpkg-query", NONE_INSTALLED)
            house.stub("id", "echo 1000")
        for script in ("run", "test"):
            done, calls = self.expect(script, False, nobody)
            self.assertEqual(done.returncode, 2)
            self.assertFalse(any(line.startswith("cmake ") for line in calls.splitlines()), calls)

    def test_no_test_found_counts_as_failure(self):
        _, calls = self.expect("test", True)
        for line in calls.splitlines():
            if line.startswith("ctest "):
                self.assertIn("--no-tests=error", line)

    def test_a_build_says_every_tenth_how_far_it_is(self):
        done, _ = self.expect("run", True, lambda h: h.stub("cmake", STEPS.format(0)))
        lines = [line.strip() for line in done.stdout.splitlines()]
        for tenth in range(1, 11):
            self.assertIn(f"[{4 * tenth}/40] {10 * tenth} %", lines)
        self.assertEqual(sum("meanwhile" in line for line in lines), 1)

    def test_a_terminal_shows_the_step_in_one_line(self):
        with House() as house:
            house.stub("cmake", STEPS.format(0))
            ours, theirs = pty.openpty()
            with subprocess.Popen(["bash", "./run"], cwd=house.top, env=house.env(), stdin=subprocess.DEVNULL,
                                  stdout=theirs, stderr=theirs) as process:
                os.close(theirs)
                shown = read_all(ours)
            self.assertEqual(process.returncode, 0, shown)
            self.assertIn("\r   [17/40] 42 %: engine ", shown)
            self.assertNotIn("%\n", shown)
            shown.encode("ascii")  # any terminal can show it

    def test_progress_keeps_the_log_and_the_failure(self):
        with House() as house:
            house.stub("cmake", STEPS.format(1))
            done = house.run("bash", "./run")
            self.assertEqual(done.returncode, 2)
            self.assertIn("building failed", done.stderr)
            self.assertEqual((house.top / "build/release.log").read_text().count("Building CXX object"), 40)


def read_all(terminal):
    shown = b""
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    return shown.decode()


if __name__ == "__main__":
    unittest.main()
