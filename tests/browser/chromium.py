"""A headless Chromium over its debugging pipe: opens pages, runs expressions in them, takes pictures."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

PATH = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Chromium:
    """One browser with one tab. Messages of the page's console and its requests are collected."""

    def __init__(self, timeout_s=60):
        self._timeout_s = timeout_s
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def plumb():  # the browser reads descriptor 3 and writes 4
            read, write = os.dup(to_read), os.dup(to_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._process = subprocess.Popen(
            [PATH, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
             "--no-first-run", "--disable-extensions", f"--user-data-dir={self._folder.name}", "about:blank"],
            preexec_fn=plumb, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self._number, self._buffer, self._session = 0, b"", None
        self.complaints, self.requests, self._loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._folder.cleanup()

    def call(self, method, **parameters):
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self._timeout_s
        while True:
            answer = self._next(until)
            if answer.get("id") != number:
                self._event(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def _next(self, until):
        while b"\0" not in self._buffer:
            if time.monotonic() > until:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def _event(self, event):
        method, parameters = event.get("method", ""), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"].get("text", "") + " " +
                                   parameters["exceptionDetails"].get("exception", {}).get("description", ""))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.complaints.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])

    def emulate(self, width=1400, height=900, dark=False, media="screen"):
        """Shows the open page on such a screen, and the pages opened later."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 500)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)

    def open(self, address, width=1400, height=900, scripts=True, dark=False, media="screen"):
        """`address`: a path, or http://... Forgets what was collected before."""
        self.complaints, self.requests, self._loaded = [], [], False
        self.emulate(width, height, dark, media)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        url = str(address) if "://" in str(address) else pathlib.Path(address).resolve().as_uri()
        self.call("Page.navigate", url=url)
        until = time.monotonic() + self._timeout_s
        while not self._loaded:
            self._event(self._next(until))

    def run(self, expression):
        """The value of a JavaScript expression; works on pages that forbid scripts, too."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"]["exception"]["description"])
        return done["result"].get("value")

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key, code=None):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                      **({"text": key} if len(key) == 1 and kind == "keyDown" else {}))

    def picture(self, path, whole=False):
        more = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            more = {"captureBeyondViewport": True, "clip": {**size, "scale": 1}}
        data = self.call("Page.captureScreenshot", format="png", **more)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def pages_printed(self):
        """How many A4 pages the page takes."""
        data = base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=False, paperWidth=8.27,
                                          paperHeight=11.69)["data"])
        return data.count(b"/Type /Page\n") or data.count(b"/Type /Page ") or data.count(b"/Type/Page/")
