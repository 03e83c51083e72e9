"""The commands that results carry give the times that stand next to them, to the picosecond.

    tests/house/commands_test.py BUSBAR [--all] [NAME OF A TEST]

Runs the commands of the measured collectives (three sizes of each table; --all: all), of some measured training steps
(--all: of all of them), of all collectives of some steps and of the first layouts of some plans.
"""
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSBAR = ""
ALL = False
STEPS = [["examples/llama3-70b-512xh100.yaml"], ["examples/llama3-8b-64xcards-100g.yaml"],
         ["--cluster", "dgx-1v:2", "--model", "llama2-7b", "--tp", "4", "--pp", "2"],
         ["--cluster", "mi250x-4:4", "--model", "llama2-7b", "--tp", "2", "--zero", "3"],  # groups with rings of their own
         ["--cluster", "mi300x-8:2", "--model", "llama3-8b", "--tp", "2", "--cp", "2", "--launch", "graph"],
         ["--cluster", "hgx-a100-4:4", "--model", "llama2-7b", "--zero", "3", "--env", "NCCL_IB_DISABLE=1",
          "--set", "cluster.routing=spray"]]

PLANS = [["dgx-h100:2", "llama3-8b", "--global-batch", "32"],
         ["dgx-a100:2", "mixtral-8x7b", "--seq", "2048", "--global-batch", "32", "--pp", "2,4", "--zero", "1..2"],
         ["dgx-h100:2", "llama3-8b", "--global-batch", "64", "--pp", "4", "--schedule", "gpipe,zb-h1,zb-v",
          "--set", "layout.kernel_time=1.1", "--degrade", "node1.nic0=0.5", "--env", "NCCL_NVLS_ENABLE=0"]]


