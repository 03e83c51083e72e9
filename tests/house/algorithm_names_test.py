"""tools/check_algorithm_names.py refuses what it must."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = 'constexpr Algorithm kAlgorithms[] = {\n    {"ring", kAll, &build_ring},\n    {"tree",\n     kAll, &build_tree},\n};\n'
NCCL_TABLE = 'constexpr Names kNames[] = {{"Tree", "tree", true}, {"NVLSTree", "hierarchical(nvls,tree)", true}};'


class AlgorithmNames(unittest.TestCase):
    def check(self, name, text, table=TABLE):
        with tempfile.TemporaryDirectory() as folder:
            rooms = pathlib.Path(folder, "src", "busbar")
            for path, content in ((rooms / "collectives" / "algorithms.cc", table),
                                  (rooms / "nccl" / "algorithms.cc", NCCL_TABLE), (rooms / name, text)):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
            done = subprocess.run([sys.executable, ROOT / "tools" / "check_algorithm_names.py", folder],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_refuses_every_way_to_compare_and_names_the_line(self):
        for line in ('if (a.algorithm == "ring")', 'return "tree" != name;', 'std::find(b, e, "tree")',
                     'name.starts_with("ring(")', 'std::erase(names, "ring");', 'if (a == "nvlstree")'):
            code, text = self.check("engine/a.cc", "\n" + line + "\n")
            self.assertEqual(code, 1, line)
            self.assertIn("engine/a.cc:2:", text)

    def test_accepts_names_that_are_not_compared(self):
        for line in ('spec.algorithm = "ring";', '// where s.algorithm == "ring"', 'if (policy == "auto")'):
            code, text = self.check("engine/a.cc", line + "\n")
            self.assertEqual(code, 0, text)

    def test_accepts_comparisons_in_collectives_in_formats_and_in_tests(self):
        for name in ("collectives/levels.cc", "formats/astra.cc", "lowering/lowering_test.cc"):
            code, text = self.check(name, 'if (name == "ring") return;\n')
            self.assertEqual(code, 0, text)

    def test_finding_no_algorithm_is_a_failure(self):
        code, text = self.check("engine/a.cc", "", table="")
        self.assertEqual(code, 1, text)


if __name__ == "__main__":
    unittest.main()
