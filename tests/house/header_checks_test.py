"""tools/write_header_checks.py: what one source may show about several headers."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import write_header_checks  # noqa: E402


def compiles(headers, most=9):
    """[whether each source that is not empty compiles], for a tree with these headers."""
    with tempfile.TemporaryDirectory() as folder:
        root, out = pathlib.Path(folder, "src"), pathlib.Path(folder, "out")
        root.mkdir()
        for name, text in headers.items():
            (root / f"{name}.h").write_text(text)
        subprocess.run([sys.executable, TOOLS / "write_header_checks.py", root, out, str(most)], check=True)
        return [subprocess.run(["c++", "-fsyntax-only", "-std=c++20", f"-I{root}", source], check=False,
                               capture_output=True).returncode == 0
                for source in sorted(out.iterdir()) if source.stat().st_size]


class Chains(unittest.TestCase):
    def test_each_header_is_in_one_chain_and_reached_from_the_next(self):
        includes = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d"], "f": []}
        chains = write_header_checks.chains(includes)
        self.assertEqual(sorted(sum(chains, [])), sorted(includes))
        reached = write_header_checks.reached_from(includes)
        for chain in chains:
            for lower, upper in zip(chain, chain[1:]):
                self.assertIn(lower, reached[upper])
        self.assertEqual(len(chains), 3)  # b, c and f do not reach each other

    def test_a_chain_may_skip_headers(self):
        self.assertEqual(len(write_header_checks.chains({"a": [], "x": ["a"], "y": ["a"], "b": ["x", "y"], "c": ["b"]})), 2)


class Sources(unittest.TestCase):
    WHOLE = "#pragma once\nstruct Whole { int size = 0; };\n"

    def test_headers_without_a_word_in_common_share_a_source(self):
        self.assertEqual(compiles({"whole": self.WHOLE, "other": "#pragma once\nstruct Other {};\n"}), [True])

    def test_a_header_that_uses_what_it_does_not_include_does_not_compile(self):
        for user in ("struct User { Whole w; };", "inline int f(const struct Whole& w) { return w.size; }", "struct Whole;\n"
                     "using W = Whole;\ninline int f(const W& w) { return w.size; }"):
            self.assertIn(False, compiles({"whole": self.WHOLE, "user": "#pragma once\n" + user + "\n"}), user)

    def test_a_type_that_only_an_included_header_names_may_be_incomplete(self):
        headers = {"whole": self.WHOLE, "named": "#pragma once\nstruct Whole;\nconst Whole& get();\n",
                   "user": '#pragma once\n#include "named.h"\ninline int f() { return get().size; }\n'}
        self.assertIn(False, compiles(headers))

    def test_functions_constants_and_macros_are_not_gained_either(self):
        for given, used in (("inline int f() { return 1; }", "inline int g() { return f(); }"), ("constexpr int k = 1;", "static_assert(k);"),
                            ("#define M 1", "static_assert(M);"), ("namespace n {\nusing A = int;\n}", "n::A a();"),
                            ("struct S {};\nS operator+(S, S);", "template <class T> auto sum(T t) { return t + t; }\n")):
            alone = compiles({"given": "#pragma once\n" + given + "\n"})
            self.assertEqual(alone, [True], given)
            sources = write_header_checks.Tree({"given.h": given, "used.h": used}).sources()
            self.assertEqual(sorted(map(len, sources)), [1, 1], given)

    def test_a_header_has_to_guard_against_a_second_time(self):
        self.assertEqual(compiles({"whole": self.WHOLE, "twice": '#include "whole.h"\nstruct Twice {};\n'}), [False])

    def test_too_few_sources_are_refused(self):
        with self.assertRaises(subprocess.CalledProcessError):
            compiles({"given": "#pragma once\nusing A = int;\n", "used": "#pragma once\nA a();\n"}, most=1)


class Names(unittest.TestCase):
    """tools/check_header_names.py."""
    WHOLE = "#pragma once\nstruct Whole { int size = 0; };\n"

    def check(self, **headers):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "src").mkdir()
            for name, text in headers.items():
                (pathlib.Path(folder) / "src" / f"{name}.h").write_text("#pragma once\n" + text + "\n")
            done = subprocess.run([sys.executable, TOOLS / "check_header_names.py", folder], check=False, capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_a_type_without_its_header_is_named(self):
        for user in ("struct User { Whole w; };", "void f(const a::Whole& w);", "using W = std::vector<Whole>;"):
            status, said = self.check(whole=self.WHOLE, user=user)
            self.assertEqual((status, 'src/user.h:2: Whole without "whole.h"' in said), (1, True), said)

    def test_what_is_included_declared_or_inside_is_fine(self):
        for user in ('#include "whole.h"\nvoid f(Whole);', "struct Whole;\nvoid f(const Whole&);", "template <typename Whole>\nvoid f(Whole);",
                     "struct User { enum class Whole { kNone }; Whole w; };", "// Whole\nconstexpr auto k = \"Whole\";"):
            self.assertEqual(self.check(whole=self.WHOLE, user=user)[0], 0, user)

    def test_an_include_of_an_include_counts(self):
        self.assertEqual(self.check(whole=self.WHOLE, via='#include "whole.h"', user='#include "via.h"\nvoid f(Whole);')[0], 0)


if __name__ == "__main__":
    unittest.main()