def run(words):
    done = subprocess.run([BUSBAR, *words, "--json"], capture_output=True, text=True, check=False, cwd=ROOT)
    if not done.stdout:
        raise AssertionError(f"{shlex.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def answer_of(command):
    words = shlex.split(command)
    assert words[0] == "busbar", command
    return run(words[1:])


def time_of(command):
    return answer_of(command)["results"][0]["time_us"]


def time_and_band(command):
    """As in a row of validate: what is judged is what users get."""
    answer = answer_of(command)
    return answer.get("step_time_s") or answer["results"][0]["time_us"], answer["band_percent"]


def three_of_each_table(rows):
    """Commands: of those that differ in their size only the smallest, the median and the largest."""
    tables = {}
    for row in rows:
        tables.setdefault(re.sub(r" -[be] \S+", "", row["command"]), {})[row["command"]] = row["size_bytes"]
    out = set()
    for sizes in tables.values():
        ordered = sorted(sizes, key=sizes.get)
        out |= {ordered[0], ordered[len(ordered) // 2], ordered[-1]}
    return sorted(out)


class Commands(unittest.TestCase):
    def test_money_of_a_step_is_one_figure_on_both_bases(self):
        for machine, model in (("dgx-h100:16", "llama3-70b"), ("dgx-a100:2", "llama3-8b")):
            with self.subTest(machine):
                step, cost, plan, survived = (run(words) for words in (
                    ["train", machine, model], ["cost", machine, "--model", model], ["plan", machine, model, "--within", "1s"],
                    ["survive", machine, model]))
                training = cost["training"]
                self.assertEqual(step["step_time_s"], training["step_time_s"])
                self.assertEqual(step["step_time_s"], survived["step_time_s"])
                self.assertAlmostEqual(step["cost_usd"]["per_million_tokens"], training["per_million_tokens"]["rent_usd"])
                self.assertAlmostEqual(step["cost_usd"]["per_step"], training["per_step"]["rent_usd"])
                hour = step["gpu_hour"]
                self.assertEqual(hour, plan["gpu_hour"])
                self.assertEqual(hour, survived["gpu_hour"])
                self.assertEqual((hour["bought_low_usd"], hour["bought_high_usd"], hour["rented_usd"]),
                                 (cost["usd_per_gpu_hour_low"], cost["usd_per_gpu_hour_high"], cost["rent_usd_per_gpu_hour"]))
                self.assertEqual(hour["bought_complete"], cost["complete"])
                self.assertAlmostEqual(hour["bought_low_usd"] * step["gpus"] * step["step_time_s"] / 3600,
                                       training["per_step"]["usd_low"])

    def test_what_would_make_a_step_shorter_does(self):
        flags = set()
        for given in ({"--tp": "2", "--pp": "4"}, {"--tp": "4", "--zero": "3"}, {"--pp": "4", "--vpp": "2", "--micro-batch": "2"}):
            def step(changed, *more):
                words = [word for pair in {**given, **changed}.items() for word in pair]
                return run(["train", "dgx-h100:4", "llama3-8b", "--global-batch", "64", *words, *more])
            for lever in step({}, "--explain")["levers"]:
                if lever["flag"]:
                    with self.subTest(given=given, flag=lever["flag"]):
                        name, value = shlex.split(lever["flag"])
                        answer = step({}, name, value) if name == "--set" else step({name: value})
                        self.assertEqual(answer["step_time_s"], lever["step_time_s"])
                        flags.add(lever["flag"].split()[-1].split("=")[0])
        self.assertGreater(len(flags), 5)

    def test_rows_of_validate(self):
        rows = run(["validate", "data/measured/collectives.csv"])["rows"]
        self.assertGreater(len(rows), 1500)
        commands = sorted({r["command"] for r in rows}) if ALL else three_of_each_table(rows)
        self.assertGreater(len(commands), 200)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = dict(zip(commands, pool.map(time_and_band, commands)))
        for row in (r for r in rows if r["command"] in answers):
            with self.subTest(row["command"]):
                self.assertEqual(answers[row["command"]], (row["predicted"], row["band_percent"]))

    def test_rows_of_training_steps(self):
        only = [] if ALL else ["--only", "gpus_total<257"]
        rows = run(["validate", "data/measured/training.csv", *only])["rows"]
        commands = sorted({r["command"] for r in rows})
        self.assertGreater(len(commands), 100)
        tried = commands if ALL else commands[::len(commands) // 12]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = dict(zip(tried, pool.map(time_and_band, tried)))
        equal = 0
        for row in rows:
            if row["command"] in answers:
                with self.subTest(row["row_id"]):
                    self.assertEqual(answers[row["command"]], (row["predicted"], row["band_percent"]), row["command"])
                    equal += 1
        print(f"{equal} rows of training steps equal their commands")

    def test_collectives_of_steps(self):
        for step in STEPS:
            calls = run(["train", *step])["calls"]
            self.assertTrue(calls)
            for call in calls:
                with self.subTest(call["command"]):
                    self.assertEqual(call["slowdown"], 1)
                    self.assertEqual(time_of(call["command"]), call["alone_us"])

    def test_exchanges_of_experts_take_longer_for_the_same_bytes(self):
        step = ["--cluster", "dgx-h100:2", "--model", "mixtral-8x7b", "--ep", "8", "--pp", "2",
                "--set", "layout.expert_exchange=per_node", "--set", "layout.expert_skew=0"]
        sizes = {}
        for overlap, slowdown in ((0, 1 / 0.82), (0.8, 1.2 / 0.82)):
            calls = run(["train", *step, "--set", f"layout.overlap.ep={overlap}"])["calls"]
            exchanges = [call for call in calls if call["class"] == "ep"]
            for call in exchanges:
                with self.subTest(call["command"], overlap=overlap):
                    self.assertAlmostEqual(call["slowdown"], slowdown)
                    self.assertAlmostEqual(time_of(call["command"]) * slowdown, call["alone_us"], places=3)
            sizes[overlap] = sorted({call["size_bytes"] for call in exchanges})
        self.assertEqual(sizes[0], sizes[0.8])

    def test_layouts_of_plans(self):
        for plan in PLANS:
            rows = run(["plan", *plan])["layouts"]
            self.assertGreater(len(rows), 1)
            for row in rows[:6]:
                words = shlex.split(row["command"])
                with self.subTest(row["command"]):
                    step = run(words[1:])
                    self.assertEqual(step["step_time_ps"], row["step_time_ps"])
                    self.assertEqual(step["step_time_s"], row["step_time_s"])
                    self.assertEqual(step["balanced_step_time_s"], row["balanced_step_time_s"])
                    self.assertEqual(step["breakdown_s"], row["breakdown_s"])
                    self.assertEqual(step["layout"], row["layout"])
                    self.assertEqual(step["memory_bytes"]["total"], row["memory_bytes"])

    def test_a_step_takes_the_same_time_in_every_command(self):
        step = ["dgx-h100:2", "--model", "llama3-8b", "--tp", "2", "--global-batch", "64"]
        train = run(["train", "--cluster", *step])
        times = {"compare": run(["compare", *step])["rows"][0]["step_time_s"],
                 "cost": run(["cost", *step])["training"]["step_time_s"],
                 "survive": run(["survive", *step])["step_time_s"],
                 "train of lists": run(["train", "--cluster", *step, "--zero", "0,1"])["layouts"],
                 "train of sizes": run(["train", "--cluster", *step, "--scale", "16..16"])["points"][0]["step_time_s"],
                 "the spread": train["jitter"]["expected_step_s"],
                 "the sum of parts": round(sum(train["breakdown_ps"].values()) / 1e12, 12)}
        listed = [row for row in times["train of lists"] if row["layout"]["zero"] == train["layout"]["zero"]]
        times["train of lists"] = listed[0]["step_time_s"]
        self.assertGreater(train["step_time_s"], train["balanced_step_time_s"])
        for command, time in times.items():
            with self.subTest(command):
                self.assertEqual(time, train["step_time_s"])

    def test_what_is_turned_off_costs_the_same_whichever_command_is_asked(self):
        step = ["train", "--cluster", "dgx-h100:2", "--model", "llama3-8b", "--zero", "0"]
        with tempfile.TemporaryDirectory() as folder:
            for variable in ("NCCL_IB_DISABLE=1", "NCCL_NET_GDR_LEVEL=LOC", "NCCL_NVLS_ENABLE=0"):
                env = ["--launch", "process", "--env", variable]
                call = next(c for c in run([*step, *env])["calls"] if c["size_bytes"] > 1 << 20)
                size = str(call["size_bytes"])
                asked = ["dgx-h100:2", call["collective"], "-b", size, "-e", size, "--launch", "process"]
                csv = pathlib.Path(folder, "one.csv")
                csv.write_text(f"size_bytes,time_us\n{size},1000\n")
                expected = run(["expect", str(csv), "--cluster", "dgx-h100:2", "--collective", call["collective"], *env])
                alone = run(["collective", *asked, "--env", variable])["results"][0]["time_us"]
                with self.subTest(variable):
                    self.assertGreater(alone, 1.02 * run(["collective", *asked])["results"][0]["time_us"])
                    self.assertEqual([expected["rows"][0]["expected_us"], call["alone_us"]], [alone, alone])


if __name__ == "__main__":
    BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
    ALL = "--all" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--all"]
    unittest.main()
