"""A crash says what to report, and the program still ends by its signal.

    tests/house/crash_test.py BUSBAR
"""
import signal
import subprocess
import sys
import unittest

TIME_LIMIT_S = 60


class Crash(unittest.TestCase):
    busbar = None

    def crash(self, number):
        run = subprocess.Popen([self.busbar, "doctor", "-", "--fail-on", "never"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(20_000):  # more than the pipe and its reader's buffer hold, so the command is at work
            run.stdin.write("a line that says nothing of a machine\n" * 10)
        run.send_signal(number)
        out, err = run.communicate(timeout=TIME_LIMIT_S)
        return run.returncode, out, err

    def test_version_command_and_place_are_on_stderr(self):
        version = subprocess.run([self.busbar, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE):
            status, out, err = self.crash(number)
            self.assertEqual((status, out), (-number, ""), err)
            said = err.splitlines()
            self.assertIn(f"crashed by {signal.Signals(number).name}; this is a bug of Busbar. Please report", said[0])
            self.assertEqual(said[1:4], [f"  version: busbar {version}", "  command: busbar doctor - --fail-on never", "  place:"])
            self.assertGreater(len(said), 5, err)


if __name__ == "__main__":
    Crash.busbar = sys.argv.pop(1)
    unittest.main()
