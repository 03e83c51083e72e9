"""The command needs no symbol of GLIBC above 2.34 (RHEL 9, Ubuntu 22.04); that of a portable build needs no library else.

    tests/house/portable_test.py BUSBAR [--alone]     --alone: of the preset portable
"""
import re
import subprocess
import sys
import unittest

ALONE = sys.argv.pop() if sys.argv[-1] == "--alone" else ""
BUSBAR = sys.argv.pop(1)
NEWEST = (2, 34)
EVERYWHERE = r"(lib(c|m|gcc_s)\.so|ld-linux)"  # come with GLIBC


def dump(what):
    return subprocess.run(["objdump", what, BUSBAR], capture_output=True, text=True, check=True).stdout


def too_new(symbols, newest):
    """Lines of `objdump -T` whose symbol came after version `newest` of GLIBC."""
    version = lambda line: re.search(r"\(?GLIBC_([0-9]+(?:\.[0-9]+)*)", line)
    found = [(tuple(int(n) for n in m.group(1).split(".")), line) for line in symbols.splitlines() if (m := version(line))]
    return [line for number, line in found if number > newest]


class Portable(unittest.TestCase):
    def test_a_symbol_that_is_too_new_is_found(self):
        line = "0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.35) hypot"
        self.assertEqual(too_new(line + "\n" + line.replace("2.35", "2.4"), NEWEST), [line])

    def test_no_symbol_is_newer_than_the_oldest_supported_glibc(self):
        symbols = dump("-T")
        self.assertIn("GLIBC_2", symbols)
        self.assertEqual(too_new(symbols, NEWEST), [])

    @unittest.skipUnless(ALONE, "not a portable build")
    def test_it_needs_no_library_but_those_of_glibc(self):
        needed = re.findall(r"NEEDED +(\S+)", dump("-p"))
        self.assertTrue(needed)
        self.assertEqual([name for name in needed if not re.match(EVERYWHERE, name)], [])
        self.assertNotRegex(dump("-T"), "GLIBCXX|CXXABI")


if __name__ == "__main__":
    unittest.main()
