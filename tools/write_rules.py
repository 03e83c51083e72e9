#!/usr/bin/env python3
"""Writes docs/rules.md, a section for each rule of `busbar doctor`, from catalog/rules and catalog/evidence.

    tools/write_rules.py [--check]

--check writes nothing and exits 1 if the page is not what it would write. Without PyYAML it exits 77.
"""
import pathlib
import re
import sys

try:
    import yaml
except ImportError:
    print("PyYAML is missing (python3-yaml)", file=sys.stderr)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "docs/rules.md"
HEAD = """# Rules of the doctor

What `busbar doctor` can find, a section per rule. Written by `tools/write_rules.py` from `catalog/rules`; states, inputs and limits
are in [what is wrong with this machine](doctor.md). Each rule is fail, warn or note when it finds something, ok when it was judged and
found nothing, and unknown when no input says anything about it. PART, VALUE, OTHER and HOST stand for what the evidence names.

"""

UNKNOWN = """
## What no rule knows

### unknown-warning

**warn**, or **fail** if the job has failed and nothing else explains it: VALUE, a warning of NCCL that no rule knows.

Each line `NCCL WARN` or `NCCL ERROR` counts that is the evidence of no other finding. Warnings that sound jobs print, too, are listed with
their sources in `catalog/evidence/nccl-log.yaml` (`nccl.harmless`) and do not count. Messages that differ only in numbers are one warning.

Judged from: log of NCCL or RCCL. For example:

```text
n1:10:12 [3] transport/nvls.cc:244 NCCL WARN Cuda failure 1 'invalid argument'
```

Fix:

```text
export NCCL_DEBUG=INFO  # and give the doctor the log of every rank
search for the message at github.com/NVIDIA/nccl/issues
```

### unknown-failure

**fail**: The job has failed, and nothing here says why.

Judged from: messages of mpirun, srun, torchrun, PyTorch or nccl-tests about an error, without a finding at fail. For example:

```text
mpirun noticed that process rank 3 with PID 4711 on node n1 exited on signal 6 (Aborted).
```

Fix:

```text
export NCCL_DEBUG=INFO  # and give the doctor the log of every rank
```

### unknown-error

**note**: A line speaks of an error that no rule knows: VALUE.

Shown only if there is no other finding: words such as "error:", "failed" and "cannot" stand in the logs of sound jobs, too. A bundle keeps no
line for them.

Judged from: lines that speak of an error. For example:

```text
myprog: cannot open the card
```

Fix:

```text
export NCCL_DEBUG=INFO  # and give the doctor the whole log of every rank
```
"""

COMPARISON = """
## Machines side by side

### odd-one-out

**warn**: HOST differs from the other bundles.

Machines of one job should be alike: one that differs can slow or stop all of them. Settings, releases, limits, link widths, rates and
numbers of devices are compared; a value that most bundles share is the usual one, and where none
is, all are listed.

Judged from: two bundles or more. For example:

```sh
busbar doctor node1.tar.gz node2.tar.gz node3.tar.gz
```

Fix:

```text
give HOST the value of the others, or take it out of the job
```
"""


def load(folder):
    return [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "catalog" / folder).glob("*.yaml"))]


def with_names(text):
    names = {"subject": "PART", "value": "VALUE", "other": "OTHER", "host": "HOST"}
    return re.sub(r"\{(\w+)\}", lambda found: names[found[1]], str(text))


def filled(text):
    return with_names(" ".join(str(text).split()))


def linked(reference):
    found = re.fullmatch(r"([\w.-]+/[\w.-]+)#(\d+)", reference)
    return f"[{reference}](https://github.com/{found[1]}/issues/{found[2]})" if found else reference


def texts(value):
    return value if isinstance(value, list) else [value]


def inputs(rule, tables):
    """Per fact that the rule needs: the kinds of text that state it."""
    out = []
    for fact in texts(rule["judged_by"]):
        titles = [t["title"] for t in tables if any(line.get("fact") == fact for line in t["lines"])]
        out.append(", or ".join(titles))
    return ", and ".join(dict.fromkeys(out))


def section(rule, tables):
    example = "\n".join(text.rstrip("\n") for text in texts(rule["shows"]))
    lines = [f"### {rule['id']}", "", f"**{rule['severity']}**: {filled(rule['title'])}.", "", filled(rule["explanation"]), "",
             f"Judged from: {inputs(rule, tables)}. For example:", "", "```text", example, "```", "", "Fix:", "", "```text",
             *(with_names(line) for line in texts(rule["fix"])), "```", ""]
    if rule.get("hides"):
        lines += ["Explains also: " + ", ".join(f"[{i}](#{i})" for i in texts(rule["hides"])) + ".", ""]
    lines += ["References: " + ", ".join(linked(str(r)) for r in texts(rule["references"])) + ".", ""]
    return "\n".join(lines)


def page():
    tables = load("evidence")
    parts = [f"## {file['title']}\n\n" + "\n".join(section(rule, tables) for rule in file["rules"])
             for file in load("rules")]
    return HEAD + "\n".join(parts).rstrip("\n") + "\n" + UNKNOWN + COMPARISON


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if OUT.exists() and OUT.read_text() == page() else f"{OUT}: run tools/write_rules.py")
    OUT.write_text(page())
