"""The documentation site in a real browser: every page opens, its links lead somewhere, everything is legible.

    tests/browser/site_test.py BUSBAR [--all]

--all: axe looks at each page, not at one in eight. Skipped where Sphinx or Chromium is not installed.
"""
import functools
import http.server
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

import axe
import chromium
from looks import CONTRAST, SMALLEST, WIDTHS

BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
ALL = "--all" in sys.argv
if ALL:
    sys.argv.remove("--all")
ROOT = pathlib.Path(__file__).resolve().parents[2]

DARK = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).every(c => c < 50)"
LINKS = "[...document.links].map(a => a.href)"
DRAWINGS = """[...document.querySelectorAll('article img[src$=".svg"]')].map(i => [i.src, i.clientWidth / i.naturalWidth])"""
ANCHORS = "[...document.querySelectorAll('[id]')].map(e => e.id)"
# Lines of text, as far as their boxes show them, that cover each other by more than 3 px in both directions; columns
# that cover each other.
OVERLAPS = """(() => {
  const out = [], lines = [], walk = document.createTreeWalker(document.querySelector('article'), NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walk.nextNode()) {
    const node = walk.currentNode, e = node.parentElement;
    if (!node.textContent.trim() || !e.checkVisibility({opacityProperty: true})) continue;
    let left = -1e9, right = 1e9;
    for (let a = e; a; a = a.parentElement) if (getComputedStyle(a).overflowX !== 'visible') {
      const box = a.getBoundingClientRect();
      left = Math.max(left, box.left); right = Math.min(right, box.right);
    }
    range.selectNodeContents(node);
    for (const r of range.getClientRects())
      lines.push([Math.max(r.left, left), Math.min(r.right, right), r.top, r.bottom, node.textContent.trim()]);
  }
  lines.sort((a, b) => a[2] - b[2]);
  for (let i = 0; i < lines.length; ++i)
    for (let j = i + 1; j < lines.length && lines[j][2] < lines[i][3] - 3; ++j) {
      const [a, b] = [lines[i], lines[j]];
      if (Math.min(a[1], b[1]) - Math.max(a[0], b[0]) > 3 && Math.min(a[3], b[3]) - b[2] > 3) out.push(a[4] + ' / ' + b[4]);
    }
  const columns = ['.sidebar-container', '.content', '.toc-sticky'].map(c => document.querySelector(c))
    .filter(e => e && e.checkVisibility()).map(e => e.getBoundingClientRect()).filter(r => r.right > 0 && r.left < innerWidth);
  for (let i = 1; i < columns.length; ++i)
    if (columns[i].left < columns[i - 1].right - 1) out.push('columns ' + (i - 1) + ' and ' + i);
  return out;
})()"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.build = subprocess.run([str(ROOT / "tools/docs"), "--offline"], capture_output=True, text=True, check=False,
                                   env={**os.environ, "BUSBAR": BUSBAR, "OUT": cls.folder.name + "/site"})
        if cls.build.returncode == 77:
            raise unittest.SkipTest(cls.build.stderr.strip())
        cls.html = pathlib.Path(cls.folder.name, "site/html")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_sphinx_builds_it_without_a_warning(self):
        self.assertEqual((self.build.returncode, self.build.stderr), (0, ""))
        self.assertIn("--global-batch", (self.html / "commands/train.html").read_text())

    @unittest.skipUnless(chromium.PATH, "no Chromium here")
    def test_every_page_opens_by_itself_and_is_legible_at_every_width_and_in_the_dark(self):
        site, links, anchors = self.html.resolve().as_uri(), {}, {}
        with chromium.Chromium() as browser:
            for path in sorted(self.html.rglob("*.html")):
                with self.subTest(path.relative_to(self.html)):
                    address = path.resolve().as_uri()
                    browser.open(path, WIDTHS[0])
                    self.look(browser, WIDTHS[0])
                    links[address], anchors[address] = browser.run(LINKS), set(browser.run(ANCHORS))
                    browser.emulate(WIDTHS[0], dark=True)
                    self.assertEqual((browser.run(DARK), browser.run(CONTRAST)), (True, []))
                    for width in WIDTHS[1:]:
                        browser.emulate(width)
                        self.look(browser, width)
                    self.assertEqual(browser.complaints, [])
                    self.assertEqual([r for r in browser.requests if not r.startswith((site, "data:"))], [])
        self.assertGreater(len(links), 60)
        for address, targets in links.items():
            with self.subTest(address):
                self.assertEqual([t for t in targets if self.leads_nowhere(t, site, anchors)], [])

    @unittest.skipUnless(chromium.PATH, "no Chromium here")
    def test_letters_of_drawings_can_be_read(self):
        drawings = {}
        with chromium.Chromium() as browser:
            for path in sorted(self.html.rglob("*.html")):
                if "<img" in path.read_text():
                    browser.open(path, WIDTHS[2])
                    drawings |= dict(browser.run(DRAWINGS))
            for address, scale in drawings.items():
                with self.subTest(address):
                    browser.open(address, WIDTHS[0])
                    self.assertGreaterEqual(browser.run(SMALLEST)[0] * scale, 10.95)
        self.assertGreater(len(drawings), 4)

    @unittest.skipUnless(chromium.PATH, "no Chromium here")
    def test_axe_finds_nothing(self):
        script = axe.source()
        if script is None:
            self.skipTest("axe-core cannot be reached")
        with chromium.Chromium() as browser:
            pages = [p for p in sorted(self.html.rglob("*.html")) if p.name not in ("genindex.html", "search.html")]
            for path in pages[::1 if ALL else 8]:  # one theme makes them all
                with self.subTest(path.relative_to(self.html)):
                    browser.open(path, WIDTHS[0])
                    self.assertEqual(axe.violations(browser, script), [])

    @unittest.skipUnless(chromium.PATH, "no Chromium here")
    def test_search_finds_pages(self):
        handler = functools.partial(Quiet, directory=str(self.html))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, chromium.Chromium() as browser:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            browser.open(f"http://127.0.0.1:{server.server_port}/search.html?q=oversubscribed")
            browser.run("new Promise(done => { const look = () => document.querySelector('#search-results li a') ? "
                        "done() : setTimeout(look, 20); look(); })")
            self.assertEqual(browser.complaints, [])
            server.shutdown()

    def look(self, browser, width):
        self.assertLessEqual(browser.run("document.documentElement.scrollWidth"), width)
        self.assertGreaterEqual(browser.run(SMALLEST)[0], 10.95, browser.run(SMALLEST)[1])
        self.assertEqual(browser.run(OVERLAPS), [], width)
        self.assertEqual(browser.run(CONTRAST), [], width)

    @staticmethod
    def leads_nowhere(target, site, anchors):
        """`anchors`: of every page that was opened, by its address."""
        page, _, anchor = target.partition("#")
        if not page.endswith(".html") and pathlib.Path(urllib.parse.unquote(page.removeprefix("file://"))).is_file():
            return False  # to be saved
        return page.startswith(site) and (page not in anchors or bool(anchor) and anchor not in anchors[page])


if __name__ == "__main__":
    unittest.main()
