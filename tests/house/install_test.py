"""The files that `cmake --install` writes work by themselves: the command, the CMake package, the pkg-config file.

    tests/house/install_test.py BUILD_FOLDER
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SAID = ("^gpu0 to gpu7: 450 GB/s on the wire\nall_reduce of 1 GiB: [0-9]{4} us\nstep of llama3-8b: [0-9.]+ s\n"
        "in the fastest layout: [0-9.]+ s\n$")


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        staged = pathlib.Path(cls.folder.name, "staged")
        run("cmake", "--install", BUILD, "--prefix", staged)
        cls.prefix = pathlib.Path(cls.folder.name, "moved")  # no file may depend on its first place
        staged.rename(cls.prefix)
        cls.lib = next(cls.prefix.glob("lib/**/libbusbar.a")).parent

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def busbar(self, *words):
        clean = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        return run(self.prefix / "bin/busbar", *words, env=clean, cwd=self.folder.name)

    def test_the_command_runs_an_installed_example_far_from_its_sources(self):
        example = self.prefix / "share/busbar/examples/llama3-70b-512xh100.yaml"
        self.assertIn("MFU", self.busbar("train", example))

    def test_headers_include_each_other_and_no_helper_of_tests_is_among_them(self):
        folder = self.prefix / "include"
        headers = {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*.h")}
        self.assertIn("busbar/predict/predictor.h", headers)
        self.assertIn("#include \"busbar/questions/path_question.h\"", headers["busbar/busbar.h"])
        self.assertIn("busbar/busbar_c.h", headers)
        for name, text in headers.items():
            self.assertNotRegex(name, "/(internal/|test_|random_|fake_|fixture)")
            for used in re.findall(r'#include "(busbar/[^"]+)"', text):
                self.assertIn(used, headers, name)

    def test_the_installed_catalogue_says_what_is_built_in(self):
        folder = self.prefix / "share/busbar/catalog"
        for words in (["topo", "dgx-h100:4", "--all", "--json"], ["catalog", "dgx-h100", "--json"]):
            ours, theirs = json.loads(self.busbar(*words)), json.loads(self.busbar(*words, "--catalog", folder))
            for answer in (ours, theirs):
                answer.pop("run", None)
                answer.pop("inputs_hash", None)  # of the command line too
            self.assertEqual(ours, theirs)
        built_in = ROOT / "catalog"
        names = lambda root: sorted(str(path.relative_to(root)) for path in root.rglob("*.yaml"))
        self.assertEqual(names(folder), names(built_in))

    def test_every_command_has_its_manual_page_and_shells_their_completions(self):
        listed = self.busbar("--help").partition("Commands:\n")[2].partition("\n\n")[0]
        commands = re.findall(r"^  (\w+) ", listed, re.MULTILINE)  # deeper lines go on with a description
        wanted = {f"busbar-{command}.1" for command in commands} | {"busbar.1"}
        self.assertEqual({path.name for path in (self.prefix / "share/man/man1").iterdir()}, wanted)
        self.assertEqual((self.prefix / "share/bash-completion/completions/busbar").read_text(),
                         self.busbar("completion", "bash"))
        self.assertTrue((self.prefix / "share/fish/vendor_completions.d/busbar.fish").is_file())
        self.assertEqual(len(list(self.prefix.glob("share/zsh/*/_busbar"))), 1)

    def test_another_project_finds_the_cmake_package(self):
        build = pathlib.Path(self.folder.name, "consumer")
        run("cmake", "-G", "Ninja", "-S", ROOT / "tests/package", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_CXX_FLAGS=-O0")
        run("cmake", "--build", build)
        self.assertRegex(run(build / "uses_busbar"), SAID)
        self.assertEqual(run(build / "asks_busbar"), "NVL, 500 ns\n")

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config here")
    def test_pkg_config_knows_how_to_compile_and_link(self):
        env = {**os.environ, "PKG_CONFIG_PATH": str(self.lib / "pkgconfig")}
        words = run("pkg-config", "--cflags", "--libs", "busbar", env=env).split()
        program = pathlib.Path(self.folder.name, "uses_busbar")
        run("g++", "-O0", ROOT / "tests/package/main.cc", "-o", program, *words)
        self.assertRegex(run(program, "dgx-h100"), SAID)


if __name__ == "__main__":
    unittest.main()
