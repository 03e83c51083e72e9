"""tools/check_framework_names.py refuses what it must."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class FrameworkNames(unittest.TestCase):
    def check(self, line, names="name: nemo\naliases: [nemo-2, bigboss]\n"):
        with tempfile.TemporaryDirectory() as folder:
            code = pathlib.Path(folder, "src", "busbar", "spec", "a.cc")
            code.parent.mkdir(parents=True)
            code.write_text("\n" + line + "\n")
            catalog = pathlib.Path(folder, "catalog", "frameworks", "nemo.yaml")
            catalog.parent.mkdir(parents=True)
            if names:
                catalog.write_text(names)
            done = subprocess.run([sys.executable, ROOT / "tools" / "check_framework_names.py", folder],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_refuses_names_and_aliases_and_names_the_line(self):
        for line in ('if (framework == "nemo")', 'open("nemo:24.09")', 'return "bigboss";', 'f("NeMo")'):
            code, text = self.check(line)
            self.assertEqual(code, 1, line)
            self.assertIn("spec/a.cc:2:", text)

    def test_accepts_comments_and_sentences(self):
        for line in ('// as "nemo" does', 'help("for example nemo")', 'add("sets nothing");'):
            code, text = self.check(line)
            self.assertEqual(code, 0, text)

    def test_finding_no_framework_is_a_failure(self):
        self.assertEqual(self.check("", names="")[0], 1)


if __name__ == "__main__":
    unittest.main()
