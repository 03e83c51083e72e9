"""Real logs of failed and sound jobs get the right finding first, and sound ones none above a note.

    tests/house/doctor_logs_test.py BUSBAR
"""
import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST = {  # rule, severity, and the status of the command
    "bad-algo": (None, None, 0),
    "duplicate": ("duplicate-gpu", "fail", 1),
    "duplicate-warn": ("duplicate-gpu", "fail", 1),
    "ib-forced": ("no-net-plugin", "fail", 1),
    "loopback": ("bootstrap-loopback", "note", 0),
    "memlock": (None, None, 0),
    "no-interface": ("no-interface", "fail", 1),
    "peer-dies": ("killed", "fail", 1),
    "plugin": ("plugin-not-found", "warn", 0),
    "single": (None, None, 0),
}


class DoctorLogs(unittest.TestCase):
    busbar = None

    def test_each_has_its_cause_first(self):
        logs = sorted((ROOT / "tests/doctor/logs").glob("*.log"))
        self.assertEqual({log.stem for log in logs}, set(FIRST))
        for log in logs:
            done = subprocess.run([self.busbar, "doctor", str(log), "--json"], capture_output=True, text=True, cwd=ROOT)
            found = json.loads(done.stdout)["findings"]
            first = (found[0]["rule"], found[0]["severity"]) if found else (None, None)
            self.assertEqual((*first, done.returncode), FIRST[log.stem], log.stem)


if __name__ == "__main__":
    DoctorLogs.busbar = sys.argv.pop(1)
    unittest.main()
