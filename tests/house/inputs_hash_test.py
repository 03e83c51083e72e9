"""inputs_hash differs between runs exactly if their results may differ.

    tests/house/inputs_hash_test.py BUSBAR
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
CALL = ["collective", "dgx-h100:2", "all_reduce", "-b", "1M", "-e", "1M"]
FLOWS = "id,src,dst,bytes\na,0,9,4096\n"


class InputsHash(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def hash(self, *words, **env):
        run = subprocess.run([BUSBAR, *words, "--json"], cwd=self.folder, env={**os.environ, **env},
                             capture_output=True, text=True, check=True)
        return json.loads(run.stdout)["inputs_hash"]

    def write(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)
        return name

    def test_neither_order_nor_spelling_nor_outputs_count(self):
        same = {self.hash(*CALL), self.hash("collective", "-e", "1M", "dgx-h100:2", "--minbytes=1M", "all_reduce"),
                self.hash(*CALL, "--html", "x.html"), self.hash(*CALL, "--engine", "flow"),
                self.hash(*CALL[:1], "--cluster", *CALL[1:])}
        self.assertEqual(len(same), 1)

    def test_settings_count(self):
        others = [self.hash(*CALL), self.hash(*CALL, "--engine", "analytic"), self.hash(*CALL, "-g", "8"),
                  self.hash(*CALL[:2], "all_gather", *CALL[3:]), self.hash(*CALL[:1], "dgx-a100:2", *CALL[2:]),
                  self.hash(*CALL, "--set", "fabric.oversubscription=2"), self.hash(*CALL, "--explain")]
        self.assertEqual(len(set(others[:-1])), len(others) - 1)
        self.assertEqual(others[-1], others[0])

    def test_contents_of_files_count_and_names_do_not(self):
        self.write("a.yaml", "node: dgx-h100\nnodes: 2\n")
        self.write("b/c.yaml", "node: dgx-h100\nnodes: 2\n")
        self.write("f.csv", FLOWS)
        self.write("g.csv", FLOWS)
        one = self.hash("flows", "a.yaml", "f.csv")
        self.assertEqual(one, self.hash("flows", "b/c.yaml", "g.csv"))
        self.write("g.csv", FLOWS.replace("4096", "4097"))
        self.assertNotEqual(one, self.hash("flows", "a.yaml", "g.csv"))
        self.write("b/c.yaml", "node: dgx-h100\nnodes: 2\nrouting: adaptive\n")
        self.assertNotEqual(one, self.hash("flows", "b/c.yaml", "f.csv"))

    def test_the_trace_of_a_measured_step_counts(self):
        fixtures = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
        step = ["train", "dgx-h100", "llama3-8b", "--tp", "2", "--global-batch", "4", "--brief", "--measured"]
        traces = [fixtures / "kineto/two-steps-tp2-dp4.json", fixtures / "chakra-et/one-step-tp2-dp4.0.et"]
        self.assertEqual(len({self.hash(*step, str(trace)) for trace in traces}), 2)

    def test_the_catalogue_counts(self):
        self.write("mine/protocols/nccl-hopper.yaml",
                   (pathlib.Path(__file__).resolve().parents[2] / "catalog/protocols/nccl-hopper.yaml").read_text())
        one = self.hash(*CALL, "--catalog", "mine")
        with open(self.folder / "mine/protocols/nccl-hopper.yaml", "a") as file:
            file.write("# another word\n")
        self.assertNotEqual(one, self.hash(*CALL, "--catalog", "mine"))
        self.assertEqual(self.hash(*CALL, "--catalog", "mine"), self.hash(*CALL, BUSBAR_CATALOG="mine"))


if __name__ == "__main__":
    unittest.main()
