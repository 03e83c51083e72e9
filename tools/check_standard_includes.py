#!/usr/bin/env python3
"""Checks that every header below src/ includes the standard headers whose names it uses, itself or through others, and fmt.

    tools/check_standard_includes.py [ROOT]

The compiler cannot show this where a header comes after others. A name that the table below does not
have is refused, so that the table stays complete. Exit 1 names the places.
"""
import pathlib
import re
import sys

# Header -> its names (https://en.cppreference.com/w/cpp/header). A name of several headers is listed with each of them.
NAMES = {
    "algorithm": "all_of any_of binary_search clamp copy count count_if equal equal_range fill find find_if generate is_sorted "
                 "lower_bound make_heap max max_element merge min min_element minmax none_of nth_element partition pop_heap "
                 "push_heap remove remove_if replace reverse rotate set_intersection sort stable_sort transform unique upper_bound",
    "array": "array get to_array", "atomic": "atomic memory_order_acq_rel memory_order_acquire memory_order_relaxed memory_order_release",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_zero countr_zero has_single_bit popcount", "bitset": "bitset",
    "charconv": "from_chars to_chars", "chrono": "chrono", "cmath": "abs ceil cos exp floor fma isfinite isinf isnan llround log log2 "
    "lround pow round sin sqrt trunc", "compare": "partial_ordering strong_ordering", "condition_variable": "condition_variable",
    "csignal": "sig_atomic_t", "cstddef": "byte max_align_t nullptr_t ptrdiff_t size_t",
    "cstdint": "int8_t int16_t int32_t int64_t intptr_t uint8_t uint16_t uint32_t uint64_t uintptr_t",
    "cstdlib": "abort abs getenv size_t", "cstring": "memcmp memcpy memset strlen size_t", "deque": "deque",
    "exception": "current_exception exception exception_ptr rethrow_exception",
    "filesystem": "filesystem", "fstream": "fstream ifstream ios ofstream",
    "functional": "bind equal_to function greater hash identity invoke less plus reference_wrapper", "initializer_list": "initializer_list",
    "iosfwd": "istream ostream streambuf", "iterator": "advance back_inserter begin distance end forward_iterator_tag "
    "istreambuf_iterator make_move_iterator next prev rbegin rend reverse_iterator size", "istream": "ios istream",
    "limits": "numeric_limits", "list": "list", "map": "map multimap", "memory": "allocator make_shared make_unique shared_ptr unique_ptr "
    "weak_ptr", "mutex": "lock_guard mutex scoped_lock unique_lock", "numbers": "numbers",
    "numeric": "accumulate gcd inner_product iota lcm midpoint partial_sum reduce", "optional": "make_optional nullopt optional",
    "ostream": "ostream", "queue": "priority_queue queue", "random": "mt19937 mt19937_64", "set": "multiset set", "span": "span",
    "sstream": "istringstream ostringstream stringstream", "streambuf": "streambuf",
    "string": "basic_string getline stod stoi stoll stoull string to_string", "string_view": "string_view", "system_error": "errc error_code",
    "thread": "this_thread thread", "tuple": "apply forward_as_tuple get ignore make_tuple tie tuple tuple_element_t tuple_size_v",
    "concepts": "floating_point integral same_as",
    "type_traits": "conditional_t integral_constant decay_t enable_if_t false_type invoke_result_t is_convertible_v is_enum_v is_integral_v is_same_v "
                   "is_signed_v is_trivially_copyable_v remove_cvref_t true_type underlying_type_t void_t",
    "unordered_map": "unordered_map unordered_multimap", "unordered_set": "unordered_set", "utility": "as_const declval exchange forward "
    "in_place_index integer_sequence make_pair move pair swap to_underlying", "variant": "get get_if holds_alternative in_place_index monostate "
    "variant visit", "vector": "erase erase_if vector",
}
GIVEN_BY = {}
for header, words in NAMES.items():
    for word in words.split():
        GIVEN_BY.setdefault(word, []).append(header)
# Names that the headers of every container and of strings give too, in GCC's library and in LLVM's.
EVERYWHERE = {"size_t", "ptrdiff_t", "nullptr_t", "move", "forward", "pair", "make_pair", "swap", "exchange", "initializer_list"}
FMT = ("fmt/core.h", "fmt/format.h", "fmt/ranges.h")
INCLUDE = re.compile(r'^#include ([<"])([\w/.+-]+)[>"]', re.MULTILINE)
USE = re.compile(r"\b(std|fmt)::(\w+)")


def code_of(text):
    """`text` without comments and the insides of strings; the lines stay."""
    return re.sub(r"//.*", "", re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text))


def standard_headers(header, texts, known):
    """The standard headers that `header` includes, directly or through headers in `texts`."""
    if header not in known:
        known[header] = set()  # ends a circle
        for mark, name in INCLUDE.findall(texts[header]):
            if mark == "<":
                known[header].add(name)
            elif name in texts:
                known[header] |= standard_headers(name, texts, known)
    return known[header]


def faults_of(text, included):
    """[(line number, what is wrong)] of a header with the standard headers `included`."""
    faults, told = [], set()
    for number, line in enumerate(code_of(text).splitlines(), 1):
        for space, name in set(USE.findall(line)) - told:
            told.add((space, name))
            headers = GIVEN_BY.get(name)
            if space == "fmt":
                if not included.intersection(FMT):
                    faults.append((number, f"fmt::{name} without <fmt/core.h>"))
            elif not headers:
                faults.append((number, f"std::{name} is not in the table of tools/check_standard_includes.py"))
            elif not included.intersection(headers) and not (name in EVERYWHERE and included):
                faults.append((number, f"std::{name} without <{'> or <'.join(headers)}>"))
    return faults


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    source = root / "src"
    texts = {str(path.relative_to(source)): path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.h"))}
    wrong, known = 0, {}
    for header, text in texts.items():
        for line, fault in faults_of(text, standard_headers(header, texts, known)):
            wrong += 1
            print(f"src/{header}:{line}: {fault}")
    print(f"{len(texts)} headers, {wrong} names without their header")
    return 1 if wrong or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
