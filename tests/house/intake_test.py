"""Logs as launchers, container runtimes and archives hand them out read as the log itself.

    tests/house/intake_test.py BUSBAR
"""
import bz2
import gzip
import io
import json
import lzma
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())


def log():
    """Two DGX H100: lines of NCCL, then a table of nccl-tests. It is a good one, so that no fault is searched."""
    lines = ["+ mpirun -np 16 ./build/all_reduce_perf -b 1M -e 1G -f 4", "HF_HOME=/data",
             "gpu-a01:77:90 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.",
             "gpu-a01:77:90 [0] NCCL INFO NET/IB : No device found.",
             "gpu-a01:77:90 [0] NCCL INFO Using network Socket",
             "gpu-a02:78:91 [0] NCCL INFO Using network Socket",
             "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 4(factor) warmup iters: 5 iters: 20 agg iters: 1 "
             "validation: 1 graph: 0", "#", "# Using devices"]
    for rank in range(16):
        lines.append(f"#  Rank {rank:2} Group  0 Pid {77 + rank:6} on    gpu-a0{1 + rank // 8} device {rank % 8:2} "
                     f"[0000:{rank % 8 + 16}:00] NVIDIA H100 80GB HBM3")
    lines += ["#", "#                                                              out-of-place                       in-place",
              "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"]
    for size, time in ((1 << 22, 118), (1 << 26, 430), (1 << 30, 4132)):
        rate = size / 1e3 / time
        half = f"{time:10.1f}  {rate:6.2f}  {rate * 1.875:6.2f}      0"
        lines.append(f"{size:12}  {size // 4:12}     float     sum      -1 {half} {half}")
    return lines + ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 280.1"]


STAMP = "2026-11-24T12:00:{:02}.123456789Z"


def stamped(i):
    return STAMP.format(i % 60)


def cri_parts(i, line):
    middle = len(line) // 2
    return [f"{stamped(i)} stdout P {line[:middle]}", f"{stamped(i)} stdout F {line[middle:]}"]


def of_sixteen(i, line):
    """srun -l: rank 0 prints the table, the others warn in between."""
    return [f" 0: {line}", f"{i % 15 + 1:2}: [W] some warning of rank {i % 15 + 1}"]


FORMS = {
    "kubectl --timestamps": lambda i, s: [f"{stamped(i)} {s}"],
    "kubectl --prefix": lambda i, s: [f"[pod/trainer-0/main] {s}"],
    "kubectl --prefix --timestamps": lambda i, s: [f"[pod/trainer-0/main] {stamped(i)} {s}"],
    "CRI": lambda i, s: [f"{stamped(i)} stdout F {s}"],
    "CRI in parts": cri_parts,
    "srun -l": lambda i, s: [f"0: {s}"],
    "srun -l of 16 ranks": of_sixteen,
    "mpirun --tag-output": lambda i, s: [f"[1,0]<stdout>:{s}"],
    "mpirun --tag-output with a blank": lambda i, s: [f"[1,0]<stdout>: {s}"],
    "mpirun --output tag": lambda i, s: [f"[prterun-gpu-a01-77@1,0]<stdout>: {s}"],
    "mpirun --timestamp-output": lambda i, s: [f"Tue Nov 24 12:00:{i % 60:02} 2026<stdout>:{s}"],
    "torchrun": lambda i, s: [f"[default0]:{s}"],
    "PyTorch": lambda i, s: [f"[rank0]: {s}"],
    "torchrun and PyTorch": lambda i, s: [f"[default0]:[rank0]:{s}"],
    "kubectl and torchrun": lambda i, s: [f"{stamped(i)} [default0]:{s}"],
    "docker compose": lambda i, s: [f"worker-0  | {s}"],
    "syslog": lambda i, s: [f"Nov 24 12:00:{i % 60:02} gpu-a01 srun[77]: {s}"],
    "journalctl -o short-iso": lambda i, s: [f"2026-11-24T12:00:{i % 60:02}+0100 gpu-a01 srun[77]: {s}"],
    "pdsh": lambda i, s: [f"gpu-a01: {s}"],
    "pdsh and srun -l": lambda i, s: [f"gpu-a01: 0: {s}"],
    "colours": lambda i, s: [f"\x1b[32m[rank0]:\x1b[0m {s}"],
}


