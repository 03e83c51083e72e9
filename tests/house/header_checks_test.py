"""tools/write_header_checks.py: what one source may show about several headers."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import write_header_checks  # noqa: E402


class Chains(unittest.TestCase):
    def test_each_header_is_in_one_chain_and_reached_from_the_next(self):
        includes = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d"], "f": []}
        chains = write_header_checks.chains(includes)
        self.assertEqual(sorted(sum(chains, [])), sorted(includes))
        reached = write_header_checks.reached_from(includes)
        for chain in chains:
            for lower, upper in zip(chain, chain[1:]):
                self.assertIn(lower, reached[upper])
        self.assertEqual(len(chains), 3)  # b, c and f do not reach each other

    def test_a_chain_may_skip_headers(self):
        self.assertEqual(len(write_header_checks.chains({"a": [], "x": ["a"], "y": ["a"], "b": ["x", "y"], "c": ["b"]})), 2)

    def test_a_header_that_leans_on_another_does_not_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            root, out = pathlib.Path(folder, "src"), pathlib.Path(folder, "out")
            root.mkdir()
            (root / "whole.h").write_text("#pragma once\nstruct Whole {};\n")
            (root / "user.h").write_text('#pragma once\n#include "whole.h"\nstruct User { Whole w; };\n')
            (root / "leaning.h").write_text("#pragma once\nstruct Leaning { Whole w; };\n")
            (root / "twice.h").write_text('#include "whole.h"\nstruct Twice {};\n')
            subprocess.run([sys.executable, TOOLS / "write_header_checks.py", root, out], check=True)
            compiles = {source.stem: subprocess.run(["c++", "-fsyntax-only", f"-I{root}", source], check=False,
                                                    capture_output=True).returncode == 0 for source in out.iterdir()}
            self.assertEqual(compiles, {"whole.h": True, "user.h": True, "leaning.h": False, "twice.h": False})


if __name__ == "__main__":
    unittest.main()
