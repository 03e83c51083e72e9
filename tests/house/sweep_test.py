"""A sweep survives kill -9, and threads, shards and interruptions change no byte of its tables.

    tests/house/sweep_test.py BUSBAR
"""
import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
STUDY = """
command: train dgx-h100:4 llama3-8b --tp 8
grid:
  --zero: [1, 2, 3]
random:
  samples: 20
  seed: 5
  --global-batch: {from: 32, to: 512, multiple_of: 4}
"""
CELLS = 60


def sweep(folder, *more, file="study.yaml"):
    return subprocess.run([BUSBAR, "sweep", file, "--json", *more], cwd=folder, capture_output=True, text=True)


def tables(folder, name="study"):
    return [(folder / f"{name}{end}").read_bytes() for end in (".csv", ".jsonl")]


def committed(database):
    with contextlib.closing(sqlite3.connect(database)) as db:
        return db.execute("SELECT count(*) FROM cells").fetchone()[0]


class Sweeps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.place.name)
        (cls.folder / "study.yaml").write_text(STUDY)
        cls.first = sweep(cls.folder, "--threads", "1")
        cls.whole = tables(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_every_cell_is_the_command_by_itself(self):
        self.assertEqual(self.first.returncode, 0, self.first.stderr)
        said = json.loads(self.first.stdout)
        self.assertEqual((said["cells"], said["rows"], said["failed"], said["complete"]), (CELLS, CELLS, 0, True))
        lines = [json.loads(line) for line in self.whole[1].splitlines()]
        self.assertEqual([line["cell"] for line in lines], list(range(CELLS)))
        for line in lines[7], lines[41]:
            words = [word for pair in line["settings"].items() for word in pair]
            alone = json.loads(subprocess.run(
                [BUSBAR, "train", "dgx-h100:4", "llama3-8b", "--tp", "8", *words, "--json"],
                capture_output=True, check=True).stdout)
            del alone["run"]
            self.assertEqual(line["result"], alone)

    def test_threads_change_nothing(self):
        done = sweep(self.folder, "--threads", "3", "--out", "threads.db")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(tables(self.folder, "threads"), self.whole)

    def test_shards_merge_to_the_same_bytes(self):
        for i in (1, 2, 3):
            self.assertEqual(sweep(self.folder, "--shard", f"{i}/3", "--out", f"part{i}.db").returncode, 0)
        merged = sweep(self.folder, "--out", "merged.db", *(f"--merge=part{i}.db" for i in (1, 2, 3)))
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertEqual(json.loads(merged.stdout)["rows"], CELLS)
        self.assertEqual(tables(self.folder, "merged"), self.whole)

    def test_a_kill_loses_no_committed_cell(self):
        before = 0
        for kill in range(4):
            run = subprocess.Popen([BUSBAR, "sweep", "study.yaml", "--threads", "2", "--out", "killed.db"],
                                   cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.05 + 0.1 * kill)
            run.send_signal(signal.SIGKILL)
            run.wait()
            if not os.path.exists(self.folder / "killed.db"):
                continue
            try:
                now = committed(self.folder / "killed.db")
            except sqlite3.OperationalError:  # killed before it made its tables
                continue
            self.assertGreaterEqual(now, before)
            before = now
        end = sweep(self.folder, "--out", "killed.db")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertEqual(json.loads(end.stdout)["run"]["new_cells"], CELLS - before)  # none that was committed runs again
        self.assertEqual(tables(self.folder, "killed"), self.whole)
        again = sweep(self.folder, "--out", "killed.db")
        self.assertEqual(json.loads(again.stdout)["run"]["new_cells"], 0)

    def test_an_interrupt_keeps_the_cells_so_far(self):
        run = subprocess.Popen([BUSBAR, "sweep", "study.yaml", "--threads", "1", "--out", "stopped.db", "--json"],
                               cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate()
        if run.returncode == 0:
            return  # it was faster
        self.assertEqual(run.returncode, 130)
        if not out:
            return  # it had not begun
        said = json.loads(out)
        self.assertEqual(said["failed"], 0)  # a cell that was cut short is not a row
        self.assertEqual(said["rows"], len(tables(self.folder, "stopped")[1].splitlines()))
        sweep(self.folder, "--out", "stopped.db")
        self.assertEqual(tables(self.folder, "stopped"), self.whole)

    def test_cells_that_cannot_run_are_counted_with_their_reason(self):
        (self.folder / "bad.yaml").write_text(
            "command: train dgx-h100 llama3-8b --global-batch 32\ngrid: {--tp: [1, 3, 8]}\n")
        done = sweep(self.folder, file="bad.yaml")
        said = json.loads(done.stdout)
        self.assertEqual((done.returncode, said["rows"], said["failed"]), (1, 3, 1))
        row = json.loads((self.folder / "bad.jsonl").read_bytes().splitlines()[1])
        self.assertEqual((row["status"], row["settings"]), (2, {"--tp": "3"}))
        self.assertIn("--tp", row["message"])

    def test_a_changed_study_is_refused(self):
        (self.folder / "other.yaml").write_text(STUDY.replace("seed: 5", "seed: 6"))
        done = sweep(self.folder, "--out", "study.db", file="other.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("another study", done.stderr)
        self.assertEqual(tables(self.folder), self.whole)


if __name__ == "__main__":
    unittest.main()
