"""The pictures of pages in the documentation.

    tests/browser/pictures.py BUSBAR [FOLDER]     (default docs/_static/pages)

Look at them before you commit them.
"""
import base64
import json
import pathlib
import subprocess
import sys
import tempfile

import chromium

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {  # name: words of the command, height in px
    "step": (["train", "examples/llama3-70b-512xh100.yaml"], 1150),
    "collective": (["collective", "dgx-h100:2", "all_reduce"], 900),
    "machine": (["topo", "gb200-nvl72"], 1090),
}
WIDTH = 1180
# Two algorithms side by side, an all-reduce of 64 MiB on 8 GPUs: name, the second algorithm, the time as a share of the longer one.
LAWS = (("ring-and-nvls", "nvls", 0.35), ("ring-and-tree", "tree", 0.25))


def picture(browser, path, height):
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
    path.write_bytes(base64.b64decode(browser.call("Page.captureScreenshot", format="webp", quality=75, clip=clip,
                                                   captureBeyondViewport=True)["data"]))


def laws(busbar, folder, browser, out):
    page = pathlib.Path(folder) / "laws.html"
    subprocess.run([busbar, "collective", "dgx-h100", "all_reduce", "-b", "64M", "-e", "64M", "--algorithm", "ring", "--html",
                    str(page)], check=True, stdout=subprocess.DEVNULL)
    for name, other, share in LAWS:
        browser.open(page, WIDTH, 900)
        box = browser.run("((name, share) => { const s = document.querySelectorAll('.pane select')[1]; "
                          "s.value = [...s.options].find(o => o.textContent.startsWith(name)).value; s.dispatchEvent(new Event('change')); "
                          "const i = document.querySelector('.motion .tools input'); i.value = 1000 * share; "
                          "i.dispatchEvent(new Event('input')); const r = document.querySelector('.stage').getBoundingClientRect(); "
                          f"return [r.left, r.top + scrollY, r.width, r.height]; }})({json.dumps(other)}, {share})")
        clip = dict(zip(("x", "y", "width", "height"), box)) | {"scale": 1}
        (out / (name + ".webp")).write_bytes(base64.b64decode(browser.call(
            "Page.captureScreenshot", format="webp", quality=80, clip=clip, captureBeyondViewport=True)["data"]))


def main():
    busbar = str(pathlib.Path(sys.argv[1]).resolve())
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/_static/pages"
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium.Chromium() as browser:
        for name, (words, height) in PAGES.items():
            page = pathlib.Path(folder) / "page.html"
            subprocess.run([busbar, *words, "--html", str(page)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            browser.open(page, WIDTH, height)
            browser.run("for (const e of document.querySelectorAll('.command code')) e.textContent = 'busbar ' + "
                        + json.dumps(" ".join(words) + " --html page.html"))
            picture(browser, out / (name + ".webp"), height)
        laws(busbar, folder, browser, out)
        server = subprocess.Popen([busbar, "explore", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        browser.open(json.loads(server.stdout.readline())["address"], WIDTH, 900)
        browser.run("new Promise(done => { const look = () => document.getElementById('frame').hidden ? "
                    "setTimeout(look, 50) : setTimeout(done, 500); look(); })")
        picture(browser, out / "explore.webp", 1500)
        server.communicate(timeout=60)


if __name__ == "__main__":
    main()
