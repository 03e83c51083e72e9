#!/usr/bin/env python3
"""Makes a wheel of python/busbar and a libbusbar.so, which has the catalogue and the examples inside.

    python/make_wheel.py LIBRARY FOLDER      writes FOLDER/busbar-VERSION-py3-none-PLATFORM.whl and prints its name

PLATFORM is manylinux_2_34_x86_64 if the library needs nothing but a GLIBC of at most 2.34 (preset portable), and
linux_x86_64 otherwise. Needs objdump and strip of binutils, and no package of Python.
"""
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

FOLDER = pathlib.Path(__file__).resolve().parent
NEWEST = (2, 34)
EVERYWHERE = r"(lib(c|m|dl|pthread|gcc_s)\.so|ld-linux)"  # come with GLIBC
METADATA = """Metadata-Version: 2.1
Name: busbar
Version: {version}
Summary: How fast GPUs can talk, what limits them, and what would change it
License: Apache-2.0
Requires-Python: >=3.10
Provides-Extra: tables
Requires-Dist: numpy; extra == "tables"
Requires-Dist: pandas; extra == "tables"
Description-Content-Type: text/markdown

{text}
"""


def version():
    """Of the project; the package must have the same."""
    cmake = (FOLDER.parent / "CMakeLists.txt").read_text(encoding="utf-8")
    ours = re.search(r"project\(busbar VERSION ([0-9.]+)", cmake).group(1)
    theirs = re.search(r'VERSION = "([^"]+)"', (FOLDER / "busbar/_version.py").read_text(encoding="utf-8")).group(1)
    if ours != theirs:
        sys.exit(f"python/busbar/_version.py says {theirs}, CMakeLists.txt {ours}; make them equal")
    return ours


def dump(library, what):
    return subprocess.run(["objdump", what, library], capture_output=True, text=True, check=True).stdout


def tag(library):
    """The platform on which `library` runs."""
    needed = re.findall(r"NEEDED +(\S+)", dump(library, "-p"))
    symbols = re.findall(r"GLIBC_(\d+)\.(\d+)", dump(library, "-T"))
    alone = all(re.match(EVERYWHERE, name) for name in needed)
    old_enough = all((int(major), int(minor)) <= NEWEST for major, minor in symbols)
    return ("manylinux_2_34_" if alone and old_enough else "linux_") + platform.machine()


def stripped(library):
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["strip", "--strip-unneeded", "-o", out.name, library], check=True)
        return pathlib.Path(out.name).read_bytes()


def files_of(library, number, wheel_tag):
    """{name in the wheel: bytes}."""
    info = f"busbar-{number}.dist-info"
    files = {f"busbar/{path.name}": path.read_bytes() for path in sorted((FOLDER / "busbar").iterdir())
             if path.suffix in (".py", ".pyi", ".typed")}
    files["busbar/libbusbar.so"] = stripped(library)
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    files[f"{info}/METADATA"] = METADATA.format(version=number, text=text).encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: busbar\nRoot-Is-Purelib: false\nTag: {wheel_tag}\n").encode()
    files[f"{info}/LICENSE"] = (FOLDER.parent / "LICENSE").read_bytes()
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    return files


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    library, folder = map(pathlib.Path, sys.argv[1:])
    number = version()
    wheel_tag = f"py3-none-{tag(library)}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"busbar-{number}-{wheel_tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files_of(library, number, wheel_tag).items():
            wheel.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    print(path)


if __name__ == "__main__":
    main()
