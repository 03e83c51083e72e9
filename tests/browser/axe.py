"""axe-core, the checker of accessibility, from npm where that can be reached; nothing of it is kept in this repository."""
import io
import shutil
import subprocess
import tarfile
import tempfile

VERSION = "4.14.1"


def source():
    """The script, or None where there is no npm or it reaches no registry."""
    if not shutil.which("npm"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(["npm", "pack", f"axe-core@{VERSION}", "--silent"], cwd=folder, capture_output=True,
                                  text=True, timeout=60, check=True)
            with open(f"{folder}/{done.stdout.strip()}", "rb") as packed, tarfile.open(fileobj=io.BytesIO(packed.read())) as files:
                return files.extractfile("package/axe.min.js").read().decode()
        except (subprocess.SubprocessError, OSError, KeyError):
            return None


def violations(browser, script, context="document"):
    """Of the open page: "rule: target", sorted."""
    browser.run(script + "; 0")
    found = browser.run(f"axe.run({context}, {{resultTypes: ['violations'], iframes: false}})"
                        ".then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ': ' + n.target.join(' '))))")
    return sorted(found)
