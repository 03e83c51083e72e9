"""Pages link to what exists."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^()\s]+)\)")


def pages():
    return sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / "data").rglob("*.md"))


def prose(text):
    """Text without blocks of code, fenced or indented, and without code spans."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?: {4}|\t).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL),
                       re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def broken_links(path):
    for target in LINK.findall(prose(path.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        found = path if not name else path.parent / name
        if not found.exists():
            yield f"{path.relative_to(ROOT)}: {target}"
        elif anchor and anchor not in anchors(found):
            yield f"{path.relative_to(ROOT)}: no heading for #{anchor} in {found.name}"


class Links(unittest.TestCase):
    def test_every_relative_link_leads_somewhere(self):
        checked = sum(len(LINK.findall(path.read_text())) for path in pages())
        self.assertGreater(checked, 20)
        self.assertEqual([broken for path in pages() for broken in broken_links(path)], [])

    def test_every_page_of_docs_is_in_the_table_of_contents(self):
        index = (ROOT / "docs/index.md").read_text()
        entries = re.findall(r"^[a-z][\w/*\-]*$", index, re.MULTILINE)
        for path in (ROOT / "docs").rglob("*.md"):
            name = str(path.relative_to(ROOT / "docs"))[:-3]
            listed = name == "index" or any(pathlib.PurePath(name).match(entry) for entry in entries)
            self.assertTrue(listed, f"docs/{name}.md is missing in docs/index.md")


class Shortcuts(unittest.TestCase):
    """docs/models/shortcuts.md names sources and tests; `Suite.*` and `Suite.Begin...` stand for several."""

    PAGE = (ROOT / "docs/models/shortcuts.md").read_text()

    def test_every_source_is_there(self):
        sources = re.findall(r"`([\w/]+\.(?:cc|h))`", self.PAGE)
        self.assertGreater(len(sources), 20)
        self.assertEqual([name for name in sources if not (ROOT / "src/busbar" / name).exists()], [])

    def test_every_test_is_there(self):
        paths = [*(ROOT / "src").rglob("*_test.cc"), *(ROOT / "tests").rglob("*_test.cc")]
        text = "".join(path.read_text() for path in paths)
        there = {".".join(found) for found in re.findall(r"(?:TEST|TEST_F|RC_GTEST_PROP)\((\w+), (\w+)", text)}
        named = re.findall(r"`([A-Z]\w+\.(?:[A-Z]\w*)?(?:\*|\.\.\.)?)`", self.PAGE)
        self.assertGreater(len(named), 30)
        self.assertEqual([name for name in named if not self.names_one(name, there)], [])

    def test_every_row_has_a_bit_or_says_that_it_has_none(self):
        source = (ROOT / "src/busbar/base/shortcuts.cc").read_text()
        bits = re.findall(r'^      "([a-z ]+)",$', source, re.MULTILINE)
        rows = re.findall(r"^\| ([a-z ]+?)(?: \(\*\*changes\*\*\))?: ", self.PAGE, re.MULTILINE)
        self.assertGreater(len(bits), 30)
        self.assertEqual(bits, rows)
        self.assertEqual(len(re.findall(r"^\| [a-z ]+ \(\*\*no bit\*\*\): ", self.PAGE, re.MULTILINE)), 5)

    @staticmethod
    def names_one(name, tests):
        return name in tests if name[-1] not in "*." else any(test.startswith(name.rstrip("*.")) for test in tests)


if __name__ == "__main__":
    unittest.main()
