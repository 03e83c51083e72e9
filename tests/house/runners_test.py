"""./run and ./test never end with 0 after something in them failed."""
import unittest

from stubs import House, NONE_INSTALLED

FAIL_WHEN = 'case "$*" in {0}) echo "pretended failure" >&2; exit {1};; esac'


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


if __name__ == "__main__":
    unittest.main()
