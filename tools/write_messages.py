#!/usr/bin/env python3
"""Writes the warnings of NCCL, RCCL and the OFI plugin as evidence, and how many of them have a rule.

    tools/write_messages.py NCCL.csv RCCL.csv OFI.csv    write catalog/evidence/library-warnings.yaml
    tools/write_messages.py --coverage [--check]         write how many formats of that file have a rule into docs/doctor.md

--check writes nothing and exits 1 if the page differs.

Each CSV has the columns level, format (as for printf), files, first_release and last_release. FAMILIES says what a format is about.
A family has one rule in catalog/rules/warnings.yaml; formats of no family stay in the file as comments.
"""
import csv
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "catalog/evidence/library-warnings.yaml"
PAGE = ROOT / "docs/doctor.md"
BEGIN, END = "<!-- coverage: tools/write_messages.py -->\n", "<!-- end of coverage -->\n"
LIBRARIES = ("NCCL", "RCCL", "OFI plugin")
# In this order: expressions on "file: format", without regard to case.
FAMILIES = (
    ("setting", r"setting it to|limiting to|defaulting|ignoring|, disabling"),
    ("memory", r"failed to (cuda |host )?(malloc|calloc|alloc|reallocate)|cuda (calloc|malloc|host alloc)|allocation failed|unable to allocate"
               r"|could not allocate|failed to allocate|out of memory|(malloc|calloc)\(.*returned null|not enough (memory|space)|no memory"),
    ("cuda", r"cuda (failure|error|init|call|driver|library|missing|some)|failed to .*(cuda|hip)[A-Z]?|cu(da)?[A-Z]\w+.*(fail|return)|hip.*fail|hip failure|hsa"
             r"|^cudawrap|failed to (execute|launch)|thread creation failed|retrieve %s"),
    ("nvml", r"^nvmlwrap|nvml|rsmi|rocm_smi|rocm smi"),
    ("multicast", r"nvls|multicast|multimem|nvlink sharp|^mnnvl|fabric handle|imex"),
    ("shared-memory", r"^shm|shared memory|/dev/shm|^windows.*(mapping|unmapview)|^shmobject"),
    ("peer-memory", r"^p2p\.|^ipcsocket|ipc|peer access|^windows_ipc|^msgqueue"),
    ("verbs", r"^ibv|^net_ib|^mlx5dv|^common\.cc: net/ib|^connect\.cc: net/ib|net/ib|ibv_|^p2p_resiliency|completion|infiniband|^gin_host_gdaki|gid table"),
    ("gdrcopy", r"^gdrwrap|gdr_|gdrcopy|gdrapi|gdr "),
    ("connection", r"^socket|^net_socket|^bootstrap|socket|connect|^proxy|recv failed|send failed|^windows.*sock|poll|listen|accept|message truncated|^ras"
                   r"|remote peer|^nccl_ofi_cm"),
    ("topology", r"^xml|^topo|^paths|^search|^rings|^rome|topology|xml|^alt_rsmi|^nccl_ofi_topo|no path|find.*(gpu|net|cpu)"),
    ("ofi", r"^(nccl_ofi|platform-aws|histogram)"),
    ("schedule", r"^msccl|^tun|algorithm|protocol|^enqueue.*(nccl_|algo)"),
    ("setting", r"nccl_[A-Z]|environment|value for |invalid (%s|value)|must be|is (too|out of|deprecated)|unknown (value|element|prefix)|^linux|^param"),
    ("argument", r"argument|invalid (root|type|reduction|usage|rank|device|call|pointer|config|group|key|parameter|version)|not a valid|null|mismatch|duplicate"
                 r"|should (be|not)|cannot be|must|not (supported|allowed|permitted)|does not (match|support)|already|^argcheck|user|window|application|too (many|old)"),
    ("internal", r"internal|unexpected|corrupt|wrong|could not|cannot|failed|fail|unable|error|not found|invalid|unknown|refcount|not (empty|consistent|initialized)|missing"
                 r"|expected|bug|abort|revoked|inconsistent|limit|no |out of"),
)


def family_of(file, text):
    for name, expression in FAMILIES:
        if re.search(expression, f"{file}: {text}", re.IGNORECASE):
            return name
    return None


def pattern_of(text):
    """The format as a pattern of evidence, from its first to its last literal; None if it has too few letters."""
    text = re.sub(r"%[-+ #0]*[\d.*]*(hh|h|ll|l|z|j|t)?[a-zA-Z#]", "\0", text.replace("%%", "%"))
    text = re.split(r"[{}\n]", text.replace("\\n", "\n").strip())[0]
    text = re.sub(r"(\0[^\w\0]{0,2})+\0", "\0", text).strip("\0").strip()
    pieces = re.split("\0+", text)
    if sum(len(re.sub(r"\W", "", p)) for p in pieces) < 8 or not re.search(r"[^\s\0]{4}", text):
        return None
    return re.sub(r"[ \t]+", " ", re.sub("\0+", "{-*}", text))


def rows(name, path):
    seen = set()
    for row in csv.DictReader(open(path)):
        if row["level"] not in ("WARN", "ERROR"):
            continue
        file = row["files"].split()[0] if row["files"] else ""
        pattern, family = pattern_of(row["format"]), family_of(file, row["format"])
        where = f"{file}, {name} {row['first_release']} to {row['last_release']}"
        if pattern is None or family is None:
            yield f"  # no family: {json.dumps(row['format'])}  # {where}"
        elif pattern in seen:
            yield f"  # as above: {json.dumps(row['format'])}  # {where}"
        else:
            seen.add(pattern)
            yield f"  - {{line: {json.dumps(pattern)}, warns: true, value: \"{{text}}\", fact: warning.{family}}}  # {where}"


def write(paths):
    out = ["# Written by tools/write_messages.py. Each line: a warning, the source that prints it, the first and last release that has it.",
           "name: library-warnings", "title: warnings of NCCL, RCCL or the OFI plugin", 'ask: "NCCL_DEBUG=WARN"',
           'source: "WARN() in the sources of NCCL 2.3 to 2.30.7, of RCCL (ROCm) and of aws-ofi-nccl 0.9 to 1.21.1: the formats, their files and '
           'releases"', "lines:"]
    for name, path in zip(LIBRARIES, paths):
        out += rows(name, path)
    TABLE.write_text("\n".join(out) + "\n")


def coverage():
    lines = TABLE.read_text().splitlines()
    families = set(re.findall(r"fact: warning\.([\w-]+)", (ROOT / "catalog/rules/warnings.yaml").read_text()))
    out = []
    for name in LIBRARIES:
        of = [line for line in lines if f", {name} " in line.rpartition("#")[2]]
        known = sum(1 for line in of if "as above:" in line or any(f"fact: warning.{f}}}" in line for f in families))
        out.append(f"{known} of {len(of)} formats of {name} have a rule")
    return "; ".join(out) + "."


def main():
    if len(sys.argv) == 4:
        write(sys.argv[1:])
    elif sys.argv[1:2] != ["--coverage"]:
        sys.exit(__doc__)
    page, words = PAGE.read_text(), coverage()
    new = page[: page.index(BEGIN) + len(BEGIN)] + words + "\n" + page[page.index(END) :]
    print(words)
    if "--check" in sys.argv:
        sys.exit(0 if new == page else "docs/doctor.md is not what tools/write_messages.py writes")
    PAGE.write_text(new)


if __name__ == "__main__":
    main()
