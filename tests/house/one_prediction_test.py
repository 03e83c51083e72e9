"""tools/check_one_prediction.py refuses what it must."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class OnePrediction(unittest.TestCase):
    def check(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "src", "busbar", name)
            path.parent.mkdir(parents=True)
            path.write_text(text)
            other = pathlib.Path(folder, "src", "busbar", "step", "step.h")
            other.parent.mkdir(parents=True, exist_ok=True)
            other.write_text("#pragma once\n")
            done = subprocess.run([sys.executable, ROOT / "tools" / "check_one_prediction.py", folder],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_refuses_engines_choices_and_lowerings_of_ones_own(self):
        for line in ("auto e = make_flow_engine(r, p, {});", "resolve_algorithm(*e, p, t, call);",
                     "Lowering lowering(r, p, protocol);", "NcclSchedules schedules(comm);"):
            code, text = self.check("step/run.cc", "\n" + line + "\n")
            self.assertEqual(code, 1, line)
            self.assertIn("step/run.cc:2:", text)

    def test_refuses_steps_of_ones_own_outside_step(self):
        line = "auto s = simulate_step(p, *engine, {});\n"
        self.assertEqual(self.check("accuracy/rows.cc", line)[0], 1)
        self.assertEqual(self.check("step/train_run.cc", line)[0], 0)

    def test_accepts_them_in_predict_below_it_and_in_tests(self):
        for name in ("predict/predictor.cc", "choice/fastest.cc", "step/run_test.cc"):
            code, text = self.check(name, "auto e = make_flow_engine(r, p, {});\n")
            self.assertEqual(code, 0, text)


if __name__ == "__main__":
    unittest.main()
