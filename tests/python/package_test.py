"""The Python package, as a wheel: what it answers, how it fails, and what is in it.

    tests/python/package_test.py BUSBAR LIBRARY
"""
import base64
import doctest
import hashlib
import json
import keyword
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

from installed import BUSBAR, INSTALLED, LIBRARY, ROOT, WHEEL, missing

import busbar as bb  # noqa: E402

PATH = {"cluster": "dgx-h100", "a": "gpu0", "b": "gpu7"}
# A question, the words of the command, and the fields that mean the same.
SAME = [
    ("path", "dgx-h100 gpu0 gpu7", PATH),
    ("path", "dgx-h100:64 0 511 --explain", {"cluster": "dgx-h100:64", "a": "0", "b": "511", "explain": True}),
    ("path", "gb200-nvl72 0 71", {"cluster": "gb200-nvl72", "a": "0", "b": "71"}),
    ("path", "mi300x-8:4 node0.gpu0 node3.gpu5", {"cluster": "mi300x-8:4", "a": "node0.gpu0", "b": "node3.gpu5"}),
    ("path", "rtx4090-pcie:2 0 9 --set nic=cx7", {"cluster": "rtx4090-pcie:2", "a": "0", "b": "9", "set": "nic=cx7"}),
    ("collective", "dgx-h100:2 all_reduce -b 1M -e 4M",
     {"cluster": "dgx-h100:2", "collective": "all_reduce", "min_bytes": "1M", "max_bytes": "4M"}),
    ("collective", "gb200-nvl72 all_gather -b 8 -e 1G -f 8 --explain",
     {"cluster": "gb200-nvl72", "collective": "all_gather", "max_bytes": "1G", "step_factor": 8, "explain": True}),
    ("train", "examples/llama3-70b-512xh100.yaml", {"scenario": "examples/llama3-70b-512xh100.yaml"}),
    ("plan", "dgx-h100 llama3-8b --global-batch 64", {"cluster": "dgx-h100", "model": "llama3-8b", "global_batch": 64}),
    ("cost", "dgx-h100:64 --model llama3-70b --tp 8 --global-batch 1024 --tokens 15T --upgrade 250K --saves 5",
     {"cluster": "dgx-h100:64", "model": "llama3-70b", "tp": 8, "global_batch": 1024, "tokens": "15T", "upgrade": "250K",
      "saves": 5}),
    ("topo", "mi300x-8 --matrix", {"cluster": "mi300x-8", "matrix": True}),
    ("rings", "dgx-h100:2", {"cluster": "dgx-h100:2"}),
]


def python(code, **more):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **more)