def tar_of(name, data, mode):
    """An archive with a folder, a link and the file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        folder = tarfile.TarInfo("logs")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        link = tarfile.TarInfo("logs/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_of(name, data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return out.getvalue()


PACKED = {
    "CRLF": lambda s: s.replace(b"\n", b"\r\n"),
    "UTF-16": lambda s: s.decode().replace("\n", "\r\n").encode("utf-16"),
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda s: subprocess.run(["zstd", "-c"], input=s, stdout=subprocess.PIPE, check=True).stdout,
    "tar": lambda s: tar_of("logs/job.out", s, "w:"),
    "tar.gz": lambda s: tar_of("logs/job.out", s, "w:gz"),
    "tar.xz": lambda s: tar_of("logs/job.out", s, "w:xz"),
    "zip": lambda s: zip_of("job.out", s),
    "gzip in tar": lambda s: tar_of("logs/job.out.gz", gzip.compress(s), "w:"),
}


class Intake(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.holder.name)
        cls.plain = cls.readings(cls, cls.write(cls, "plain", ("\n".join(log()) + "\n").encode()))

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def run_json(self, *words):
        run = subprocess.run([BUSBAR, *map(str, words), "--json"], capture_output=True, text=True, check=False)
        return run.returncode, json.loads(run.stdout) if run.stdout else run.stderr

    def readings(self, path):
        """What expect, doctor and import say about the log, without places in files."""
        status, expect = Intake.run_json(self, "expect", path, "--cluster", "dgx-h100:2")
        if status != 0:
            return status, expect
        kept = {key: expect[key] for key in ("rows", "verdict", "collective", "gpus", "unread", "plateau")}
        doctor_status, doctor = Intake.run_json(self, "doctor", path, "--cluster", "dgx-h100:2")
        findings = sorted((f["rule"], f["severity"]) for f in doctor["findings"])
        tables = [(t["collective"], t["verdict"], t["slower_percent"]) for t in doctor["tables"]]
        imported = Intake.run_json(self, "import", path)[1]
        sets = [f for f in imported["files"] if f["kind"]] if "files" in imported else [imported]
        rows = [t["rows"] for f in sets for t in f["found"]["tables"]]
        return kept, doctor_status, findings, tables, rows

    def test_the_log_itself_is_judged(self):
        kept, status, findings, tables, rows = self.plain
        self.assertEqual((kept["collective"], kept["gpus"], kept["verdict"], status), ("all_reduce", 16, "good", 0))
        self.assertIn("ib-disabled", " ".join(rule for rule, _ in findings))
        self.assertEqual((len(tables), len(rows), len(rows[0])), (1, 1, 3))

    def test_every_prefix_reads_as_the_log_itself(self):
        for name, form in FORMS.items():
            with self.subTest(form=name):
                lines = [line for i, plain in enumerate(log()) for line in form(i, plain)]
                path = self.write("prefixed.log", ("\n".join(lines) + "\n").encode())
                self.assertEqual(self.readings(path), self.plain)

    def test_every_packing_reads_as_the_log_itself(self):
        text = ("\n".join(log()) + "\n").encode()
        for name, pack in PACKED.items():
            with self.subTest(packing=name):
                self.assertEqual(self.readings(self.write("packed", pack(text))), self.plain)

    def test_a_folder_of_one_log_per_host_is_one_set(self):
        lines = log()
        other = [line for line in lines if line.startswith("gpu-a02")]
        self.write("job/gpu-a01-0.out", "\n".join(s for s in lines if s not in other).encode())
        self.write("job/gpu-a02-8.out.gz", gzip.compress("\n".join(other).encode()))
        self.write("job/ibstat.txt", b"CA 'mlx5_0'\n\tState: Active\n\tRate: 400\n")
        status, expect = self.run_json("expect", self.folder / "job", "--cluster", "dgx-h100:2")
        self.assertEqual((status, expect["rows"]), (0, self.plain[0]["rows"]))
        self.assertEqual([(pathlib.Path(f["file"]).name, f["has_results"]) for f in expect["files"]],
                         [("gpu-a01-0.out", True), ("gpu-a02-8.out.gz", False), ("ibstat.txt", False)])
        self.assertEqual(expect["files"][1]["what"], "NCCL_DEBUG=INFO log")
        status, imported = self.run_json("import", self.folder / "job")
        self.assertEqual((status, [f["kind"] for f in imported["files"]]), (0, ["nccl-tests", "nccl-log", None]))
        self.assertIn("ibstat", imported["files"][2]["what"])
        self.assertEqual([h["text"] for h in imported["log"]["hosts"]], ["gpu-a01", "gpu-a02"])
        status, doctor = self.run_json("doctor", self.folder / "job", "--cluster", "dgx-h100:2")
        self.assertEqual((status, [t["verdict"] for t in doctor["tables"]]), (1, ["good"]))

    def test_an_archive_without_a_file_and_one_within_another_are_errors(self):
        empty = io.BytesIO()
        with tarfile.open(fileobj=empty, mode="w") as tar:
            folder = tarfile.TarInfo("logs")
            folder.type = tarfile.DIRTYPE
            tar.addfile(folder)
        path = self.write("empty.tar", empty.getvalue())
        nested = self.write("nested.tar", tar_of("logs/inner.tar", tar_of("a", b"text", "w:"), "w:"))
        for words in (["expect", "FILE", "--cluster", "dgx-h100"], ["doctor", "FILE"], ["import", "FILE"],
                      ["flows", "dgx-h100", "FILE"], ["topo", "FILE"]):
            for file, why in ((path, "is an archive without a file in it"), (nested, "archive")):
                with self.subTest(words=words, file=file.name):
                    run = subprocess.run([BUSBAR, *[str(file) if w == "FILE" else w for w in words]],
                                         capture_output=True, text=True, check=False)
                    self.assertEqual(run.returncode, 2, run.stdout)
                    self.assertIn(why, run.stderr)

    def test_other_readers_unpack_too(self):
        flows = self.write("flows.csv.xz", lzma.compress(b"id,src,dst,bytes\na,0,9,4096\n"))
        cluster = self.write("c.yaml.gz", gzip.compress(b"name: c\nnode: dgx-h100\nnodes: 2\n"))
        for words in (["flows", cluster, flows], ["topo", cluster]):
            self.assertEqual(self.run_json(*words)[0], 0, words)

    def test_csv_of_rccl_tests_reads_as_its_json(self):
        head = "numCycle,name,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inPlace,time,algBw,busBw,wrong"
        rows = [f"0,AllReduce,1,8,8,1,{1 << p},float,sum,{place},{20 + (1 << p) / 2e5:.2f},{1 << p},{2 << p},0"
                for p in range(20, 31, 2) for place in (0, 1)]
        names = head.split(",")
        as_json = [{k: (v if k in ("name", "type", "redop") else float(v)) for k, v in zip(names, row.split(","))}
                   for row in rows]
        csv = self.write("r.csv", "\n".join([head.replace(",", ", "), *rows]).encode())
        short = self.write("s.csv", "\n".join(
            ["name,gpus,size,type,redop,inplace,time,algbw,busbw"] +
            [",".join((c := row.split(","))[1:2] + c[3:4] + c[6:13]) for row in rows]).encode())
        readings = [self.run_json("expect", path, "--cluster", "mi300x-8")[1]["rows"]
                    for path in (csv, short, self.write("r.json", json.dumps(as_json).encode()))]
        self.assertEqual(readings[0], readings[2])
        self.assertEqual(readings[1], readings[2])
        self.assertEqual(self.run_json("import", csv)[1]["kind"], "nccl-tests-csv")


if __name__ == "__main__":
    unittest.main()
