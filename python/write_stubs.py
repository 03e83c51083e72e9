#!/usr/bin/env python3
"""Writes python/busbar/__init__.pyi, the types of all questions and answers, from the schemas of the library.

    BUSBAR_LIBRARY=build/checked/libbusbar.so python/write_stubs.py [--check]     --check: exit 1 if the file is not current
"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from busbar._library import questions, schema  # noqa: E402
from busbar._questions import documentation, python_name, words_of  # noqa: E402

OUTPUT = FOLDER / "busbar/__init__.pyi"
HEAD = '''# Written by python/write_stubs.py from the schemas of the library.
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

import numpy
import pandas

Text = str | os.PathLike[str]
Progress = Callable[[str, int, int], object]
T = TypeVar("T")

__version__: str

def library_version() -> str: ...
def questions() -> list[str]: ...
def schema(question: str) -> dict[str, Any]: ...
def ask(question: str, /, *, progress: Progress | None = ..., time_limit: float | None = ..., **fields: Any) -> Answer: ...

class Error(Exception):
    code: str
    message: str
    remedy: str
    file: str
    line: int
    column: int
    path: str

class Record(Mapping[str, Any]):
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, key: str) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...

class Rows(list[T], Generic[T]):
    def to_pandas(self) -> pandas.DataFrame: ...

class Answer(Record):
    question: str
    status: int
    def to_json(self) -> str: ...
    def text(self, columns: int | None = ...) -> str: ...
    def html(self) -> str: ...
    def numbers(self, path: str) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]: ...
    def to_pandas(self, of: str | None = ...) -> pandas.DataFrame: ...
'''
PLAIN = {"boolean": "bool", "integer": "int", "number": "float", "null": "None", "string": "str"}


def capitals(name):
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


class Classes:
    """Types of answers; those of records are classes, written once they are used. Records with the same fields share one."""

    def __init__(self):
        self.texts = []
        self.names = {}  # by base and fields

    def add(self, name, base, kinds):
        """A class with the fields of all kinds of a record."""
        types = {}
        for number, kind in enumerate(kinds):
            for key, field in kind["properties"].items():
                if key.isidentifier():
                    inner = name + capitals(key) + (str(number + 1) if key in types else "")
                    types.setdefault(key, []).append(self.type_of(field, inner))
        fields = [f"    {python_name(key)}: {union(of_key)}" for key, of_key in types.items()]
        known = self.names.setdefault((base, *fields), name)
        if known == name:
            self.texts.append("\n".join([f"class {name}({base}):", *(fields or ["    ..."])]) + "\n")
        return known

    def type_of(self, field, name):
        if "anyOf" in field:
            return union(self.type_of(one, name) for one in field["anyOf"])
        kind = field.get("type")
        if kind == "array":
            return f"Rows[{self.type_of(field['items'], name)}]"
        if kind == "object" and field.get("properties"):
            return self.add(name, "Record", [field])
        if kind == "object":
            inner = field.get("additionalProperties")
            return f"Mapping[str, {self.type_of(inner, name) if isinstance(inner, dict) else 'Any'}]"
        return "str" if "const" in field else PLAIN.get(kind, "Any")


def union(types):
    """"int | None": each once, in order."""
    return " | ".join(dict.fromkeys(types))


def argument_type(field):
    if "enum" in field and field.get("type") == "string":
        return f"Literal[{', '.join(repr(word) for word in field['enum'])}]"
    if "anyOf" in field:
        inner = {**field["anyOf"][0], **({"enum": field["enum"]} if "enum" in field else {})}
        return argument_type(inner) + " | None"
    kind = field.get("type")
    if kind == "array":
        inner = argument_type(field["items"])
        return f"Sequence[{inner}] | {inner}"
    if kind == "string":
        return "Text"
    if kind == "object":
        return "Mapping[str, Any]"
    return PLAIN.get(kind, "Any")


def function_text(question, request, answer):
    properties, words = request["properties"], words_of(request)

    def argument(name):
        given = "" if name in request["required"] else " = ..."
        return f"{python_name(name)}: {argument_type(properties[name])}{given}"

    more = [*(argument(name) for name in properties if name not in words), "progress: Progress | None = ...", "time_limit: float | None = ..."]
    lines = ",\n    ".join([*(argument(name) for name in words), "*", *more])
    text = documentation(request["title"], request).replace("\\", "\\\\").replace('"""', "'''")
    return f'def {python_name(question)}(\n    {lines},\n) -> {answer}:\n    """{text}\n    """\n'


def stubs():
    out = [HEAD]
    for question in questions():
        both = schema(question)
        classes = Classes()
        answer = classes.add(capitals(question) + "Answer", "Answer", both["answer"].get("anyOf", [both["answer"]]))
        out += [*classes.texts, function_text(question, both["request"], answer)]
    return "\n".join(out)


def main():
    text = stubs()
    if "--check" not in sys.argv[1:]:
        OUTPUT.write_text(text, encoding="utf-8")
        return 0
    if OUTPUT.exists() and OUTPUT.read_text(encoding="utf-8") == text:
        return 0
    print(f"{OUTPUT.name} is not current; run BUSBAR_LIBRARY=BUILD/libbusbar.so python/write_stubs.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
