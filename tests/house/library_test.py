"""libbusbar.so exports the committed list of functions under its ABI version, and a program in C runs with it.

    tests/house/library_test.py LIBRARY
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(sys.argv.pop(1)).resolve()
LIST = ROOT / "src/busbar/api/exports.txt"
HEADER = ROOT / "src/busbar/api/busbar_c.h"


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


class Library(unittest.TestCase):
    def abi(self):
        return re.search(r"define BUSBAR_ABI_VERSION (\d+)", HEADER.read_text(encoding="utf-8")).group(1)

    def test_it_exports_the_listed_functions_and_nothing_else(self):
        exported = sorted(line.split()[-1] for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines())
        listed = LIST.read_text(encoding="utf-8").splitlines()
        self.assertEqual([f"ABI {self.abi()}", *exported], listed,
                         f"write {LIST.name} anew; raise BUSBAR_ABI_VERSION if a function went or changed")

    def test_its_name_has_the_abi_version(self):
        self.assertRegex(output("objdump", "-p", LIBRARY), rf"SONAME +libbusbar\.so\.{self.abi()}\n")

    def test_a_program_in_c_asks_it_and_it_prints_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "asks")
            pathlib.Path(folder, "busbar").symlink_to(HEADER.parent)  # as it is installed
            output("cc", "-std=c99", "-Wall", "-Werror", ROOT / "tests/package/main.c", f"-I{folder}", "-o", program, LIBRARY)
            run = subprocess.run([program], capture_output=True, text=True, check=True, cwd=folder,
                                 env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent)})
        self.assertEqual(run.stdout, "NVL, 500 ns\n")
        self.assertEqual(run.stderr, "")


if __name__ == "__main__":
    unittest.main()
