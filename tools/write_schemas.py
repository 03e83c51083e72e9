#!/usr/bin/env python3
"""Writes what programs ask and read: a page with a table of fields per question, and the JSON Schemas as files.

    tools/write_schemas.py BUSBAR FOLDER     FOLDER/formats/json.md and FOLDER/_static/schemas/NAME.json
"""
import json
import pathlib
import subprocess
import sys

HEAD = """# JSON of the commands

What `busbar_call()`, Python and `--json` take and give, a section per question, from the same tables as the flags.
A key `hops[].kind` stands in each object of the list `hops`; `parts.*` has a name of its own in each answer.
Keys that are not always there say *may be absent*. `schema` is `busbar.NAME/NUMBER`; the number grows
when a key changes its meaning.
"""


def schema(busbar, *name):
    return json.loads(subprocess.run([busbar, "help", "--schema", *name], check=True, stdout=subprocess.PIPE).stdout)


def alternatives(node):
    """The kinds of value that `node` allows, without null."""
    several = node.get("anyOf") or node.get("oneOf")
    if several:
        return [kind for one in several for kind in alternatives(one)]
    return [] if node.get("type") == "null" else [node]


def type_of(node):
    names = [node["type"]] if isinstance(node.get("type"), str) else list(node.get("type", []))
    if "const" in node:
        return f"`{node['const']}`"
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"] if value is not None)
    if names == ["array"]:
        inner = {type_of(kind) for kind in alternatives(node.get("items", {}))}
        return "list of " + (" or ".join(sorted(inner)) if inner else "values")
    kinds = {type_of(kind) for kind in alternatives(node) if kind is not node}
    return " or ".join(names or sorted(kinds)) or "any value"


def fields(node, prefix="", needed=True):
    """(key, schema, always there) of all keys inside `node`, from outside to inside."""
    for kind in alternatives(node):
        if "items" in kind:
            yield from fields(kind["items"], prefix + "[]", needed)
        for key, value in kind.get("properties", {}).items():
            name = f"{prefix}.{key}" if prefix else key
            always = key in kind.get("required", [])
            yield name, value, always
            yield from fields(value, name)
        if isinstance(kind.get("additionalProperties"), dict):
            yield from fields(kind["additionalProperties"], prefix + ".*")


def cell(text):
    return str(text).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def rows(half, asked):
    out, seen = [], set()
    for key, value, always in fields(half):
        if key in seen:
            continue
        seen.add(key)
        meaning = [value["description"]] if "description" in value else []
        if asked and always:
            meaning.append("must be given")
        elif asked and value.get("default") not in (None, "", [], False) and "default" not in str(meaning):
            meaning.append(f"default {json.dumps(value['default'])}")
        elif not asked and not always and key not in ("schema", "run"):
            meaning.append("may be absent")
        columns = (f"`{key}`", type_of(value), value.get("unit", ""), "; ".join(meaning))
        out.append("| " + " | ".join(cell(text) for text in columns) + " |")
    return out


def section(name, both):
    lines = [f"\n## {name}\n", f"{both['answer']['title']}. Schema: [{name}.json](../_static/schemas/{name}.json).\n"]
    for title, half in (("Asked", "request"), ("Answered", "answer")):
        lines += [f"{title}:\n", "| key | type | unit | meaning |", "|---|---|---|---|"]
        lines += [*rows(both[half], half == "request"), ""]
    return "\n".join(lines)


def main(busbar, folder):
    files = pathlib.Path(folder) / "_static/schemas"
    page = pathlib.Path(folder) / "formats/json.md"
    for path in (files, page.parent):
        path.mkdir(parents=True, exist_ok=True)
    text = HEAD
    for name in schema(busbar):
        both = schema(busbar, name)
        (files / f"{name}.json").write_text(json.dumps(both, indent=1) + "\n")
        text += section(name, both)
    page.write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
