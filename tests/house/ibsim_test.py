"""Faults of an InfiniBand fabric, as its tools report them over ibsim (Debian: ibsim-utils, infiniband-diags).

    tests/house/ibsim_test.py BUSBAR

tests/fixtures/ibsim holds a fabric of 2 spines, 4 leaves and 4 hosts with a slow cable (leaf1 port 5) and a missing one
(leaf3 to spine1), and what ibnetdiscover and iblinkinfo printed. Where ibsim is installed, the tools run again.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
FABRIC = ROOT / "tests/fixtures/ibsim/two-faults.net"
TOOLS = ("ibnetdiscover", "iblinkinfo")


class Faults(unittest.TestCase):
    def check_both_are_named(self, file):
        done = subprocess.run([BUSBAR, "localize", str(file), "--json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        found = {f["rule"]: f["explanation"] for f in json.loads(done.stdout)["findings"]}
        self.assertEqual(set(found), {"slow-cable", "missing-cable"})
        self.assertIn("leaf1", found["slow-cable"])
        self.assertIn("spine0", found["slow-cable"])
        self.assertIn("leaf3", found["missing-cable"])
        self.assertIn("spine1", found["missing-cable"])

    def test_saved_output_names_the_slow_and_the_missing_cable(self):
        for tool in TOOLS:
            with self.subTest(tool):
                self.check_both_are_named(FABRIC.with_suffix("." + tool))

    @unittest.skipUnless(all(map(shutil.which, ("ibsim", "ibsim-run") + TOOLS)), "ibsim or infiniband-diags is not installed")
    def test_the_tools_over_ibsim_name_both(self):
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "IBSIM_SOCKNAME": f"busbar{os.getpid()}"}
            server = subprocess.Popen(["ibsim", "-s", str(FABRIC)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, env=env)
            try:
                for tool in TOOLS:
                    with self.subTest(tool):
                        self.check_both_are_named(self.output_of(tool, env, pathlib.Path(folder)))
            finally:
                server.kill()
                server.wait()
                server.stdin.close()

    def output_of(self, tool, env, folder):
        """The simulator needs a moment before it listens."""
        for _ in range(50):
            done = subprocess.run(["ibsim-run", tool], capture_output=True, text=True, env=env, cwd=folder)
            if "leaf3" in done.stdout:
                break
            time.sleep(0.1)
        file = folder / tool
        file.write_text(done.stdout)
        return file


if __name__ == "__main__":
    unittest.main()
