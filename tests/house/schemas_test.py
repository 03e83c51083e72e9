"""JSON Schemas of the questions: they are schemas, real requests and answers keep to them, and the page names every key.

    tests/house/schemas_test.py BUSBAR
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("python3-jsonschema is missing", file=sys.stderr)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOGS, FIXTURES = ROOT / "examples/logs", ROOT / "tests/fixtures"
RESULTS = f"{LOGS}/all-reduce-8-h100.txt"
# Several answers of a question where it has several kinds of results.
COMMANDS = [line.split() for line in f"""
collective dgx-h100:2 all_reduce -b 1M -e 4M --explain
collective dgx-h100:2 all_reduce -b 1M -e 1M --engine packet
collective mi300x-8:2 all_to_all -b 1M -e 1M --jitter node0.nic0=1%x50us
train dgx-h100:2 llama3-8b --tp 8 --global-batch 16 --beside layout.tp=4 --measured 2s --explain
train dgx-h100:2 llama3-8b --tp 8 --global-batch 16 --scale 8..32
train dgx-h100:2 llama3-8b --tp 2,4 --global-batch 16
train dgx-h100:2 llama3-8b --tp 8 --batches 16..64
train dgx-h100 llama3-70b --tp 1 --global-batch 16 --checkpoint-every 100
plan dgx-h100:2 llama3-8b --global-batch 16
topo dgx-h100:2 --all
localize {FIXTURES}/ibnetdiscover/superbench-ibnetdiscover.txt
path dgx-h100:2 node0.gpu0 node1.gpu3 --explain
flows dgx-h100:2 --sizes websearch --load 0.3 --until 0.2ms
flows dgx-h100:2 --sizes websearch --load 0.3 --until 0.2ms --engine packet
catalog h100-sxm
catalog
validate {ROOT}/data/measured/collectives.csv --only node=dgx-h100,collective=all_reduce
validate {ROOT}/data/measured/training.csv --only framework=nemo,gpus_total<9,moe=no
rings dgx-a100:2
import {LOGS}/nccl-2x8-h100.log
import {FIXTURES}/nccl-topo/aws-p4d-24xl-topo.xml
expect {RESULTS} --cluster dgx-h100
calibrate {RESULTS} --cluster dgx-h100
claims S0-19
cost dgx-h100:8
doctor {LOGS}/nccl-2x8-h100.log
doctor dgx-h100:2
survive dgx-h100:8 llama3-8b
compare dgx-h100 dgx-b200 --gpus 16 --model llama3-8b
compare dgx-h100:2 dgx-a100:2 all_reduce
sweep study.yaml
new --servers 2 --node dgx-h100
bench all_reduce --ranks 2 -b 1K -e 8K -n 2 --transport threads
""".strip().splitlines()]


def schemas_writer():
    spec = importlib.util.spec_from_file_location("write_schemas", ROOT / "tools/write_schemas.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keys_of(value, prefix=""):
    """Keys of an answer, as the page spells them."""
    if isinstance(value, list):
        return {key for one in value for key in keys_of(one, prefix + "[]")}
    if not isinstance(value, dict):
        return set()
    named = {f"{prefix}.{key}" if prefix else key: inner for key, inner in value.items()}
    return set(named) | {key for name, inner in named.items() for key in keys_of(inner, name)}


class Schemas(unittest.TestCase):
    busbar = None

    @classmethod
    def setUpClass(cls):
        cls.writer = schemas_writer()
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.writer.main(cls.busbar, cls.folder)
        (cls.folder / "study.yaml").write_text("command: topo dgx-h100\ngrid:\n  --nodes: [1, 2]\n")
        cls.of = {path.stem: json.loads(path.read_text()) for path in (cls.folder / "_static/schemas").iterdir()}

    def test_each_is_a_schema(self):
        for both in self.of.values():
            for half in ("request", "answer"):
                Draft202012Validator.check_schema(both[half])

    def test_real_answers_of_every_question_keep_to_theirs(self):
        self.assertEqual({words[0] for words in COMMANDS}, set(self.of))
        for words in COMMANDS:
            with self.subTest(" ".join(words)):
                run = subprocess.run([self.busbar, *words, "--json"], cwd=self.folder, text=True, capture_output=True)
                self.assertIn(run.returncode, (0, 1), run.stderr)
                answer = Draft202012Validator(self.of[words[0]]["answer"])
                wrong = [f"{e.json_path}: {e.message[:200]}" for e in answer.iter_errors(json.loads(run.stdout))]
                self.assertEqual(wrong, [])

    def test_the_page_has_a_row_for_every_key_of_a_real_answer(self):
        page = (self.folder / "formats/json.md").read_text()
        section = page.split("\n## path\n")[1].split("\n## ")[0]
        out = subprocess.run([self.busbar, "path", "dgx-h100:2", "node0.gpu0", "node1.gpu3", "--json"],
                             check=True, text=True, stdout=subprocess.PIPE).stdout
        open_names = ("latency_parts_ns.", "run.")  # whose keys differ from answer to answer
        for key in keys_of(json.loads(out)):
            if not any(name in key for name in open_names):
                self.assertIn(f"| `{key}` |", section)


if __name__ == "__main__":
    Schemas.busbar = sys.argv.pop(1)
    unittest.main()
