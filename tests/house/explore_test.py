"""The page of `busbar explore`: who reaches it, what it answers, how it ends.

    tests/house/explore_test.py BUSBAR
"""
import http.client
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIME_LIMIT_S = 60
STEP = {"node": "dgx-h100", "gpus": "32", "model": "llama3-8b", "tp": "8", "pp": "2", "global_batch": "64"}


class Explore(unittest.TestCase):
    busbar = None

    def setUp(self):
        self.server = subprocess.Popen([self.busbar, "explore", "--json"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        self.addCleanup(self.end)
        self.said = json.loads(self.server.stdout.readline())
        self.port = self.said["port"]
        self.secret = urllib.parse.urlsplit(self.said["address"]).path

    def end(self):
        self.server.kill()
        self.server.communicate(timeout=TIME_LIMIT_S)

    def get(self, path, host=None, method="GET", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIME_LIMIT_S)
        self.addCleanup(connection.close)
        connection.request(method, path, body, {"Host": host or f"127.0.0.1:{self.port}"})
        reply = connection.getresponse()
        return reply.status, reply.read().decode(), reply.headers

    def answer(self, **values):
        status, text, _ = self.get(self.secret + "answer?" + urllib.parse.urlencode({**STEP, **values}))
        self.assertEqual(status, 200)
        return json.loads(text)

    def test_only_the_secret_address_of_this_machine_is_answered(self):
        wrong = self.secret[:-2] + ("0" if self.secret[-2] != "0" else "1") + "/"
        for path in ("/", wrong, wrong + "answer?node=dgx-h100", self.secret[:-3] + "/", self.secret.rstrip("/") + "0/",
                     "/answer", "//" + self.secret.strip("/") + "/"):
            with self.subTest(path):
                self.assertEqual(self.get(path)[0], 403)
        for host in ("example.org", f"example.org:{self.port}", "127.0.0.1", f"localhost:{self.port + 1}",
                     f"127.0.0.1.example.org:{self.port}"):
            with self.subTest(host):
                self.assertEqual(self.get(self.secret, host)[0], 403)
        for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
            with self.subTest(method):
                self.assertEqual(self.get(self.secret, method=method)[0], 403)
        self.assertEqual(self.get(self.secret)[0], 200)
        self.assertEqual(self.get(self.secret, f"localhost:{self.port}")[0], 200)
        self.assertEqual(self.get(self.secret + "../etc/passwd")[0], 404)

    def post(self, path, body, origin=None, host=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIME_LIMIT_S)
        self.addCleanup(connection.close)
        headers = {"Host": host or f"127.0.0.1:{self.port}"} | ({"Origin": origin} if origin else {})
        connection.request("POST", self.secret + path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()

    def test_files_come_from_the_own_page_only_and_are_small(self):
        own = f"http://127.0.0.1:{self.port}"
        lab = "name: lab\nnode: dgx-h100\nnodes: 4\n"
        for origin in (None, "null", "http://example.org", own + "0", f"https://127.0.0.1:{self.port}"):
            with self.subTest(origin):
                self.assertEqual(self.post("file?kind=cluster&name=lab.yaml", lab, origin)[0], 403)
        self.assertEqual(self.post("answer?", lab, own)[0], 404)
        self.assertEqual(self.get(self.secret + "file?kind=cluster&name=lab.yaml")[0], 404)
        self.assertEqual(self.post("file?kind=cluster&name=x.yaml", "#" * ((1 << 20) + 1), own)[0], 413)
        status, text = self.post("file?kind=cluster&name=../My%20Lab.yaml", lab, own)
        self.assertEqual((status, json.loads(text)), (200, {"name": "my-lab.yaml", "message": ""}))
        got = self.answer(node="my-lab.yaml")
        self.assertIn("busbar train my-lab.yaml llama3-8b", got["command"])
        self.assertEqual(got["result"]["step_time_s"], self.answer()["result"]["step_time_s"])
        self.assertIn("the file my-lab.yaml has 32 GPUs", self.answer(node="my-lab.yaml", gpus="64")["message"])

    def test_a_file_that_cannot_be_read_is_refused_with_its_place(self):
        own = f"http://127.0.0.1:{self.port}"
        said = json.loads(self.post("file?kind=cluster&name=lab.yaml", "name: lab\nnode: dgx-h100\nnodes: many\n", own)[1])
        self.assertEqual(said["name"], "")
        self.assertRegex(said["message"], r"^lab\.yaml:3:8: ")
        said = json.loads(self.post("file?kind=model&name=m.yaml", "name: m\n", own)[1])
        self.assertRegex(said["message"], r"^m\.yaml:1")
        self.assertIn("the catalogue has no 'lab.yaml'", self.answer(node="lab.yaml")["message"])

    def test_files_of_the_user_end_with_the_server(self):
        before = set(pathlib.Path(tempfile.gettempdir()).glob("busbar-explore-*"))
        self.post("file?kind=cluster&name=lab.yaml", "name: lab\nnode: dgx-h100\n", f"http://127.0.0.1:{self.port}")
        folder, = set(pathlib.Path(tempfile.gettempdir()).glob("busbar-explore-*")) - before
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        self.server.send_signal(signal.SIGINT)
        self.assertEqual(self.server.wait(TIME_LIMIT_S), 0)
        self.assertFalse(folder.exists())

    def test_a_thousand_half_open_clients_do_not_block_a_page(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
        begun = b"GET " + self.secret.encode()
        idle = []
        for i in range(1000):
            idle.append(socket.create_connection(("127.0.0.1", self.port)))
            if i % 2:
                idle[-1].sendall(begun)
        for _ in range(3):
            begin = time.monotonic()
            self.assertEqual(self.get(self.secret)[0], 200)
            self.assertLess(time.monotonic() - begin, 1)
        self.assertLess(len(list(pathlib.Path(f"/proc/{self.server.pid}/fd").iterdir())), 300)
        for connection in idle:
            connection.close()

    def test_searches_whose_browsers_left_do_not_keep_a_page_waiting(self):
        search = urllib.parse.urlencode({"node": "dgx-h100", "gpus": "1024", "model": "deepseek-v3", "global_batch": "4096"})
        for _ in range(40):
            gone = socket.create_connection(("127.0.0.1", self.port))
            gone.sendall(f"GET {self.secret}plan?{search} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
            time.sleep(0.02)
            gone.close()
        begin = time.monotonic()
        self.assertEqual(self.get(self.secret)[0], 200)
        self.assertLess(time.monotonic() - begin, 8)  # one after the other they took 14 s

    def test_a_request_that_comes_drop_by_drop_ends_after_5_s(self):
        slow = socket.create_connection(("127.0.0.1", self.port))
        self.addCleanup(slow.close)
        begin = time.monotonic()
        with self.assertRaises(OSError):
            while time.monotonic() - begin < TIME_LIMIT_S:
                slow.sendall(b"x")
                time.sleep(0.1)
        self.assertLess(time.monotonic() - begin, 10)

    def look(self, moved, **values):
        text = self.get(self.secret + "look?" + urllib.parse.urlencode({**STEP, **values, "moved": moved}))[1]
        return json.loads(text)

    def test_another_machine_keeps_the_job_and_mends_the_layout(self):
        said = self.look("node", node="gb200-nvl72", gpus="128", model="llama3-70b", global_batch="512")
        values = said["values"]
        self.assertEqual(values["gpus"], "144")
        self.assertEqual((values["tp"], values["pp"]), ("8", "2"))
        self.assertIn("GPUs 144 instead of 128", said["mended"])
        self.assertTrue(said["fits"])
        got = self.answer(**values)
        self.assertEqual(got["status"], 0, got["message"])
        self.assertLess(said["bound_s"], 1.000001 * got["result"]["step_time_s"])
        self.assertGreater(said["bound_s"], 0.5 * got["result"]["step_time_s"])
        self.assertEqual(said["memory_bytes"], got["result"]["memory_bytes"]["total"])

    def test_what_cannot_run_gets_the_nearest_that_can_and_its_reason(self):
        said = self.look("tp", tp="3")
        self.assertEqual(said["values"]["tp"], "4")
        self.assertIn("32 attention heads are not divisible by tp 3", said["message"])
        for key, stops in said["stops"].items():
            if key in ("gpus", "zero", "recompute"):
                continue
            for stop in (stops[0], stops[-1]):
                with self.subTest(key, stop=stop):
                    message = self.answer(**{**said["values"], key: str(stop)})["message"]
                    self.assertNotIn("divisible", message)

    def raw(self, data):
        with socket.create_connection(("127.0.0.1", self.port), timeout=TIME_LIMIT_S) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return connection.makefile("rb").readline().decode().split(" ")[1:2]

    def test_what_is_no_request_neither_gets_a_page_nor_stops_the_server(self):
        get = f"GET {self.secret} HTTP/1.1\r\n".encode()
        host = f"Host: 127.0.0.1:{self.port}\r\n".encode()
        self.assertEqual(self.raw(get + host + b"\r\n"), ["200"])
        for data, status in ((b"", []), (b"\0" * 1000, []), (get, []), (get + b"\r\n", ["400"]),
                             (get + host + host + b"\r\n", ["400"]), (b"\x16\x03\x01\r\n\r\n", ["400"])):
            with self.subTest(data):
                self.assertEqual(self.raw(data), status)
        idle = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(6)]  # as browsers open in advance
        self.assertEqual(self.raw(get + host + b"\r\n"), ["200"])
        for connection in idle:
            connection.close()

    def test_it_listens_on_no_other_address(self):
        listening = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        mine = [line[1] for line in listening if line[3] == "0A" and line[1].endswith(f":{self.port:04X}")]
        self.assertEqual(mine, [f"0100007F:{self.port:04X}"])

    def test_the_browser_runs_nothing_but_the_script_of_the_page(self):
        _, page, headers = self.get(self.secret)
        policy = headers["Content-Security-Policy"]
        self.assertIn("default-src 'none'", policy)
        nonce = re.search(r"script-src 'nonce-([0-9a-f]{32})';", policy)[1]
        self.assertEqual(re.findall(r"<(?:script|style)[^>]*>", page), [f'<{e} nonce="{nonce}">' for e in ("style", "script")])
        self.assertNotIn(nonce, self.get(self.secret)[2]["Content-Security-Policy"])

    def test_an_answer_is_what_train_prints(self):
        for more in ({}, {"fabric": "roce-400g-rail", "zero": "3", "pp": "1"}, {"gpus": "8", "tp": "1", "pp": "1", "zero": "0"}):
            with self.subTest(more):
                got = self.answer(**more)
                words = shlex.split(got["command"])
                self.assertEqual(words[:2], ["busbar", "train"])
                run = subprocess.run([self.busbar, *words[1:], "--json", "--brief"], capture_output=True, text=True, check=False)
                expected = json.loads(run.stdout)
                for result in (got["result"], expected):
                    result.pop("run", None)
                self.assertEqual(got["result"], expected)
                self.assertEqual(got["status"], run.returncode)
                self.assertEqual("busbar: " + got["message"] if got["message"] else "", run.stderr.strip())
                self.assertLess(expected["likely_step_s"][0], expected["likely_step_s"][1])

    def stream(self, kind, **values):
        """The lines of a long reply, as they come."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIME_LIMIT_S)
        self.addCleanup(connection.close)
        connection.request("GET", self.secret + kind + "?" + urllib.parse.urlencode({**STEP, **values}))
        reply = connection.getresponse()
        while line := reply.readline():
            yield json.loads(line)
        connection.close()

    def test_buttons_answer_what_their_commands_print(self):
        for kind, words in (("plan", ["plan", "dgx-h100:4", "llama3-8b"]),
                            ("machines", ["compare", "dgx-h100", "dgx-a100", "--gpus", "32"]),
                            ("fabrics", ["compare", "dgx-h100:4", "--model", "llama3-8b"])):
            with self.subTest(kind):
                *news, last = self.stream(kind, **{"with": "dgx-a100", "recompute": "full", "precision": "bf16"})
                for line in news:
                    self.assertLessEqual(line["done"], line["total"])
                self.assertEqual(last["status"], 0, last["message"])
                typed = shlex.split(last["command"])
                self.assertEqual(typed[1:1 + len(words)], words)
                run = subprocess.run([self.busbar, *typed[1:], "--json"], capture_output=True, text=True, check=True)
                expected = json.loads(run.stdout)
                for result in (last["result"], expected):
                    result.pop("run", None)
                self.assertEqual(last["result"], expected)
        *_, last = self.stream("plan", tp="x", node="dgx-h10")
        self.assertIn("did you mean", last["message"])

    def cpu_s(self):
        return sum(int(f) for f in pathlib.Path(f"/proc/{self.server.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]) / 100

    def test_a_catalogue_that_is_not_there_is_an_error_at_the_start(self):
        done = subprocess.run([self.busbar, "explore", "--json"], env={**os.environ, "BUSBAR_CATALOG": "/nowhere"}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIME_LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("'/nowhere' is not a folder", done.stderr)

    def test_a_browser_that_leaves_ends_the_search(self):
        large = {"node": "dgx-h100", "gpus": "1024", "model": "deepseek-v3", "global_batch": "4096"}
        lines = self.stream("plan", **large)
        self.assertIn("done", next(lines))  # it has begun, and is not at its end
        lines.close()
        deadline = time.monotonic() + TIME_LIMIT_S
        before = self.cpu_s()
        while time.sleep(1) is None and self.cpu_s() > before + 0.1:
            self.assertLess(time.monotonic(), deadline)
            before = self.cpu_s()
        self.assertEqual(self.answer()["status"], 0)

    def test_an_answer_does_not_depend_on_those_before(self):
        states = [{"tp": tp, "pp": pp, "micro_batch": b} for tp in ("8", "4") for pp in ("2", "1") for b in ("1", "2")]
        first = [self.answer(**s)["result"] for s in states]
        again = [self.answer(**s)["result"] for s in reversed(states)][::-1]
        for results in (first, again):
            for r in results:
                r.pop("run", None)
        self.assertEqual(first, again)

    def test_machines_that_stay_ready_keep_to_256_mib(self):
        for pp in ("16", "8"):
            self.answer(gpus="16384", model="llama3.1-405b", pp=pp, global_batch="2048")
        _, resident, of_files = [int(n) for n in pathlib.Path(f"/proc/{self.server.pid}/statm").read_text().split()[:3]]
        self.assertLess((resident - of_files) * os.sysconf("SC_PAGESIZE"), 256 << 20)

    def test_bad_values_get_the_message_of_the_command(self):
        for change, message in (({"tp": "3"}, "--tp: 32 attention heads are not divisible by tp 3"),
                                ({"tp": "x"}, "--tp"), ({"recompute": "all"}, "all"), ({"gpus": "12"}, "GPUs: 12 is no multiple of 8"), ({"gpus": "0"}, "0 is no multiple"),
                                ({"node": "dgx-h10"}, "machine: the catalogue has no 'dgx-h10'; did you mean"),
                                ({"node": ""}, "node: is missing"),
                                ({"model": "README.md"}, "model: is no value"), ({"model": "../x"}, "model: is no value"),
                                ({"fabric": "--html=x"}, "fabric: is no value"), ({"tp": "--html"}, "is no value"),
                                ({"html": "x"}, "the page has no such field")):
            with self.subTest(change):
                got = self.answer(**change)
                self.assertEqual((got["status"], got["result"]), (2, None))
                self.assertIn(message, got["message"])

    def test_the_report_is_the_page_of_train(self):
        status, page, headers = self.get(self.secret + "report?" + urllib.parse.urlencode(STEP))
        self.assertEqual((status, headers["Content-Disposition"]), (200, 'attachment; filename="page.html"'))
        self.assertIn("busbar train dgx-h100:4 llama3-8b --tp 8 --pp 2 --global-batch 64 --html page.html", page)
        self.assertEqual(self.get(self.secret + "report?node=dgx-h100")[0], 400)

    def test_it_begins_with_a_page_that_a_command_wrote(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.html"
            for words, state in (("train dgx-h100:4 llama3-8b --tp 8 --pp 2 --global-batch 64 --zero 3", {"tp": "8", "zero": "3", "gpus": "32"}),
                                 ("collective dgx-h100:2 all_reduce -b 1M -e 4M", {"op": "all_reduce", "size": "4194304", "gpus": "16"})):
                subprocess.run([self.busbar, *words.split(), "--html", str(page)], check=True, capture_output=True)
                with subprocess.Popen([self.busbar, "explore", str(page), "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True) as server:
                    hashed = urllib.parse.urlsplit(json.loads(server.stdout.readline())["address"]).fragment
                    server.stdin.close()
                    got = dict(urllib.parse.parse_qsl(hashed))
                    self.assertEqual({k: got[k] for k in state}, state)
                    self.assertEqual(got["node"], "dgx-h100")
            page.write_text("<html></html>")
            done = subprocess.run([self.busbar, "explore", str(page)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  check=False, timeout=TIME_LIMIT_S)
            self.assertEqual(done.returncode, 2)
            self.assertIn("carries no result", done.stderr)

    def test_it_ends_with_a_signal_and_with_its_terminal(self):
        self.server.send_signal(signal.SIGINT)
        self.assertEqual(self.server.wait(TIME_LIMIT_S), 0)
        self.end()
        self.setUp()
        self.server.stdin.close()
        self.assertEqual(self.server.wait(TIME_LIMIT_S), 0)
        self.server.stdin = None

    def test_a_port_that_is_taken_or_none_is_refused(self):
        for port, message in ((self.port, "in use"), (65536, "is no port")):
            run = subprocess.run([self.busbar, "explore", "--port", str(port)], capture_output=True, text=True, check=False,
                                 timeout=TIME_LIMIT_S)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertRegex(run.stderr, f"^busbar: --port: .*{message}")


if __name__ == "__main__":
    Explore.busbar = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
