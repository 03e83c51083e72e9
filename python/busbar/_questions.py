"""Functions that ask, made from the schemas of the questions."""
import ctypes
import inspect
import json
import keyword
import os
import threading

from ._answer import Answer
from ._library import LIBRARY, PROGRESS, Error, Options, questions, schema, taken

OF_CALL = ("progress", "time_limit")  # keywords that are not fields


def python_name(name):
    """The keyword of a field, or the function of a question: from_ for "from", import_ for "import"."""
    return name + "_" if keyword.iskeyword(name) else name


def _as_json(value):
    """Values that json does not know: paths, and numbers and arrays of numpy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be a field of a question")


_ENCODER = json.JSONEncoder(default=_as_json, ensure_ascii=False, separators=(",", ":"))


def _error(handle):
    out = json.loads(taken(LIBRARY.busbar_answer_json(handle)))
    return Error(out["error"]) if "error" in out else None


def handle_of(request, options=None):
    """(an answer in the library, its status) to a request as bytes."""
    handle = LIBRARY.busbar_ask(request, options)
    if not handle:
        raise MemoryError
    status = LIBRARY.busbar_answer_status(handle)
    error = _error(handle) if status != 0 else None
    if error is not None:
        LIBRARY.busbar_answer_free(handle)
        raise error
    return handle, status


_PLAIN, _PLAIN_OF_MAIN = (Options(PROGRESS(), None, 0, of_main) for of_main in (0, 1))


def _of_main():
    """Signals arrive in the main thread: there Ctrl-C ends a call."""
    return threading.current_thread() is threading.main_thread()


def _followed(request, progress, time_limit):
    """handle_of() with a callback, whose exceptions end the call and are raised here."""
    failed = []

    def report(_user, what, done, total):
        try:
            return 1 if failed or progress(what.decode(), done, total) else 0
        except BaseException as error:  # KeyboardInterrupt too
            failed.append(error)
            return 1

    options = Options(PROGRESS(report) if progress else PROGRESS(), None, time_limit or 0, _of_main())
    try:
        handle, status = handle_of(request, ctypes.byref(options))
    except Error:
        if failed:
            raise failed[0] from None
        raise
    if failed:
        LIBRARY.busbar_answer_free(handle)
        raise failed[0]
    return handle, status


def _asked(question, fields, progress=None, time_limit=None):
    request = _ENCODER.encode({"question": question, **fields}).encode("utf-8", "surrogateescape")
    if progress is None and time_limit is None:
        handle, status = handle_of(request, ctypes.byref(_PLAIN_OF_MAIN if _of_main() else _PLAIN))
    else:
        handle, status = _followed(request, progress, time_limit)
    return Answer(question, request, status, handle)


def ask(question, /, *, progress=None, time_limit=None, **fields):
    """The answer to a question by its name: ask("path", cluster="dgx-h100", a="gpu0", b="gpu7")."""
    fields = {name[:-1] if name.endswith("_") else name: value for name, value in fields.items()}
    return _asked(question, fields, progress, time_limit)


_NONE = inspect.Parameter.empty


def words_of(request):
    """The fields that may be positional: the words of the command, those that must be there first."""
    fields = request["properties"]
    words = sorted((name for name in fields if "position" in fields[name]), key=lambda name: fields[name]["position"])
    return sorted(words, key=lambda name: name not in request["required"])


def _signature(request):
    """Words first, which may be positional; the other fields, and those of the call, by keyword."""
    words = words_of(request)
    parameters = []
    for name in [*words, *(name for name in request["properties"] if name not in words)]:
        field = request["properties"][name]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if name in words else inspect.Parameter.KEYWORD_ONLY
        default = _NONE if name in request["required"] else field.get("default", _NONE)
        parameters.append(inspect.Parameter(python_name(name), kind, default=default))
    parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in OF_CALL]
    return inspect.Signature(parameters)


def field_help(field):
    """One line: meaning and unit."""
    unit = f" ({field['unit']})" if field.get("unit") else ""
    return field.get("description", "") + unit


def documentation(title, request):
    """The docstring of a question."""
    width = max(len(python_name(name)) for name in request["properties"])
    lines = [f"{python_name(name):{width}}  {field_help(field)}" for name, field in request["properties"].items()]
    return "\n    ".join([f"{title[0].upper()}{title[1:]}.\n", *lines,
                          f"{'progress':{width}}  called as progress(what, done, total); true ends the answer",
                          f"{'time_limit':{width}}  seconds, after which the answer ends"])


def _function(question, request, module):
    known = words_of(request)
    names = {python_name(name): name for name in request["properties"] if python_name(name) != name}

    def function(*words, progress=None, time_limit=None, **fields):
        if len(words) > len(known):
            raise TypeError(f"{question}() takes {len(known)} words: {', '.join(known)}")
        for name, word in zip(known, words):
            if name in fields:
                raise TypeError(f"{question}() has two values for '{name}'")
            fields[name] = word
        for name in names.keys() & fields.keys():
            fields[names[name]] = fields.pop(name)
        return _asked(question, fields, progress, time_limit)

    function.__name__ = function.__qualname__ = python_name(question)
    function.__module__ = module
    function.__doc__ = documentation(request["title"], request)
    function.__signature__ = _signature(request)
    return function


def make_functions(module):
    """{name: function} of all questions."""
    out = {}
    for question in questions():
        request = schema(question)["request"]
        clash = [name for name in request["properties"] if name in OF_CALL]
        if clash:
            raise ImportError(f"the question {question} has a field {clash[0]}, which is a keyword of every call")
        out[python_name(question)] = _function(question, request, module)
    return out
