"""A long packet run reports its progress, and Ctrl-C ends it with the results so far.

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


if __name__ == "__main__":
    Interrupt.busbar = sys.argv.pop(1)
    unittest.main()
