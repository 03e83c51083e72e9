"""A copy of the project's scripts in a folder of its own, with stub programs that keep a log."""
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("bash", "sh", "cat", "tail", "head", "grep", "sed", "mkdir", "env", "dirname", "nproc", "touch")

ALL_INSTALLED = 'shift 2; for p in "$@"; do printf "installed=%s " "$p"; done'
NONE_INSTALLED = "exit 1"


class House:
    """Runs ./run, ./test or a line of shell with a PATH of stubs and a few harmless tools."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.top = pathlib.Path(self.folder.name, "tree")
        self.bin = pathlib.Path(self.folder.name, "bin")
        self.log = pathlib.Path(self.folder.name, "calls")
        self.log.touch()
        (self.top / "tools").mkdir(parents=True)
        self.bin.mkdir()
        for name in ("run", "test", "tools/setup.sh", "CMakePresets.json"):
            shutil.copy(ROOT / name, self.top / name)
        for name in TOOLS:
            (self.bin / name).symlink_to(shutil.which(name))
        self.stub("dpkg-query", ALL_INSTALLED)
        self.stub("id", "echo 0")
        for name in ("apt-get", "cmake", "ctest"):
            self.stub(name)
        # A pretended product: what ./run calls after its build.
        product = self.top / "build" / "release" / "busbar"
        product.parent.mkdir(parents=True)
        self.write(product, "busbar", "")
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def write(self, path, name, body):
        path.write_text(f'#!/bin/sh\nprintf "%s\\n" "{name} $*" >>"{self.log}"\n{body}\n')
        path.chmod(0o755)

    def stub(self, name, body=""):
        self.write(self.bin / name, name, body)

    def remove(self, name):
        (self.bin / name).unlink()

    def env(self):
        return {"PATH": str(self.bin), "HOME": self.folder.name}

    def run(self, *command):
        return subprocess.run(command, cwd=self.top, env=self.env(), stdin=subprocess.DEVNULL, text=True, check=False,
                              capture_output=True, timeout=60)

    def setup(self, *packages):
        line = ". tools/setup.sh; setup_packages " + " ".join(packages)
        return self.run("bash", "-euc", line)

    def calls(self, name):
        return [line for line in self.log.read_text().splitlines() if line.split(" ")[0] == name]

