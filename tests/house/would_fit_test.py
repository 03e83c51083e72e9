"""Every change of "What would make it fit" is what the command prints with its flags: it fits, in the same time and memory.

    tests/house/would_fit_test.py BUSBAR
"""
import json
import pathlib
import shlex
import subprocess
import sys
import unittest

BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
STEPS = [
    "train dgx-h100:32 mixtral-8x7b --global-batch 512 --ep 8",
    "train rtx4090-pcie llama3-8b --global-batch 64 --zero 3",
    "train dgx-h100 llama3-70b --tp 8 --global-batch 16 --micro-batch 4",
    "train dgx-a100:4 llama3-70b --tp 4 --dp 8 --global-batch 32 --offload activations",
    "train dgx-h100 llama3-70b --tp 8 --zero 3 --recompute full --offload both --global-batch 8 --seq 262144",
    "train rtx4090-pcie llama3-8b --global-batch 64",
    "train dgx-h100 llama3.1-405b --global-batch 64",
]


def busbar(command):
    run = subprocess.run([BUSBAR, *shlex.split(command), "--json"], capture_output=True, text=True)
    return run.returncode, json.loads(run.stdout)


def changed(command, flags):
    """`command` with `flags`, each in place of its own earlier value."""
    words, new = shlex.split(command), shlex.split(flags)
    for flag in (word for word in new if word.startswith("--") and word != "--set" and word in words):
        at = words.index(flag)
        del words[at:at + 2]
    return shlex.join(words + new)


class WouldFit(unittest.TestCase):
    def test_each_change_gives_its_time_and_its_memory(self):
        for step in STEPS:
            code, answer = busbar(step)
            self.assertEqual(code, 1, step)
            self.assertGreater(len(answer["would_fit"]), 0, step)
            for change in answer["would_fit"]:
                with self.subTest(step=step, flags=change["flags"]):
                    code, again = busbar(changed(step, change["flags"]))
                    self.assertEqual(code, 0)
                    self.assertTrue(again["fits"])
                    self.assertEqual(again["step_time_s"], change["step_time_s"])
                    self.assertEqual(again["memory_bytes"]["total"], change["memory_bytes"])
                    self.assertEqual(again["memory_bytes"]["capacity"], change["capacity_bytes"])


if __name__ == "__main__":
    unittest.main()
