"""Ctrl-C keeps the results so far, and a terminal shows the progress of a long run.

    tests/house/long_runs_test.py BUSBAR
"""
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
# Many sizes on a machine whose largest take long: whatever the speed, it is not over when the signal comes.
LONG = [BUSBAR, "train", "examples/llama3-70b-512xh100.yaml", "--scale", "8..1048576"]


def start(words, **more):
    return subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, **more)


def interrupt(words, number, when=rb"busbar: [1-9]\d* of "):
    """Sends the signal when the terminal shows `when`, that something is done: (exit status, stdout, stderr)."""
    ours, theirs = pty.openpty()
    out = tempfile.TemporaryFile()
    run = start([BUSBAR, *words], stdout=out, stderr=theirs)
    os.close(theirs)
    seen, sent = b"", False
    while select.select([ours], [], [], 300)[0]:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the run has ended
            break
        if not sent and re.search(when, seen):
            run.send_signal(number)
            sent = True
    run.wait(timeout=300)
    os.close(ours)
    with out:
        out.seek(0)
        return run.returncode, out.read(), seen


class Interrupt(unittest.TestCase):
    def test_sizes_that_are_known_are_printed_and_the_status_is_130(self):
        status, said, complaint = interrupt([*LONG[1:], "--json"], signal.SIGINT)
        self.assertEqual(status, 130, complaint)
        self.assertIn(b"interrupted; ", complaint)
        answer = json.loads(said)
        self.assertFalse(answer["complete"])
        self.assertGreater(len(answer["points"]) + len(answer["skipped"]), 0)

    def test_rows_that_are_known_are_printed(self):
        status, said, complaint = interrupt(["validate", "data/measured/training.csv", "--engine", "flow", "--json"],
                                            signal.SIGINT)
        self.assertEqual(status, 130, complaint)
        answer = json.loads(said)
        self.assertFalse(answer["complete"])
        self.assertGreater(len(answer["rows"]), 0)

    def test_termination_keeps_what_is_known_too_and_the_status_is_143(self):
        variants = [word for batches in range(1, 4000) for word in ("--beside", f"layout.global_batch={1024 * batches}")]
        for words in (["validate", "data/measured/training.csv", "--engine", "flow"],
                      ["train", "examples/llama3-70b-512xh100.yaml", *variants]):
            status, said, complaint = interrupt(words, signal.SIGTERM)
            self.assertEqual(status, 143, complaint)
            self.assertIn(b"interrupted; ", complaint)
            self.assertGreater(len(said.splitlines()), 1)

    def test_a_terminal_shows_progress_while_the_first_part_takes_long(self):
        for words, when in ((["compare", "dgx-b200", "gb200-nvl72", "--gpus", "1024", "--model", "llama3.1-405b"],
                             rb"busbar: 0 of 2 variants"),
                            (["plan", "dgx-h100:128", "deepseek-v3", "--global-batch", "2048", "--gap", "0"],
                             rb"busbar: [1-9]\d* layouts timed, the best takes [\d.]+ s; at most [\d.]+ % less is possible")):
            status, _, seen = interrupt(words, signal.SIGTERM, when)
            self.assertEqual(status, 143, seen)
            self.assertNotIn(b" left", seen, "how long it takes is not known")

    def test_packets_stop_within_a_size(self):
        run = start([BUSBAR, "collective", "dgx-h100:4", "all_to_all", "-b", "64K", "-e", "4G", "-f", "65536",
                     "--engine", "packet", "--patience", "1e6", "--json"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        run.stderr.readline()  # progress of the second size
        run.send_signal(signal.SIGINT)
        said, complaint = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130, complaint)
        self.assertIn(b"interrupted; 1 of 2 sizes are done", complaint)
        answer = json.loads(said)
        self.assertEqual((len(answer["results"]), answer["complete"]), (1, False))

    def test_fluids_stop_within_a_list_of_flows(self):
        short, flows = 128, 20_000  # after the short ones, all at once: minutes
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "long.csv")
            sizes = [(1000, 0) if i < short else (10**7 + 997 * i, 10**6 + i % 1000) for i in range(flows)]
            path.write_text("id,src,dst,bytes,start_ns,after\n" + "".join(
                f"f{i},{i * 7 % 128},{(i * 7 + 1 + i // 128 * 13 % 127) % 128},{size},{at},\n"
                for i, (size, at) in enumerate(sizes)))
            for seconds in (3, 10, 30):  # however loaded the machine is, the short ones have ended then
                run = start([BUSBAR, "flows", "bench/cases/ls128.yaml", str(path), "--json"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
                time.sleep(seconds)
                run.send_signal(signal.SIGINT)
                said, complaint = run.communicate(timeout=60)
                self.assertEqual(run.returncode, 130, complaint)
                if said:
                    break
        answer = json.loads(said)
        self.assertFalse(answer["complete"])
        self.assertEqual(sum(f["fct_us"] is not None for f in answer["flows"]), answer["flows_done"])
        self.assertIn(f"stopped: {answer['flows_done']} of {flows} flows have ended".encode(), complaint)

    def test_a_search_without_a_layout_says_that_it_was_interrupted(self):
        run = start([BUSBAR, "plan", "dgx-h100:8192", "llama3.1-405b", "--seq", "8192", "--global-batch", "8192"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.7)  # the first layout takes several seconds
        run.send_signal(signal.SIGTERM)
        said, complaint = run.communicate(timeout=60)
        self.assertEqual((run.returncode, said), (143, b""), complaint)

    def test_an_ended_search_prints_the_best_layouts_so_far(self):
        status, said, complaint = interrupt(["plan", "dgx-h100:128", "deepseek-v3", "--global-batch", "2048", "--gap", "0",
                                             "--json"], signal.SIGINT, rb"layouts timed")
        self.assertEqual(status, 130, complaint)
        self.assertIn(b"interrupted", complaint)
        if said:
            self.assertFalse(json.loads(said)["complete"])

    def test_calls_on_many_sizes_keep_those_that_are_known(self):
        status, said, complaint = interrupt(["compare", "dgx-h100", "all_reduce", "--scale", "8..65536", "-b", "1K",
                                             "-e", "1G", "-f", "2", "--json"], signal.SIGINT)
        self.assertEqual(status, 130, complaint)
        answer = json.loads(said)
        self.assertFalse(answer["complete"])
        self.assertGreater(len(answer["rows"]), 0)

    def test_a_run_that_knows_nothing_yet_ends_at_once(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            run = subprocess.Popen([BUSBAR, "topo", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)  # waits for its input
            time.sleep(0.7)
            run.send_signal(number)
            said, complaint = run.communicate(timeout=30)
            self.assertEqual((run.returncode, said), (128 + number, b""), complaint)

    def test_one_long_step_is_named_while_it_runs_and_when_it_is_ended(self):
        status, said, complaint = interrupt(["survive", "dgx-h100:20000", "llama3-70b", "--tp", "8", "--pp", "2",
                                             "--global-batch", "160000"], signal.SIGINT, rb"busbar: timing the step")
        self.assertEqual((status, said), (130, b""), complaint)
        self.assertIn(b"interrupted while timing the step on dgx-h100:20000; no result is known", complaint)

    def test_a_comparison_without_a_row_gives_no_verdict(self):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            # A size per row: were the first ever known within the two seconds, the others take hours.
            file.write("size_bytes,time_us\n" + "".join(f"{(1 << 30) + (i << 20)},{i + 1}\n" for i in range(20_000)))
            file.flush()
            for number in (signal.SIGINT, signal.SIGTERM):
                run = start([BUSBAR, "expect", file.name, "--cluster", "dgx-h100:8192", "--collective", "all_to_all"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                time.sleep(2)  # the first row takes several seconds
                run.send_signal(number)
                said, complaint = run.communicate(timeout=60)
                self.assertEqual(run.returncode, 128 + number, complaint)

    def test_a_second_signal_ends_the_run_at_once(self):
        run = start(LONG, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        for _ in range(200):
            run.send_signal(signal.SIGINT)
            time.sleep(0.02)
            if run.poll() is not None:
                break
        self.assertIn(run.wait(timeout=60), (-signal.SIGINT, 130))


class Progress(unittest.TestCase):
    def test_a_terminal_sees_a_bar_after_two_seconds_and_stdout_stays_clean(self):
        ours, theirs = pty.openpty()
        run = start(LONG + ["--json"], stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        seen, deadline = b"", time.monotonic() + 60
        while b" sizes [" not in seen and time.monotonic() < deadline:
            if select.select([ours], [], [], 1)[0]:
                seen += os.read(ours, 4096)
        run.send_signal(signal.SIGINT)
        said = run.stdout.read()
        run.wait(timeout=300)
        run.stdout.close()
        os.close(ours)
        self.assertIn(b" sizes [", seen)
        self.assertIn("points", json.loads(said))

    def test_no_bar_where_nobody_looks(self):
        run = start(LONG, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(3)
        run.send_signal(signal.SIGINT)
        _, complaint = run.communicate(timeout=300)
        self.assertNotIn(b"[", complaint)


if __name__ == "__main__":
    unittest.main()
