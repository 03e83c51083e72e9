"""The wheel of a library, made and unpacked as pip would install it, and where `import busbar` finds it.

A test that imports this takes BUSBAR LIBRARY as its first arguments, and runs in Debian's python3 where there is one.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

PYTHON = "/usr/bin/python3"  # has Debian's numpy, pandas and mypy, whatever comes first in PATH
if os.path.exists(PYTHON) and not os.path.samefile(PYTHON, sys.executable):
    os.execv(PYTHON, [PYTHON, *sys.argv])

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSBAR, LIBRARY = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
del sys.argv[1:3]
FOLDER = tempfile.TemporaryDirectory()
WHEEL = pathlib.Path(subprocess.run([sys.executable, ROOT / "python/make_wheel.py", LIBRARY, FOLDER.name],
                                    capture_output=True, text=True, check=True).stdout.strip())
INSTALLED = pathlib.Path(FOLDER.name, "installed")
with zipfile.ZipFile(WHEEL) as archive:
    archive.extractall(INSTALLED)
sys.path.insert(0, str(INSTALLED))
os.environ["PYTHONPATH"] = str(INSTALLED)


def missing(module):
    """Whether Python has no module of this name."""
    return importlib.util.find_spec(module) is None
