"""Standard streams that are full, closed or closed early; files that are inputs.

    tests/house/streams_test.py BUSBAR
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
FLOWS = "id,src,dst,bytes\na,0,9,4096\nb,1,8,4096\n"
COMMANDS = [["--help"], ["--version"], ["man", "train"], ["completion", "bash"], ["catalog"], ["topo", "dgx-h100"],
            ["topo", "dgx-h100", "--matrix"], ["path", "dgx-h100", "0", "1"], ["rings", "dgx-h100"],
            ["collective", "dgx-h100", "all_reduce", "-b", "1M", "-e", "1M"],
            ["flows", "dgx-h100:2", "flows.csv"], ["flows", "dgx-h100:2", "flows.csv", "--engine", "packet"],
            ["train", "--cluster", "dgx-h100", "--model", "llama3-8b", "--tp", "8", "--global-batch", "64"]]


class Streams(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "flows.csv").write_text(FLOWS)

    def shell(self, line):
        return subprocess.run(["bash", "-c", line], cwd=self.folder, env={**os.environ, "B": BUSBAR, "R": str(ROOT)},
                              capture_output=True, text=True, check=False)

    def all_ways(self):
        for words in COMMANDS:
            yield words
            if len(words) > 1 and words[0] not in ("man", "completion"):
                yield words + ["--json"]
        yield COMMANDS[-4] + ["--csv"]

    def test_a_full_disk_behind_standard_output_is_status_2_with_the_reason(self):
        for words in self.all_ways():
            with self.subTest(words=words):
                run = self.shell(f'"$B" {" ".join(words)} > /dev/full')
                self.assertEqual((run.returncode, run.stderr), (2, "busbar: stdout: No space left on device\n"))

    def test_a_closed_standard_output_is_status_2_and_no_file_takes_its_place(self):
        for words in self.all_ways():
            with self.subTest(words=words):
                run = self.shell(f'"$B" {" ".join(words)} >&-')
                self.assertEqual((run.returncode, run.stderr), (2, "busbar: stdout: Bad file descriptor\n"))
        run = self.shell('"$B" flows dgx-h100:2 flows.csv --html page.html >&- 2>&- <&-')
        self.assertEqual(run.returncode, 2)
        self.assertEqual((self.folder / "flows.csv").read_text(), FLOWS)
        self.assertTrue((self.folder / "page.html").read_text().startswith("<!"))

    def test_a_reader_that_leaves_early_is_no_error(self):
        for words in self.all_ways():
            with self.subTest(words=words):
                run = self.shell(f'"$B" {" ".join(words)} | true; echo ${{PIPESTATUS[0]}}')
                self.assertEqual((run.stdout, run.stderr), ("0\n", ""))

    def test_a_file_above_its_size_limit_is_status_2_with_the_reason_and_nothing_is_left(self):
        before = sorted(self.folder.iterdir())
        run = self.shell('ulimit -f 1; "$B" topo dgx-h100:2 --html page.html --json > /dev/null')
        self.assertEqual((run.returncode, run.stderr), (2, "busbar: page.html: cannot be written: File too large\n"))
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_an_output_never_replaces_an_input(self):
        cluster = self.folder / "c.yaml"
        cluster.write_text("name: c\nnode: dgx-h100\nnodes: 2\n")
        scenario = self.folder / "s.yaml"
        scenario.write_text("cluster: c.yaml\nmodel: llama3-8b\nlayout: {global_batch: 64, tp: 8}\n")
        results = self.folder / "r.csv"
        results.write_text("size_bytes,time_us\n1048576,100\n1073741824,4000\n")
        for line, kept in (("topo c.yaml --html c.yaml", cluster), ("topo ./c.yaml --svg c.yaml", cluster),
                           ("train s.yaml --trace s.yaml", scenario), ("train s.yaml --html c.yaml", cluster),
                           ("flows c.yaml flows.csv --html flows.csv", self.folder / "flows.csv"),
                           ("calibrate r.csv --cluster c.yaml --overlay r.csv", results),
                           ("import r.csv --kind nccl-tests --html r.csv", results)):
            with self.subTest(line=line):
                before = kept.read_bytes()
                run = self.shell(f'"$B" {line}')
                self.assertEqual((run.returncode, kept.read_bytes()), (2, before), run.stderr)
        run = self.shell('"$B" topo c.yaml --svg a --dot a')
        self.assertEqual(run.returncode, 2)
        self.assertIn("a: already holds another output of this command", run.stderr)

    def test_every_input_can_be_a_pipe_or_standard_input(self):
        fixtures = "$R/tests/fixtures"
        for line in ('"$B" flows dgx-h100:2 - < flows.csv', 'cat flows.csv | "$B" flows dgx-h100:2 /dev/stdin',
                     '"$B" flows dgx-h100:2 <(cat flows.csv)',
                     f'cat {fixtures}/nccl-topo/aws-p4d-24xl-topo.xml | "$B" topo -',
                     f'"$B" topo <(cat {fixtures}/nccl-topo/aws-p4d-24xl-topo.xml)',
                     'printf "node: dgx-h100\\nnodes: 2\\n" | "$B" rings -',
                     f'cat {fixtures}/nccl-topo/aws-p4d-24xl-topo.xml | "$B" import -',
                     f'gzip -c {fixtures}/nccl-topo/aws-p4d-24xl-topo.xml | "$B" import -',
                     'printf "size_bytes,time_us\\n1048576,100\\n" | "$B" expect - --cluster dgx-h100 --collective all_reduce',
                     'printf "node: dgx-h100\\n" | "$B" topo -',
                     'printf "cluster: dgx-h100\\nmodel: llama3-8b\\nlayout: {tp: 8, global_batch: 8}\\n" | '
                     '"$B" train -',
                     'printf "src,dst,bytes\\n0,1,1048576\\n" | "$B" collective dgx-h100 all_to_allv --pairs -'):
            with self.subTest(line=line):
                run = self.shell(line)
                self.assertIn((run.returncode, run.stderr), ((0, ""), (1, "")))

    def test_no_name_commands_the_terminal(self):
        name = "\x1b]0;title\x07\u202e.html"
        for words in (["topo", "dgx-h100", "--html", name], ["topo", name], ["topo", "dgx-h100", "--fail", name],
                      ["topo", "dgx-h100", "--" + name], [name]):
            run = subprocess.run([BUSBAR, *words], cwd=self.folder, capture_output=True, text=True, check=False)
            for sign in "\x1b\x07\u202e":
                self.assertNotIn(sign, run.stdout + run.stderr, words)

    def test_memory_that_runs_out_is_status_2_with_a_remedy(self):
        run = self.shell('ulimit -v 100000; "$B" topo dgx-h100:16384')
        self.assertEqual((run.returncode, run.stderr[:34]), (2, "busbar: not enough memory; ask for"))

    def test_no_line_is_wider_than_COLUMNS(self):
        log = ROOT / "tests/fixtures/nccl-log/mlperf50-dell-2x8-h200-bert.log"
        wide = ["catalog", "compare", "cost", "man", "completion", "--help"]  # names, lists and pages of fixed width
        commands = [words for words in COMMANDS if words[0] not in wide and "--matrix" not in words] + [
            ["doctor", log], ["doctor", "dgx-h100:4"],
            *(["topo", machine, flag] for machine in ("dgx-h100", "dgx-2") for flag in ("--bandwidth", "--latency", "--hops"))]
        for words in commands:
            for columns in (40, 66, 100):
                done = subprocess.run([BUSBAR, *words], cwd=self.folder, env={**os.environ, "COLUMNS": str(columns)},
                                      capture_output=True, text=True, check=False)
                self.assertEqual([line for line in done.stdout.splitlines() if len(line) > columns], [], words)
                self.assertTrue(done.stdout, words)

    def test_help_fits_COLUMNS_but_for_commands_to_copy(self):
        for columns in (50, 80):
            for words in ("--help", "topo --help", "train --help", "collective --help"):
                page = self.shell(f'COLUMNS={columns} "$B" {words}').stdout.split("First steps:")[0].split("Examples:")[0]
                self.assertGreater(len(page), 500)
                self.assertEqual([line for line in page.splitlines() if len(line) > columns], [], words)

    def test_files_without_end_are_refused(self):
        for line in ('validate /dev/zero', 'collective dgx-h100 all_to_allv --pairs /dev/zero', 'topo /dev/zero',
                     'import /dev/zero', 'train /dev/zero', 'flows dgx-h100:2 /dev/zero',
                     'flows dgx-h100:2 flows.csv --engine packet --background 0.1:/dev/zero@1us'):
            with self.subTest(line=line):
                run = self.shell(f'ulimit -v 2000000; timeout 60 "$B" {line}')
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn("/dev/zero", run.stderr)


if __name__ == "__main__":
    unittest.main()
