"""Ctrl-C ends a long run with the results so far; a packet run reports its progress.

    tests/house/interrupt_test.py BUSBAR
"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIME_LIMIT_S = 120


class Interrupt(unittest.TestCase):
    busbar = None

    def test_progress_then_ctrl_c_then_partial_results(self):
        with tempfile.TemporaryDirectory() as folder:
            flows = pathlib.Path(folder) / "long.csv"
            lines = ["id,src,dst,bytes,start_ns,after", "short,0,127,4096,0,"]
            lines += [f"long{h},{h},{(h + 16) % 128},2000000000,0," for h in range(128)]
            flows.write_text("\n".join(lines) + "\n")
            run = subprocess.Popen([self.busbar, "flows", str(ROOT / "bench/cases/ls128.yaml"), str(flows), "--engine",
                                    "packet", "--lb", "spray", "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            said = run.stderr.readline()
            self.assertIn("us simulated, 1 of 129 flows ended", said)
            self.assertIn("s to go", said)
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=TIME_LIMIT_S)
        self.assertEqual(run.returncode, 130, err)
        self.assertIn("stopped: 1 of 129 flows have ended", err)
        result = json.loads(out)
        self.assertEqual((result["flows_done"], result["complete"]), (1, False))
        self.assertGreater(result["flows"][0]["fct_us"], 2)
        self.assertIsNone(result["flows"][1]["fct_us"])
        self.assertGreater(result["packet_hops"], 1000)

    def test_a_diagnosis_of_what_was_read_before_a_signal(self):
        log = (ROOT / "tests/fixtures/nccl-log/mlperf50-dell-2x8-h200-bert.log").read_bytes()
        for name, status in (("SIGINT", 130), ("SIGTERM", 143)):
            run = subprocess.Popen([self.busbar, "doctor", "-", "--json"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            run.stdin.write(log)
            for _ in range(20_000):  # more than the pipe and its reader's buffer hold, so the log has been read
                run.stdin.write(b"a line that says nothing of a machine\n" * 10)
            run.send_signal(getattr(signal, name))
            out, err = run.communicate(timeout=TIME_LIMIT_S)
            self.assertEqual(run.returncode, status, err)
            result = json.loads(out)
            self.assertIn("gdr-level", [found["rule"] for found in result["findings"]])
            self.assertEqual(result["files"][0]["stopped"], "interrupted")


if __name__ == "__main__":
    Interrupt.busbar = sys.argv.pop(1)
    unittest.main()