class Answers(unittest.TestCase):
    def test_they_are_those_of_the_command_to_the_bit(self):
        asked = 0
        for question, words, fields in SAME:
            with self.subTest(question, words=words):
                run = subprocess.run([BUSBAR, question, *words.split(), "--json"], capture_output=True, text=True,
                                     check=False)
                try:
                    ours = getattr(bb, question)(**fields).to_json()
                except bb.Error as error:
                    self.assertEqual(run.returncode, 2, error)
                    continue
                theirs = json.loads(run.stdout)
                theirs.pop("run", None)
                self.assertEqual(json.dumps(json.loads(ours)), json.dumps(theirs))
                asked += 1
        self.assertGreater(asked, 9)

    def test_a_question_named_like_a_keyword_ends_with_an_underscore(self):
        answer = bb.import_(ROOT / "tests/fixtures/nvidia-smi-topo/gcp-a3ultra-h200-8gpu-8nic.txt")
        self.assertEqual((answer.question, bb.import_.__name__), ("import", "import_"))

    def test_fields_are_attributes_of_nested_objects(self):
        answer = bb.path("dgx-h100", "gpu0", b="gpu7")
        self.assertEqual((answer.type, answer.status, answer.question), ("NVL", 0, "path"))
        self.assertEqual(answer.hops[0].class_, answer["hops"][0]["class"])
        self.assertEqual(answer.hops[0].latency_parts_ns["scale-up"], answer.to_dict()["hops"][0]["latency_ns"])
        with self.assertRaisesRegex(AttributeError, "there is no 'speed'; it has schema, cluster"):
            answer.speed  # pylint: disable=pointless-statement
        self.assertIn("GBps", dir(answer))
        self.assertEqual(bb.ask("path", **PATH), answer)

    def test_printed_they_are_what_the_command_prints(self):
        answer = bb.path(**PATH)
        run = subprocess.run([BUSBAR, "path", *PATH.values()], capture_output=True, text=True, check=True,
                             env={**os.environ, "COLUMNS": "100", "LC_ALL": "C.UTF-8"})
        title, _command, *text = run.stdout.strip().splitlines()
        self.assertEqual(answer.text(100).strip().splitlines(), [title, *text])
        self.assertIn("Latency by part", repr(answer))
        self.assertTrue(answer._repr_html_().startswith("<iframe srcdoc=\"&lt;!DOCTYPE html"))

    @unittest.skipIf(missing("pandas"), "no pandas here (apt-get install python3-pandas)")
    def test_tables_and_arrays(self):
        answer = bb.path(**PATH)
        self.assertEqual(list(answer.to_pandas()["latency_ns"]), list(answer.numbers("hops.latency_ns")))
        self.assertEqual(list(answer.hops.to_pandas()["latency_parts_ns.scale-up"]), [250.0, 250.0])
        self.assertEqual(answer.to_pandas(of="hops").shape[0], 2)
        self.assertEqual(answer.numbers("GBps").tolist(), [answer.GBps])
        with self.assertRaisesRegex(KeyError, "hops.latency_ns"):
            answer.numbers("hops.speed")

    def test_they_need_neither_numpy_nor_pandas(self):
        run = python("import sys; sys.modules.update(numpy=None, pandas=None)\n"
                     f"import busbar; a = busbar.path(**{PATH}); print(a.GBps, len(a.hops)); a.to_dict(); str(a)\n"
                     "try: a.to_pandas()\nexcept ImportError: print('asked')")
        self.assertEqual((run.stdout, run.stderr), (f"{bb.path(**PATH).GBps} 2\nasked\n", ""))

    def test_they_and_functions_can_be_pickled(self):
        answer = bb.path(**PATH)
        copy = pickle.loads(pickle.dumps(answer))
        self.assertEqual((copy, copy.status, copy.text(80)), (answer, answer.status, answer.text(80)))
        self.assertEqual(pickle.loads(pickle.dumps(answer.hops))[1], answer.hops[1])
        self.assertIs(pickle.loads(pickle.dumps(bb.path)), bb.path)

    def test_several_threads_ask_at_once(self):
        one, found = bb.path(**PATH).to_json(), []
        threads = [threading.Thread(target=lambda: found.append(bb.path(**PATH).to_json())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [one] * 4)

    def test_paths_and_numbers_of_numpy_are_fields(self):
        with tempfile.TemporaryDirectory(prefix="caf\u00e9") as folder:
            machine = pathlib.Path(folder, "m.yaml")
            machine.write_text("node: dgx-h100\nnodes: 2\n", encoding="utf-8")
            self.assertEqual(bb.path(machine, "0", "15").type, "NET")

    def test_the_example_of_the_package_is_right(self):
        self.assertEqual(doctest.testmod(bb), (0, 4))

    def test_help_says_what_each_field_is(self):
        for name in bb.questions():
            function = getattr(bb, name + "_" if keyword.iskeyword(name) else name)
            self.assertIn(bb.schema(name)["request"]["title"][1:], function.__doc__)
            for field in bb.schema(name)["request"]["properties"]:
                self.assertIn(f"\n    {field}", function.__doc__)


class LongAnswers(unittest.TestCase):
    LONG = {"cluster": "dgx-h100:16", "collective": "all_to_all", "min_bytes": "256M", "max_bytes": "256M", "engine": "packet"}

    def ends_soon(self, **how):
        begin = time.monotonic()
        try:
            bb.collective(**self.LONG, **how)
        except bb.Error as error:
            self.assertIn("ended by its caller", str(error))
        finally:
            self.assertLess(time.monotonic() - begin, 60)

    def test_a_time_limit_ends_them(self):
        self.ends_soon(time_limit=0.3)

    def test_their_progress_is_told_and_may_end_them(self):
        told = []
        self.ends_soon(progress=lambda *how_far: told.append(how_far) or True)
        self.assertEqual(told[0], ("sizes", 0, 1))

    def test_an_exception_of_the_callback_ends_them(self):
        def fail(*_how_far):
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            self.ends_soon(progress=fail)

    def test_ctrl_c_ends_them(self):
        code = f"import busbar; print('begins', flush=True); busbar.collective(**{self.LONG})"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as run:
            run.stdout.readline()
            time.sleep(0.5)
            run.send_signal(signal.SIGINT)
            _out, err = run.communicate(timeout=60)
        self.assertTrue(err.rstrip().endswith("KeyboardInterrupt"), err)

    def test_other_threads_run_meanwhile(self):
        counted = 0
        thread = threading.Thread(target=lambda: self.ends_soon(time_limit=1))
        thread.start()
        while thread.is_alive():
            counted += 1
            time.sleep(0.01)
        self.assertGreater(counted, 10)


class Failures(unittest.TestCase):
    def error(self, **fields):
        with self.assertRaises(bb.Error) as raised:
            bb.path(**{**PATH, **fields})
        return raised.exception

    def test_an_error_has_code_place_and_remedy(self):
        error = self.error(b="gpu9")
        self.assertEqual((error.code, error.path), ("not_found", "b"))
        self.assertTrue(error.remedy.startswith("write node0.gpu3"), error.remedy)
        self.assertIn("there is no device 'gpu9'", str(error))
        self.assertEqual(pickle.loads(pickle.dumps(error)).path, "b")

    def test_the_place_in_a_file_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            machine = pathlib.Path(folder, "m.yaml")
            machine.write_text("node: dgx-h100\nnode_count: 2\n", encoding="utf-8")
            error = self.error(cluster=machine)
        self.assertEqual((error.file, error.line), (str(machine), 2))

    def test_what_is_no_request_is_an_error(self):
        self.assertIn("not JSON", str(self.error(a=float("nan"))))
        self.assertEqual(self.error(gpus=10**400).code, "invalid")
        self.assertEqual(self.error(speed=1).code, "invalid")
        with self.assertRaises(ValueError):
            bb.path("\ud800", "gpu0", "gpu7")
        with self.assertRaises(TypeError):
            bb.path("dgx-h100", "gpu0", "gpu7", "gpu8")
        with self.assertRaises(TypeError):
            bb.path("dgx-h100", "gpu0", "gpu7", a="gpu0")
        with self.assertRaises(TypeError):
            bb.path("dgx-h100", object(), "gpu7")

    def test_nothing_is_printed(self):
        run = python(f"import busbar as bb; bb.path(**{PATH}); bb.path('dgx-h100:64', '0', '300').html()\n"
                     "try: bb.path('no such machine', 0, 1)\nexcept bb.Error: pass\n"
                     "for name in bb.questions():\n"
                     "    try: str(bb.ask(name, time_limit=5))\n"
                     "    except bb.Error: pass\n", stdin=subprocess.DEVNULL)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))

    def test_a_library_of_another_version_is_refused(self):
        run = python("import sys, types; v = types.ModuleType('busbar._version'); v.VERSION = '9.9'\n"
                     "sys.modules['busbar._version'] = v; import busbar")
        self.assertRegex(run.stderr, "is of busbar .*, but the Python package is of 9.9; install both from one release")

    def test_a_missing_library_is_named(self):
        run = python("import busbar", env={**os.environ, "BUSBAR_LIBRARY": "/no/libbusbar.so"})
        self.assertIn("/no/libbusbar.so", run.stderr)
        self.assertIn("BUSBAR_LIBRARY", run.stderr)


