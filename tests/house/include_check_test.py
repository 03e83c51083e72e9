"""tools/check_includes.py refuses what it must."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class IncludeCheck(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, "src", "busbar", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            done = subprocess.run([sys.executable, ROOT / "tools" / "check_includes.py", folder],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_accepts_an_arrow_that_spans_several_rooms(self):
        code, text = self.check({"base/a.h": "", "engine/b.h": '#include "busbar/base/a.h"\n'})
        self.assertEqual(code, 0, text)
        self.assertIn("0 back edges", text)

    def test_refuses_a_back_edge_and_names_the_line(self):
        code, text = self.check({"base/a.h": '\n#include "busbar/topology/t.h"\n', "topology/t.h": ""})
        self.assertEqual(code, 1)
        self.assertIn("a.h:2: back edge: base must not use topology", text)
        self.assertIn("1 back edges", text)

    def test_refuses_neighbours_without_an_arrow(self):
        code, text = self.check({"collectives/a.cc": '#include "busbar/topology/t.h"\n', "topology/t.h": ""})
        self.assertEqual(code, 1, text)

    def test_refuses_a_room_nobody_planned(self):
        code, text = self.check({"attic/a.h": "", "base/b.h": ""})
        self.assertEqual(code, 1, text)

    def test_refuses_relative_paths_that_hide_the_room(self):
        code, text = self.check({"base/a.cc": '#include "../topology/t.h"\n', "topology/t.h": ""})
        self.assertEqual(code, 1, text)

    def test_refuses_another_rooms_internals(self):
        code, text = self.check({"engine/a.cc": '#include "busbar/base/internal/x.h"\n', "base/internal/x.h": ""})
        self.assertEqual(code, 1, text)

    def test_refuses_a_room_that_uses_its_sub_room(self):
        files = {"engine/flow/f.h": "", "engine/internal/i.h": "", "engine/a.h": ""}
        for user, used, refused in (
            ("engine/b.cc", "engine/flow/f.h", True),
            ("engine/packet/b.cc", "engine/flow/f.h", True),
            ("engine/b_test.cc", "engine/flow/f.h", False),
            ("engine/flow/b.cc", "engine/flow/f.h", False),
            ("engine/flow/b.cc", "engine/a.h", False),
            ("engine/flow/b.cc", "engine/internal/i.h", False),
            ("engine/b.cc", "engine/internal/i.h", False),
            ("packet/b.cc", "engine/flow/f.h", False),
        ):
            code, text = self.check({**files, user: f'#include "busbar/{used}"\n'})
            self.assertEqual(code == 1, refused, (user, used, text))
        self.assertIn("0 back edges", text)

    def test_finding_no_source_at_all_is_a_failure(self):
        code, text = self.check({"base/readme.txt": ""})
        self.assertEqual(code, 1, text)


if __name__ == "__main__":
    unittest.main()
