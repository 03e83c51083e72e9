"""tools/check_filesystem.py refuses calls that throw, and no other ones; commands answer names that cannot be looked up.

    tests/house/filesystem_test.py BUSBAR
"""
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())


class Check(unittest.TestCase):
    def check(self, line):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "src/busbar/base/a.cc")
            path.parent.mkdir(parents=True)
            path.write_text(f"#include <filesystem>\nstd::error_code failed;\n{line}\n")
            done = subprocess.run([sys.executable, ROOT / "tools/check_filesystem.py", folder], capture_output=True, text=True,
                                  check=False)
            return done.returncode, done.stdout

    def test_calls_without_an_error_code_are_refused_and_named(self):
        for line in ("std::filesystem::is_directory(word)", "fs::exists(name(a, b))", "fs::directory_iterator it(folder);",
                     "it->is_regular_file()", "it.increment()", "for (const auto& entry : fs::directory_iterator(folder)) {",
                     "fs::temp_directory_path()", "std::filesystem::path p = fs::canonical(root_ + path);"):
            code, text = self.check(line)
            self.assertEqual(code, 1, line)
            self.assertIn("a.cc:3: ", text)

    def test_calls_with_one_and_text_only_are_accepted(self):
        for line in ("fs::is_directory(word, failed)", "fs::path(name).parent_path()", "it.increment(failed)",
                     "for (fs::directory_iterator it(fs::path(a) / b, failed), end; it != end;) {",
                     "// fs::exists(name) would throw", "text.remove(3)"):
            self.assertEqual(self.check(line), (0, "1 files, 0 throwing calls\n"), line)

    def test_the_source_has_none(self):
        done = subprocess.run([sys.executable, ROOT / "tools/check_filesystem.py"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


class Names(unittest.TestCase):
    """Each is refused with a message, by every command that takes the name of a file."""

    COMMANDS = (["doctor"], ["train", "--cluster", "dgx-h100", "--model", "llama3-8b", "--measured"], ["import"],
                ["topo"], ["expect", "--cluster", "dgx-h100"], ["sweep"], ["topo", "dgx-h100", "--catalog"])

    def refused(self, name, folder):
        for words in self.COMMANDS:
            done = subprocess.run([BUSBAR, *words, name], capture_output=True, text=True, cwd=folder, check=False)
            self.assertEqual(done.returncode, 2, (words, name[:40], done.stderr))
            self.assertTrue(done.stderr.startswith("busbar: "), (words, done.stderr))
            self.assertNotIn("exception", done.stderr, words)

    def test_a_loop_of_links(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("b", pathlib.Path(folder, "a"))
            os.symlink("a", pathlib.Path(folder, "b"))
            self.refused("a", folder)
            self.refused("./a", folder)

    def test_a_name_longer_than_any_file_can_have(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refused("a" * 5000, folder)
            self.refused("b/" + "a" * 300, folder)

    @unittest.skipIf(os.geteuid() == 0, "root reads every folder")
    def test_a_folder_that_may_not_be_read(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "closed/inner").mkdir(parents=True)
            os.chmod(pathlib.Path(folder, "closed"), 0)
            self.refused("closed/inner", folder)
            os.chmod(pathlib.Path(folder, "closed"), 0o700)

    def test_an_archive_without_files_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "d").mkdir()
            os.symlink("d", pathlib.Path(folder, "link"))
            for name, mode, inside in (("dirs.tar", "w", "d"), ("dirs.tar.gz", "w:gz", "d"), ("link.tar", "w", "link")):
                with tarfile.open(pathlib.Path(folder, name), mode) as tar:
                    tar.add(pathlib.Path(folder, inside), arcname=inside)
                done = subprocess.run([BUSBAR, "doctor", name], capture_output=True, text=True, cwd=folder, check=False)
                self.assertEqual((done.returncode, done.stderr), (2, f"busbar: {name}: is an archive without a file in it\n"))


if __name__ == "__main__":
    unittest.main()
