"""The front of `plan --pareto` against all layouts of its space, which `train` times from the same lists; and `plan` on
several threads.

    tests/house/layouts_test.py BUSBAR
"""
import json
import pathlib
import subprocess
import sys
import unittest

BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
SLACK = 1.05  # of memory, docs/models/plan.md
SPACES = [
    "dgx-h100 llama3-8b --global-batch 32 --tp 1,2,4,8 --pp 1,2 --vpp 1 --cp 1 --zero 0..3 --recompute none,full",
    "rtx4090-switched llama3-8b --global-batch 16 --tp 1,2,4,8 --pp 1,2,4 --vpp 1 --cp 1,2 --zero 1..3 --recompute full",
    "dgx-a100:2 llama3-70b --global-batch 16 --tp 4,8 --pp 1..4 --vpp 1 --cp 1 --zero 1..3 --recompute full,selective",
]


def busbar(*words):
    run = subprocess.run([BUSBAR, *words, "--micro-batch", "1,2", "--json"], capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else sys.exit(run.stderr)


class Layouts(unittest.TestCase):
    def test_the_front_covers_every_layout(self):
        for space in SPACES:
            with self.subTest(space):
                words = [*space.split(), "--set", "layout.balanced_layers=false"]  # else the fastest gets other stages
                plan = busbar("plan", *words, "--schedule", "1f1b", "--pareto", "--headroom", "0")
                rows = [row for row in busbar("train", *words)["layouts"] if row["fits"]]
                self.assertTrue(plan["pareto_proven"])
                self.assertGreater(len(plan["pareto"]), 1)
                self.assertEqual(plan["best"]["step_time_ps"], rows[0]["step_time_ps"])
                for row in rows:
                    self.assertTrue(any(f["step_time_ps"] <= row["step_time_ps"] and
                                        f["memory_bytes"] <= SLACK * row["memory_bytes"] for f in plan["pareto"]), row)

    def test_no_row_of_the_front_beats_another(self):
        front = busbar("plan", *SPACES[0].split(), "--pareto")["pareto"]
        for faster, slower in zip(front, front[1:]):
            self.assertLess(faster["step_time_ps"], slower["step_time_ps"])
            self.assertGreater(faster["memory_bytes"], slower["memory_bytes"])

    def test_threads_change_nothing(self):
        for space in SPACES:
            plans = [busbar("plan", *space.split(), "--pareto", "--threads", n) for n in "123"]
            for plan in plans:
                del plan["run"]
            self.assertEqual(plans[0], plans[1])
            self.assertEqual(plans[0], plans[2])


unittest.main()
