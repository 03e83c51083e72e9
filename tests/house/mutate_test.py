"""tools/mutate changes code, one place at a time, and nothing else."""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "mutate"
loader = importlib.machinery.SourceFileLoader("mutate", str(TOOL))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)


class Changes(unittest.TestCase):
    def test_swaps_one_operator_at_a_time(self):
        self.assertCountEqual(mutate.changes_of("  if (a < b && c)"),
                              ["  if (a <= b && c)", "  if (a >= b && c)", "  if (a < b || c)"])

    def test_counts_one_more_and_removes_a_statement(self):
        self.assertCountEqual(mutate.changes_of("  left[f] = 7;"), ["  left[f] = 8;", ""])

    def test_leaves_types_text_and_comments_alone(self):
        for line in ("  std::vector<int> v;", '  name("a < b");', "// a < b", "#include <map>"):
            self.assertEqual([c for c in mutate.changes_of(line) if c], [], line)

    def test_leaves_checks_alone(self):
        self.assertEqual(mutate.changes_of("  BUSBAR_CHECK(a < b);"), [])


class Judging(unittest.TestCase):
    class FakeTests:
        def __init__(self, root, compiles, differs, passes):
            self.root, self.compile, self.differs = root, lambda room: compiles, lambda room: differs
            self.pass_ = lambda room: room in passes

    def test_names_what_happened_and_puts_the_file_back(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            file = pathlib.Path("src", "busbar", "solve", "a.cc")
            (root / file).parent.mkdir(parents=True)
            (root / file).write_text("one\ntwo\n")
            for compiles, differs, passes, verdict in (
                    (False, True, "", "no code"), (True, False, "", "no code"), (True, True, "predict", "solve"),
                    (True, True, "solve", "predict"), (True, True, "solve predict", "nobody")):
                tests = self.FakeTests(root, compiles, differs, passes.split())
                self.assertEqual(mutate.judge(tests, (file, 1, "three"), ["predict"]), verdict)
                self.assertEqual((root / file).read_text(), "one\ntwo\n")


class Copy(unittest.TestCase):
    def test_leaves_equal_files_and_the_build_untouched(self):
        with tempfile.TemporaryDirectory() as folder:
            tree, copy = pathlib.Path(folder, "tree"), pathlib.Path(folder, "copy")
            for path in (tree / "src", tree / "build", copy / "build"):
                path.mkdir(parents=True)
            (tree / "src" / "a.cc").write_text("one\n")
            (tree / "src" / "b.cc").write_text("two\n")
            (tree / "build" / "a.o").write_text("")
            mutate.copy_tree(tree, copy)
            self.assertFalse((copy / "build" / "a.o").exists())
            before = (copy / "src" / "a.cc").stat().st_mtime_ns
            (copy / "build" / "kept.o").write_text("")
            (copy / "src" / "b.cc").write_text("changed\n")
            (copy / "src" / "gone.cc").write_text("")
            mutate.copy_tree(tree, copy)
            self.assertEqual((copy / "src" / "a.cc").stat().st_mtime_ns, before)
            self.assertEqual((copy / "src" / "b.cc").read_text(), "two\n")
            self.assertFalse((copy / "src" / "gone.cc").exists())
            self.assertTrue((copy / "build" / "kept.o").exists())


if __name__ == "__main__":
    unittest.main()
