"""Ranks of `bench` on several hosts, here all on this one: they meet, prove a secret, and say who was lost.

    tests/house/bench_hosts_test.py BUSBAR
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
MODULE = pathlib.Path(BUSBAR).with_name("busbar_mpi.so")
MPIRUN = shutil.which("mpirun")
PMIX = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout.count("libpmix.so.2 ") > 0
SECRET = "0123456789abcdef0123456789abcdef"
SHORT = ("all_reduce", "-b", "1K", "-e", "64K", "-f", "8", "-n", "2")


def free_ports(n):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


class Hosts(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.runs = []
        self.addCleanup(self.end)

    def end(self):
        for run in self.runs:
            if run.poll() is None:
                run.kill()
            run.communicate()

    def hosts(self, ranks):
        self.ports = free_ports(ranks)
        (self.folder / "hosts").write_text("".join(f"127.0.0.1:{p}\n" for p in self.ports))

    def start(self, rank, *words, secret=SECRET, **environment):
        environment = {**os.environ, **environment}
        environment.pop("BUSBAR_SECRET", None)
        if secret:
            environment["BUSBAR_SECRET"] = secret
        run = subprocess.Popen([BUSBAR, "bench", *words, "--hosts", "hosts", "--rank", str(rank)], cwd=self.folder,
                               env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.runs.append(run)
        return run

    def test_ranks_started_by_hand_give_one_table_and_leave_no_open_port(self):
        self.hosts(3)
        others = [self.start(r, *SHORT) for r in (2, 1)]
        first = self.start(0, *SHORT, "--sockets", "1", "--json")
        said, complaint = first.communicate(timeout=120)
        self.assertEqual(first.returncode, 0, complaint)
        answer = json.loads(said)
        self.assertEqual((answer["ranks"], answer["transport"]), (3, "tcp"))
        for row in answer["results"]:
            self.assertEqual(row["wrong"], 0)
            self.assertGreater(row["predicted_us"], 0)
        for run in others:
            self.assertEqual(run.communicate(timeout=60), ("", ""))
            self.assertEqual(run.returncode, 0)
        for port in self.ports:
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port)).close()

    def refused(self, run):
        said, complaint = run.communicate(timeout=60)
        self.assertEqual((run.returncode, said), (2, ""), complaint)
        return complaint

    def test_without_a_secret_nothing_starts(self):
        self.hosts(2)
        self.assertIn("BUSBAR_SECRET", self.refused(self.start(0, *SHORT, secret=None)))
        self.assertIn("32 hexadecimal digits", self.refused(self.start(0, *SHORT, secret="hunter2")))

    def test_another_secret_or_other_arguments_are_refused_on_both_sides(self):
        for words, secret, heard in ((SHORT, SECRET[::-1], ("did not come within", "does not know the secret")),
                                     ((*SHORT, "-d", "half"), SECRET, ("-d half", "-d float"))):
            self.hosts(2)
            zero = self.start(0, *SHORT, "--timeout", "6")
            one = self.start(1, *words, "--timeout", "6", secret=secret)
            self.assertIn(heard[0], self.refused(zero))
            self.assertIn(heard[1], self.refused(one))

    def test_files_of_one_name_and_other_contents_are_refused_on_both_sides(self):
        self.hosts(2)
        (self.folder / "there").mkdir()
        (self.folder / "pairs.csv").write_text("src,dst,bytes\n0,1,1000\n")
        (self.folder / "there/pairs.csv").write_text("src,dst,bytes\n0,1,2000\n")
        shutil.copy(self.folder / "hosts", self.folder / "there/hosts")
        words = ("all_to_allv", "-b", "1K", "-e", "1K", "--pairs", "pairs.csv", "--timeout", "6")
        zero = self.start(0, *words)
        home, self.folder = self.folder, self.folder / "there"
        one = self.start(1, *words)
        self.folder = home
        for said in (self.refused(zero), self.refused(one)):
            self.assertEqual(len(set(re.findall(r"pairs\.csv \(contents (\w{16})\)", said))), 2, said)

    def test_a_rank_that_nobody_starts_is_named(self):
        self.hosts(2)
        self.assertIn("rank 0 (127.0.0.1:", self.refused(self.start(1, *SHORT, "--timeout", "0.5")))

    def endless(self, *more):
        """Three ranks in the midst of a run that would last for hours."""
        self.hosts(3)
        runs = [self.start(r, "all_reduce", "-b", "1M", "-e", "1M", "-n", "1000000000", *more) for r in range(3)]
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:  # until all use their cores for the run
            time.sleep(0.5)
            if all(self.used(r.pid) > 0.7 for r in runs):
                return runs
        self.fail("the ranks did not begin")

    def used(self, pid):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_a_killed_rank_ends_all_within_five_seconds_and_is_named(self):
        zero, one, two = self.endless()
        one.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        for run in (zero, two):
            self.assertRegex(self.refused(run), r"rank 1 \(127\.0\.0\.1:\d+\) has ended.*waited for rank")
        self.assertLess(time.monotonic() - killed, 5)

    def test_a_stopped_rank_is_found_after_the_timeout(self):
        zero, one, two = self.endless("--timeout", "6")
        one.send_signal(signal.SIGSTOP)
        for run in (zero, two):
            self.assertRegex(self.refused(run), r"rank 1 \(127\.0\.0\.1:\d+\) says nothing.*waited for rank 1")
        one.send_signal(signal.SIGCONT)

    def test_ucx_and_libfabric_carry_data_where_they_are(self):
        for transport in ("ucx", "ofi"):
            with self.subTest(transport):
                network = {"UCX_NET_DEVICES": "lo", "FI_PROVIDER": "tcp;ofi_rxm"}
                self.hosts(2)
                zero, one = (self.start(r, *SHORT, "--transport", transport, "--json", **network) for r in range(2))
                said, complaint = zero.communicate(timeout=120)
                if "built without" in complaint or "not on this host" in complaint:
                    self.assertEqual((zero.returncode, complaint.count("\n")), (2, 1))
                    self.skipTest(complaint)
                self.assertEqual(zero.returncode, 0, complaint)
                answer = json.loads(said)
                self.assertEqual(answer["transport"], transport)
                self.assertEqual([row["wrong"] for row in answer["results"]], [0, 0, 0])
                self.assertEqual(one.communicate(timeout=60), ("", ""))

    def test_with_ucx_a_killed_rank_is_still_named(self):
        if subprocess.run([BUSBAR, "bench", *SHORT, "--transport", "ucx"], capture_output=True, check=False).returncode:
            self.skipTest("no UCX")
        zero, one, two = self.endless("--transport", "ucx")
        one.send_signal(signal.SIGKILL)
        for run in (zero, two):
            self.assertRegex(self.refused(run), r"rank 1 \(127\.0\.0\.1:\d+\) has ended.*waited for rank")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "hides a library from one process: needs root")
    def test_a_library_that_is_not_there_is_one_clear_line(self):
        for transport, library in (("ucx", "libucp.so.0"), ("ofi", "libfabric.so.1")):
            with self.subTest(transport):
                found = [p.resolve() for p in pathlib.Path("/usr/lib").glob(f"*/{library}")]
                hide = "".join(f"mount --bind /dev/null {p} && " for p in found)
                done = subprocess.run(["unshare", "-m", "sh", "-c", f'{hide} exec "$@"', "sh", BUSBAR, "bench", *SHORT,
                                       "--transport", transport], capture_output=True, text=True, check=False)
                if "unshare" in done.stderr or "mount" in done.stderr:
                    self.skipTest(done.stderr)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertRegex(done.stderr, r"\Abusbar: .*(not on this host|built without).*--transport tcp.*\n\Z")

    @unittest.skipUnless(MPIRUN and MODULE.exists(), "no mpirun, or busbar was built without MPI")
    def test_mpirun_needs_neither_hosts_nor_secret(self):
        done = subprocess.run(
            [MPIRUN, "-n", "3", BUSBAR, "bench", *SHORT, "--json"], cwd=self.folder, capture_output=True, text=True,
            timeout=200, env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                              "OMPI_MCA_rmaps_base_oversubscribe": "1", "BUSBAR_ADDRESS": "127.0.0.1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row["wrong"] for row in json.loads(done.stdout)["results"]], [0, 0, 0])

    @unittest.skipUnless(MPIRUN and PMIX, "no mpirun, or no libpmix")
    def test_a_launcher_with_pmix_needs_neither(self):
        # Without that variable nothing says MPI, as under srun --mpi=pmix; mpirun of Open MPI starts processes with PMIx.
        done = subprocess.run(
            [MPIRUN, "-n", "3", "env", "-u", "OMPI_COMM_WORLD_SIZE", BUSBAR, "bench", *SHORT, "--json"],
            cwd=self.folder, capture_output=True, text=True, timeout=200,
            env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                 "OMPI_MCA_rmaps_base_oversubscribe": "1", "BUSBAR_ADDRESS": "127.0.0.1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["ranks"], [row["wrong"] for row in answer["results"]]), (3, [0, 0, 0]))

    def test_pmix_that_reaches_no_launcher_is_one_line(self):
        done = subprocess.run([BUSBAR, "bench", *SHORT], cwd=self.folder, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PMIX_NAMESPACE": "none", "PMIX_RANK": "0"})
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Abusbar: .*(PMIx could not reach the launcher|install libpmix2).*\n\Z")

    def test_srun_says_by_its_variables_who_is_there(self):
        job = str(os.getpid())
        step = {"SLURM_JOB_ID": job, "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "localhost",
                "SLURM_STEP_TASKS_PER_NODE": "2", "BUSBAR_SECRET": SECRET}
        runs = [subprocess.Popen([BUSBAR, "bench", *SHORT, "--json"], env={**os.environ, **step, "SLURM_PROCID": str(r)},
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for r in range(2)]
        self.runs += runs
        said, complaint = runs[0].communicate(timeout=120)
        self.assertEqual(runs[0].returncode, 0, complaint)
        self.assertEqual(json.loads(said)["ranks"], 2)
        self.assertEqual(runs[1].communicate(timeout=60), ("", ""))


if __name__ == "__main__":
    unittest.main()
