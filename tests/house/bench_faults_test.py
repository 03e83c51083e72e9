"""What `bench` leaves behind on one host, and what it says, when its processes are killed or memory is short.

    tests/house/bench_faults_test.py BUSBAR
"""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
ENDLESS = (BUSBAR, "bench", "all_reduce", "--ranks", "3", "-b", "1M", "-e", "1M", "-n", "1000000000")
SHORT = ("all_reduce", "--ranks", "2", "-b", "1M", "-e", "1M", "-n", "2")


def processes_of(name):
    """Live processes of which `name` is in the environment."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if name.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def names_in_dev_shm(mark):
    """What the processes with `mark` use of /dev/shm by name: it would stay there after a kill. Memory that has no name, or lost it, does not."""
    found = set()
    for process in processes_of(mark):
        for line in pathlib.Path(f"/proc/{process}/maps").read_text().splitlines():
            if "/dev/shm/" in line and not line.endswith("(deleted)"):
                found.add(line.split(maxsplit=5)[5])
    return sorted(found)


class Faults(unittest.TestCase):
    def endless(self, transport):
        """A run that would last for hours, once its ranks are at work, and the mark of its processes."""
        mark = f"BUSBAR_TEST_RUN={os.getpid()}-{transport}-{time.monotonic_ns()}"
        name, value = mark.split("=")
        run = subprocess.Popen([*ENDLESS, "--transport", transport], env={**os.environ, name: value},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.communicate)
        self.addCleanup(lambda: [os.kill(p, signal.SIGKILL) for p in processes_of(mark)])
        deadline = time.monotonic() + 60
        while len(processes_of(mark)) < 4 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(len(processes_of(mark)), 4)
        return run, mark

    def test_a_killed_parent_leaves_no_child_and_no_shared_memory(self):
        for transport in ("shm", "tcp"):
            with self.subTest(transport):
                run, mark = self.endless(transport)
                self.assertEqual(names_in_dev_shm(mark), [])
                run.kill()
                run.wait()
                deadline = time.monotonic() + 5
                while processes_of(mark) and time.monotonic() < deadline:
                    time.sleep(0.05)
                self.assertEqual(processes_of(mark), [])

    def test_a_killed_child_leaves_no_shared_memory_and_is_named(self):
        run, mark = self.endless("shm")
        self.assertEqual(names_in_dev_shm(mark), [])
        child = max(processes_of(mark))
        os.kill(child, signal.SIGKILL)
        said, complaint = run.communicate(timeout=30)
        self.assertEqual((run.returncode, said), (2, ""))
        self.assertRegex(complaint, rf"rank \d \(process \d+\) was killed by signal 9.*waited for rank")
        self.assertEqual(processes_of(mark), [])

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "fills a /dev/shm of its own: needs root")
    def test_a_full_dev_shm_does_not_matter(self):
        full = "mount -t tmpfs -o size=4k none /dev/shm && head -c 4096 /dev/zero >/dev/shm/full && exec \"$@\""
        for transport in ("shm", "tcp"):
            with self.subTest(transport):
                done = subprocess.run(["unshare", "-m", "sh", "-c", full, "sh", BUSBAR, "bench", *SHORT, "--transport",
                                       transport], capture_output=True, text=True, check=False)
                if "unshare" in done.stderr or "mount" in done.stderr:
                    self.skipTest(done.stderr)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("Every element is as it must be.", done.stdout)

    def test_more_memory_than_this_host_has_left_is_one_clear_line(self):
        with tempfile.TemporaryDirectory() as folder:
            goal = pathlib.Path(folder) / "large.goal"
            goal.write_text("num_ranks 2\nrank 0 {\ns: send 9000000000000b to 1 tag 0\n}\n"
                            "rank 1 {\nr: recv 9000000000000b from 0 tag 0\n}\n")
            done = subprocess.run([BUSBAR, "bench", "broadcast", "--algorithm", str(goal), "-n", "1"], capture_output=True,
                                  text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Abusbar: \d+ MB of memory for 2 ranks are needed, and this host has \d+ MB left; .*\n\Z")

    def test_memory_that_cannot_be_had_is_one_clear_line(self):
        most = 400 << 20
        for size, words in (("64M", "to measure this host with"), ("2G", "use a smaller -e")):
            with self.subTest(size):
                done = subprocess.run(
                    [BUSBAR, "bench", "all_reduce", "--ranks", "4", "-b", size, "-e", size, "-n", "1"],
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)), capture_output=True,
                    text=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertRegex(done.stderr, rf"\Abusbar: .*\d+ MB of memory.*\n\Z")
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
