"""Layouts that `plan` prints in the words of another program are read back by `train --from` as the same layouts."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSBAR = ""

# Frameworks with the searches whose best row is read back: dense, stages, experts, fp8, offload.
SEARCHES = {
    "megatron": ["dgx-h100:2 llama3-8b --global-batch 64 --micro-batch 1,2",
                 "dgx-h100:4 llama2-70b --global-batch 64 --tp 4,8 --pp 4 --micro-batch 1 --vpp 1,5",
                 "dgx-h100:2 qwen3-30b-a3b --global-batch 64 --tp 2 --ep 8 --pp 1,2 --micro-batch 1",
                 "dgx-h100:2 qwen3-30b-a3b --global-batch 64 --tp 1 --ep 8 --pp 2 --vpp 5 --micro-batch 1",
                 "dgx-h100:2 llama3-8b --global-batch 64 --precision fp8 --cp 2 --micro-batch 1",
                 "dgx-h100:2 llama3-8b --global-batch 64 --tp 2 --pp 1 --micro-batch 1 --offload optimizer"],
    "fsdp2-torchtitan": ["dgx-h100:2 llama3-8b --global-batch 64 --micro-batch 1,2",
                         "dgx-h100:4 llama2-70b --global-batch 64 --tp 4,8 --pp 4 --micro-batch 1",
                         "dgx-h100:2 llama3-8b --global-batch 64 --precision fp8 --cp 2 --micro-batch 1"],
    "megatron-bridge": ["dgx-h100:2 llama3-8b --global-batch 64 --micro-batch 1,2",
                        "dgx-h100:4 llama2-70b --global-batch 64 --tp 4,8 --pp 4 --micro-batch 1 --vpp 1,5",
                        "dgx-h100:2 qwen3-30b-a3b --global-batch 64 --tp 2 --ep 8 --pp 1,2 --micro-batch 1",
                        "dgx-h100:2 llama3-8b --global-batch 64 --precision fp8 --cp 2 --micro-batch 1",
                        "dgx-h100:2 llama3-8b --global-batch 64 --tp 2 --pp 1 --micro-batch 1 --offload optimizer"],
    "maxtext": ["dgx-h100:2 llama3-8b --global-batch 64 --micro-batch 1,2",
                "dgx-h100:4 llama2-70b --global-batch 64 --tp 4,8 --micro-batch 1",
                "dgx-h100:2 llama3-8b --global-batch 64 --precision fp8 --cp 2 --micro-batch 1",
                "dgx-h100:2 qwen3-30b-a3b --global-batch 64 --tp 1 --ep 8 --zero 3 --micro-batch 1"],
}


PROGRAMS = {"megatron": "Megatron-LM", "fsdp2-torchtitan": "torchtitan", "megatron-bridge": "Megatron-Bridge",
            "maxtext": "MaxText"}


def ask(*words):
    done = subprocess.run([BUSBAR, *words, "--json"], capture_output=True, text=True, cwd=ROOT)
    return json.loads(done.stdout) if done.stdout else {"error": done.stderr}


class From(unittest.TestCase):
    def test_printed_lines_are_read_back_as_the_same_step(self):
        for framework, searches in SEARCHES.items():
            for search in searches:
                with self.subTest(framework=framework, search=search), tempfile.TemporaryDirectory() as folder:
                    self.read_back(framework, search.split(), pathlib.Path(folder, "job"))

    def read_back(self, framework, search, file):
        found = ask("plan", *search, "--framework", framework, "--rows", "1", "--within", "2s")
        self.assertNotIn("error", found)
        file.write_text(next(p["flags"] for p in found["programs"] if p["program"] == PROGRAMS[framework]) + "\n")
        step = ask("train", "--from", str(file), *search[:2], "--brief")
        self.assertEqual(step.get("step_time_s"), found["layouts"][0]["step_time_s"], (file.read_text(), step.get("error")))


if __name__ == "__main__":
    BUSBAR = sys.argv.pop()
    unittest.main()
