"""The lines of code that checks of the house look at."""
import pathlib


def code_lines(root, exempt=()):
    """Place below src/busbar, number and text without comment of every line outside tests and the rooms `exempt`."""
    rooms = pathlib.Path(root) / "src" / "busbar"
    for path in sorted(rooms.rglob("*")):
        place = path.relative_to(rooms)
        of_tests = path.stem.endswith("_test") or path.stem.startswith("test_")
        if path.suffix not in (".h", ".cc") or of_tests or place.parts[0] in exempt:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield str(place), number, line.split("//")[0]
