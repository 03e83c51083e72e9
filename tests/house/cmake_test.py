"""The project configures with CMake 3.22 (Ubuntu 22.04), and without the libraries of the tests.

    tests/house/cmake_test.py
"""
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OLDEST = "3.22"


def configure(*options):
    """Exit status and output of cmake in a fresh folder, where find_package never finds GTest."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON",
                               "-DBUSBAR_MPI=OFF", *options], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Configuring(unittest.TestCase):
    def test_presets_and_lists_ask_for_the_cmake_of_ubuntu_22_04(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
        self.assertEqual(presets["version"], 3)  # the newest that CMake 3.22 reads
        oldest = presets["cmakeMinimumRequired"]
        self.assertEqual(f"{oldest['major']}.{oldest['minor']}", OLDEST)
        for name in ("CMakeLists.txt", "tests/package/CMakeLists.txt"):
            asked = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)", (ROOT / name).read_text(encoding="utf-8"))
            self.assertEqual(asked.group(1), OLDEST, name)

    def test_without_googletest_the_command_is_built_alone(self):
        status, said = configure()
        self.assertEqual(status, 0, said)
        self.assertIn("No tests: they need GoogleTest with GMock, rapidcheck and python3", said)
        self.assertRegex(said, r"tests +OFF")

    def test_tests_that_are_asked_for_are_not_left_out(self):
        status, said = configure("-DBUSBAR_TESTS=ON")
        self.assertNotEqual(status, 0)
        self.assertIn("GTest", said)


if __name__ == "__main__":
    unittest.main()
