"""No command crashes on any machine of the catalogue: it answers, or says in a message why not.

    tests/house/every_machine_test.py BUSBAR

Steps are of a small model, and searches have a small space, so that all machines together take less than a minute.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
TIME_LIMIT_S = 120
MODEL = ("name: small\nlayers: 8\nhidden: 4096\nffn: 14336\nheads: 32\nkv_heads: 8\nhead_dim: 128\nmlp: gated\nvocab: 32000\n"
         "tied_embeddings: false\nsource: a test\n")
MOST_GPUS = 72  # of a machine that is also tried twice: two TPU pods take minutes
SPACE = ["--vpp", "1", "--cp", "1", "--micro-batch", "1", "--zero", "1", "--schedule", "1f1b"]
FEW = ["--tp", "1,2", "--pp", "1,2", *SPACE]  # ties among them
ONE = ["--tp", "1", "--pp", "1", *SPACE]      # of pods, each of whose layouts takes seconds


def commands(machine, gpus):
    job = ["--recompute", "full", "--global-batch", str(2 * gpus)]
    yield ["topo", machine]
    yield ["collective", machine, "all_reduce", "-b", "1M", "-e", "1M"]
    yield ["cost", machine]
    yield ["train", "--cluster", machine, "--model", "small.yaml", *job]
    for more in ([], ["--offload", "optimizer"]):
        yield ["plan", machine, "small.yaml", *job, *(FEW if gpus <= 1024 else ONE), *more]


def answer(words, folder=None):
    return subprocess.run([BUSBAR, *words], capture_output=True, text=True, cwd=folder, check=False, timeout=TIME_LIMIT_S)


def machines():
    """Every node of the catalogue, alone and twice, with its GPUs."""
    for entry in json.loads(answer(["catalog", "nodes", "--json"]).stdout)["entries"]:
        one = answer(["topo", entry["name"], "--json"])
        gpus = json.loads(one.stdout)["counts"]["gpus"] if one.returncode == 0 else 1
        yield entry["name"], gpus
        if gpus <= MOST_GPUS:
            yield entry["name"] + ":2", 2 * gpus


class EveryMachine(unittest.TestCase):
    def check(self, words, folder):
        done = answer(words, folder)
        self.assertIn(done.returncode, (0, 1, 2), done.stderr)
        self.assertTrue(done.stdout if done.returncode == 0 else done.stdout or done.stderr.startswith("busbar: "), done.stderr)
        self.assertNotIn("bug of busbar", (done.stdout + done.stderr).lower())
        return done.returncode == 0

    def test_answers_or_says_why_not(self):
        asked = answered = 0
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "small.yaml").write_text(MODEL)
            for name, gpus in machines():
                for words in commands(name, gpus):
                    with self.subTest(command=" ".join(words)):
                        asked += 1
                        answered += self.check(words, folder)
        self.assertGreater(asked, 1000)
        self.assertGreater(answered, 0.9 * asked)


if __name__ == "__main__":
    unittest.main()