class Wheel(unittest.TestCase):
    def test_every_file_is_recorded(self):
        with zipfile.ZipFile(WHEEL) as wheel:
            names = wheel.namelist()
            record = next(name for name in names if name.endswith("RECORD"))
            listed = {}
            for line in wheel.read(record).decode().splitlines():
                name, digest, size = line.split(",")
                listed[name] = (digest, size)
            self.assertEqual(sorted(listed), sorted(names))
            for name in set(names) - {record}:
                data = wheel.read(name)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                self.assertEqual(listed[name], (f"sha256={digest}", str(len(data))))
        self.assertIn("busbar/libbusbar.so", names)
        self.assertIn("busbar/__init__.pyi", names)
        self.assertRegex(WHEEL.name, r"^busbar-[0-9.]+-py3-none-(manylinux_2_34|linux)_\w+\.whl$")

    @unittest.skipIf(missing("pip"), "no pip here (apt-get install python3-pip)")
    def test_pip_installs_it_without_a_network(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", folder,
                            WHEEL], check=True, capture_output=True)
            run = python("import busbar; print(busbar.__version__)", env={**os.environ, "PYTHONPATH": folder})
        self.assertEqual(run.stdout, bb.__version__ + "\n")


class Types(unittest.TestCase):
    def test_the_stubs_are_current(self):
        run = subprocess.run([sys.executable, ROOT / "python/write_stubs.py", "--check"], capture_output=True, text=True,
                             check=False, env={**os.environ, "BUSBAR_LIBRARY": LIBRARY})
        self.assertEqual(run.returncode, 0, run.stderr)

    @unittest.skipUnless(shutil.which("mypy"), "no mypy here (apt-get install mypy)")
    def test_mypy_accepts_right_uses_and_finds_wrong_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "uses.py")
            program.write_text("import busbar as bb\n"
                               "a = bb.path('dgx-h100', 'gpu0', b='gpu7', explain=True)\n"
                               "x: float = a.hops[0].latency_ns\n"
                               "y: str = a.hops[0].latency_ns\n"  # line 4
                               "bb.path('dgx-h100', 'gpu0', 'gpu7', explain='yes')\n"  # line 5
                               "bb.path('dgx-h100', 'gpu0', 'gpu7', speed=1)\n", encoding="utf-8")  # line 6
            run = subprocess.run(["mypy", "--strict", "--ignore-missing-imports", "--cache-dir", folder, "uses.py"],
                                 cwd=folder, capture_output=True, text=True, check=False,
                                 env={**os.environ, "MYPYPATH": str(INSTALLED)})
        lines = sorted({line.split(":")[1] for line in run.stdout.splitlines() if line.startswith("uses.py")})
        self.assertEqual(lines, ["4", "5", "6"], run.stdout)
        self.assertNotRegex(run.stdout, r"\.pyi:\d+: error")


if __name__ == "__main__":
    unittest.main()
