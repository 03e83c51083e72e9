"""A sweep survives kill -9, and threads, shards and interruptions change no byte of its tables.

    tests/house/sweep_test.py BUSBAR
"""
import contextlib
import json
import os
import pathlib
import shutil
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
LONGER = STUDY.replace("samples: 20", "samples: 60")
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
        for name, files in (("merged", [f"--merge=part{i}.db" for i in (1, 2, 3)]), ("part-all", ["--merge", "part*.db"])):
            merged = sweep(self.folder, "--out", f"{name}.db", *files)
            self.assertEqual(merged.returncode, 0, merged.stderr)
            self.assertEqual(json.loads(merged.stdout)["rows"], CELLS)
            self.assertEqual(tables(self.folder, name), self.whole)
        self.assertIn("no file matches 'none*.db'", sweep(self.folder, "--merge", "none*.db").stderr)

    def test_cells_that_are_left_are_counted_and_not_run(self):
        sweep(self.folder, "--shard", "1/4", "--out", "left.db")
        for _ in range(2):
            left = sweep(self.folder, "--cells-left", "--out", "left.db")
            self.assertEqual((left.returncode, json.loads(left.stdout)["cells_left"]), (1, CELLS * 3 // 4))
        self.assertEqual(sweep(self.folder, "--cells-left").returncode, 0)

    def test_processes_of_srun_without_mpi_share_the_study(self):
        def task(i, *more):
            env = {**os.environ, "SLURM_PROCID": str(i), "SLURM_STEP_NUM_TASKS": "3", "SLURM_NTASKS": "3"}
            return subprocess.run([BUSBAR, "sweep", "study.yaml", "--json", "--out", "srun.db", *more], cwd=self.folder,
                                  capture_output=True, text=True, env=env)
        for i in range(3):
            said = json.loads(task(i).stdout)
            self.assertEqual((said["shard"], said["rows"], said["complete"]), (f"{i + 1}/3", CELLS // 3, True))
        self.assertEqual(task(1, "--merge", "srun-*.db").stdout, "")  # the first one merges
        self.assertEqual(json.loads(task(0, "--merge", "srun-*.db").stdout)["rows"], CELLS)
        self.assertEqual(tables(self.folder, "srun"), self.whole)
        batch = {**os.environ, "SLURM_PROCID": "0", "SLURM_NTASKS": "3"}  # the script of sbatch is no process of srun
        whole = subprocess.run([BUSBAR, "sweep", "study.yaml", "--json", "--out", "batch.db"], cwd=self.folder,
                               capture_output=True, text=True, env=batch)
        self.assertEqual(json.loads(whole.stdout)["rows"], CELLS)

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

    def test_cells_that_could_not_run_are_tried_again(self):
        (self.folder / "later.yaml").write_text(
            "command: train later.cluster.yaml llama3-8b --global-batch 32\ngrid: {--tp: [1, 8]}\n")
        before = json.loads(sweep(self.folder, file="later.yaml").stdout)
        self.assertEqual((before["rows"], before["failed"]), (2, 2))
        (self.folder / "later.cluster.yaml").write_text("node: dgx-h100\n")
        after = json.loads(sweep(self.folder, file="later.yaml").stdout)
        self.assertEqual((after["rows"], after["failed"], after["run"]["new_cells"]), (2, 0, 2))
        again = json.loads(sweep(self.folder, file="later.yaml").stdout)
        self.assertEqual(again["run"]["new_cells"], 0)

    def test_a_shard_is_found_in_what_the_starter_of_the_job_says(self):
        for env in ({"SLURM_ARRAY_TASK_ID": "6", "SLURM_ARRAY_TASK_MIN": "5", "SLURM_ARRAY_TASK_COUNT": "3"},
                    {"JOB_COMPLETION_INDEX": "1", "BUSBAR_SHARDS": "3"}):
            name = "part-" + next(iter(env)) + ".db"
            done = subprocess.run([BUSBAR, "sweep", "study.yaml", "--json", "--shard", "auto", "--out", name],
                                  cwd=self.folder, capture_output=True, text=True, env={**os.environ, **env})
            self.assertEqual(done.returncode, 0, done.stderr)
            cells = [json.loads(line)["cell"] for line in tables(self.folder, name[:-3])[1].splitlines()]
            self.assertEqual(cells, list(range(1, CELLS, 3)))
        nobody = sweep(self.folder, "--shard", "auto", "--out", "nobody.db")
        self.assertEqual(nobody.returncode, 2)
        self.assertIn("BUSBAR_SHARDS", nobody.stderr)

    def test_a_changed_study_is_refused(self):
        (self.folder / "other.yaml").write_text(STUDY.replace("seed: 5", "seed: 6"))
        done = sweep(self.folder, "--out", "study.db", file="other.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("another study", done.stderr)
        self.assertEqual(tables(self.folder), self.whole)


MODULE = pathlib.Path(BUSBAR).with_name("busbar_mpi.so")
MPIRUN = shutil.which("mpirun")
AS_ANYONE = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
             "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


def mpirun(folder, ranks, *words, options=()):
    return subprocess.Popen([MPIRUN, *options, "-n", str(ranks), *words], cwd=folder,
                            env={**os.environ, **AS_ANYONE}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


class WithoutMpi(unittest.TestCase):
    @unittest.skipIf(MODULE.exists(), "this build has MPI")
    def test_processes_that_would_each_run_the_whole_sweep_are_refused(self):
        with tempfile.TemporaryDirectory() as place:
            (pathlib.Path(place) / "study.yaml").write_text(STUDY)
            done = subprocess.run([BUSBAR, "sweep", "study.yaml"], cwd=place, capture_output=True, text=True,
                                  env={**os.environ, "OMPI_COMM_WORLD_SIZE": "4"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("--shard", done.stderr)


@unittest.skipUnless(MPIRUN and MODULE.exists(), "no mpirun, or busbar was built without MPI (libopenmpi-dev, openmpi-bin)")
class Mpi(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.folder = pathlib.Path(self.place.name)

    def plain(self, study):
        (self.folder / "study.yaml").write_text(study)
        sweep(self.folder)
        return tables(self.folder)

    def test_ranks_change_no_byte(self):
        whole = self.plain(STUDY)
        for ranks in (2, 5, 8):
            run = mpirun(self.folder, ranks, BUSBAR, "sweep", "study.yaml", "--json", "--out", f"ranks{ranks}.db")
            out, err = self.finished(run)
            self.assertEqual(run.returncode, 0, err)
            said = json.loads(out)
            self.assertEqual((said["rows"], said["run"]["workers"], said["run"]["new_cells"]), (CELLS, ranks - 1, CELLS))
            self.assertEqual(tables(self.folder, f"ranks{ranks}"), whole)

    def finished(self, run, seconds=300):
        """What it printed. Fails, and leaves no process behind, if it does not end."""
        try:
            return run.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            for ranks in self.folder.glob("pid*"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(ranks.read_text()), signal.SIGKILL)
            out, err = run.communicate()
            self.fail(f"mpirun did not end within {seconds} s: {out[-1000:]}{err[-1000:]}")

    def kill_rank(self, rank, ranks, name, *options):
        """Starts the sweep, and kills a rank when the first rows are in the database.

        The manager stands still meanwhile, so that a worker dies in the middle of sending a row.
        """
        run = mpirun(self.folder, ranks, "sh", "-c", "echo $$ > pid$OMPI_COMM_WORLD_RANK; "
                     f"exec {BUSBAR} sweep study.yaml --json --out {name}.db", options=options)
        log = self.folder / f"{name}.db-wal"
        while run.poll() is None and not (log.exists() and log.stat().st_size > 50_000):
            time.sleep(0.01)
        manager, lost = (int((self.folder / f"pid{r}").read_text()) for r in (0, rank))
        os.kill(manager, signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(lost, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):  # the manager itself was killed, and mpirun has seen it
            os.kill(manager, signal.SIGCONT)
        return run, *self.finished(run)

    def test_the_cells_of_a_lost_worker_run_again(self):
        whole = self.plain(LONGER)
        run, out, err = self.kill_rank(2, 4, "lost", "--enable-recovery")
        self.assertEqual(run.returncode, 0, err)
        said = json.loads(out)
        self.assertTrue(said["complete"])
        self.assertEqual(said["run"]["lost_workers"], [2])
        self.assertEqual(tables(self.folder, "lost"), whole)

    def test_ranks_go_on_after_a_kill_of_the_manager(self):
        whole = self.plain(LONGER)
        self.kill_rank(0, 3, "killed")
        before = committed(self.folder / "killed.db")
        run = mpirun(self.folder, 3, BUSBAR, "sweep", "study.yaml", "--json", "--out", "killed.db")
        out, err = self.finished(run)
        self.assertEqual(run.returncode, 0, err)
        said = json.loads(out)
        self.assertEqual((said["complete"], said["run"]["new_cells"]), (True, said["cells"] - before))
        self.assertEqual(tables(self.folder, "killed"), whole)


if __name__ == "__main__":
    unittest.main()
