"""Every cell of every notebook runs, in order, in an empty folder. A cell with plots needs matplotlib.

    tests/python/notebooks_test.py BUSBAR LIBRARY
"""
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

from installed import ROOT, missing

NOTEBOOKS = sorted((ROOT / "python/notebooks").glob("*.ipynb"))
NEEDED = ("matplotlib", "pandas", "numpy")


def cells_of(path):
    """The code of a notebook, cell by cell."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]


def lacking(code):
    """A package that a cell needs and that is not here; None: it has all."""
    return next((name for name in NEEDED if missing(name) and (name in code or name == "pandas" and "to_pandas" in code)),
                None)


class Notebooks(unittest.TestCase):
    def run_cells(self, path):
        os.environ["MPLBACKEND"] = "Agg"
        names = {"__name__": path.stem}
        for number, code in enumerate(cells_of(path)):
            package = lacking(code)
            if package is None:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(code, f"{path.name}, cell {number}", "exec"), names)
            else:
                print(f"{path.name}: cell {number} is left out, it needs {package} (apt-get install python3-{package})")

    def test_all_cells_run(self):
        self.assertGreater(len(NOTEBOOKS), 3)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        for path in NOTEBOOKS:
            with self.subTest(path.stem), tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                self.run_cells(path)
                os.chdir(before)
                if "matplotlib.pyplot" in sys.modules:  # the next notebook draws its own
                    sys.modules["matplotlib.pyplot"].close("all")

    def test_no_output_is_kept(self):
        for path in NOTEBOOKS:
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                self.assertEqual(cell.get("outputs", []), [], path.name)


if __name__ == "__main__":
    unittest.main()
