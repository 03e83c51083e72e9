"""cpack stops where it would make Debian packages without dependencies.

    tests/house/packaging_test.py
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Packaging(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.bin = pathlib.Path(self.folder.name)

    def stub(self, name, script=""):
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def cmake(self, script, *definitions):
        """Exit status and messages, with the stubs as the only programs."""
        words = ["/usr/bin/env", "cmake", "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", *definitions, "-P", ROOT / "cmake" / script]
        done = subprocess.run(words, capture_output=True, text=True, check=False,
                              env={"PATH": f"{self.bin}{os.pathsep}{self.cmake_folder()}"})
        return done.returncode, " ".join(done.stderr.split())

    def cmake_folder(self):
        """A folder with cmake and nothing else."""
        folder = self.bin / "cmake-only"
        folder.mkdir(exist_ok=True)
        program = subprocess.run(["sh", "-c", "command -v cmake"], capture_output=True, text=True, check=True).stdout.strip()
        if not (folder / "cmake").exists():
            (folder / "cmake").symlink_to(pathlib.Path(program).resolve())
        return folder

    def test_missing_programs_are_named_with_their_packages(self):
        self.stub("file")
        status, said = self.cmake("before_packages.cmake", "-DCPACK_GENERATOR=DEB")
        self.assertNotEqual(status, 0)
        self.assertIn("apt-get install file dpkg-dev", said)

    def test_a_tarball_needs_neither(self):
        self.assertEqual(self.cmake("before_packages.cmake", "-DCPACK_GENERATOR=TGZ"), (0, ""))

    def test_nothing_is_said_when_both_are_there(self):
        self.stub("file")
        self.stub("dpkg-shlibdeps")
        self.assertEqual(self.cmake("before_packages.cmake", "-DCPACK_GENERATOR=DEB"), (0, ""))

    def test_a_package_without_dependencies_is_an_error_and_removed(self):
        self.stub("dpkg-deb")
        package = self.bin / "busbar.deb"
        package.touch()
        status, said = self.cmake("check_packages.cmake", f"-DCPACK_PACKAGE_FILES={package}")
        self.assertNotEqual(status, 0)
        self.assertIn("has no dependencies", said)
        self.assertFalse(package.exists())

    def test_a_package_with_dependencies_stays(self):
        self.stub("dpkg-deb", 'echo "libc6 (>= 2.34)"')
        package = self.bin / "busbar.deb"
        package.touch()
        self.assertEqual(self.cmake("check_packages.cmake", f"-DCPACK_PACKAGE_FILES={package}"), (0, ""))
        self.assertTrue(package.exists())


if __name__ == "__main__":
    unittest.main()
