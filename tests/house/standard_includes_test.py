"""tools/check_standard_includes.py: which standard header a name asks for."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_standard_includes.py"


def check(**headers):
    """(exit status, output) for a tree with these headers."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "src")
        source.mkdir()
        for name, text in headers.items():
            (source / f"{name}.h").write_text(text)
        done = subprocess.run([sys.executable, CHECK, folder], check=False, capture_output=True, text=True)
        return done.returncode, done.stdout


class Names(unittest.TestCase):
    def test_a_name_needs_its_header(self):
        self.assertEqual(check(a="#include <map>\nstd::map<int, int> m;\n")[0], 0)
        status, text = check(a="#include <map>\n\nstd::vector<int> v;\n")
        self.assertEqual((status, text.splitlines()[0]), (1, "src/a.h:3: std::vector without <vector>"))

    def test_a_header_of_ours_gives_what_it_includes(self):
        self.assertEqual(check(a="#include <vector>\n", b='#include "a.h"\nstd::vector<int> v;\n')[0], 0)
        self.assertEqual(check(a="#include <vector>\n", b="std::vector<int> v;\n")[0], 1)

    def test_comments_and_strings_use_nothing(self):
        self.assertEqual(check(a='// std::vector\nconst char* s = "std::map";\n')[0], 0)

    def test_a_name_that_the_table_lacks_is_refused(self):
        self.assertIn("src/a.h:1: std::jthread is not in the table", check(a="std::jthread t;\n")[1])

    def test_a_tree_without_headers_is_refused(self):
        self.assertEqual(check()[0], 1)


if __name__ == "__main__":
    unittest.main()
