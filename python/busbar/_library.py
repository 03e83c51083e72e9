"""libbusbar.so, loaded with ctypes, which lets other threads of Python run during a call."""
import ctypes
import json
import os
import pathlib

from ._version import VERSION

ABI = 1

PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64)


class Options(ctypes.Structure):
    """busbar_options of busbar_c.h."""

    _fields_ = [("progress", PROGRESS), ("user", ctypes.c_void_p), ("time_limit_s", ctypes.c_double),
                ("end_on_sigint", ctypes.c_int)]


class Error(Exception):
    """What Busbar cannot answer, and why.

    code     invalid, not_found, unsupported, unreachable, does_not_fit or io
    message  what is wrong, and what to do
    remedy   the part of the message that says what to do; may be empty
    file, line, column, path   where: 0 and "" for what is not known; path is a field of the request or of the file
    """

    def __init__(self, fields):
        super().__init__(fields["text"])
        self.code = fields["code"]
        self.message = fields["message"]
        self.remedy = fields["message"].partition("; ")[2]
        self.file, self.line, self.column, self.path = (fields[key] for key in ("file", "line", "column", "path"))
        self._fields = fields

    def __reduce__(self):
        return Error, (self._fields,)


def _path_of_library():
    """$BUSBAR_LIBRARY, the library in this package, or the one that the system knows."""
    chosen = os.environ.get("BUSBAR_LIBRARY")
    inside = pathlib.Path(__file__).with_name("libbusbar.so")
    return chosen or (str(inside) if inside.exists() else f"libbusbar.so.{ABI}")


def _load(path):
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{error}; install the wheel of busbar, or name libbusbar.so in BUSBAR_LIBRARY") from None
    library.busbar_version.restype = ctypes.c_char_p
    found = library.busbar_version().decode()
    if (library.busbar_abi_version(), found) != (ABI, VERSION):
        raise ImportError(f"{path} is of busbar {found}, but the Python package is of {VERSION}; install both from one "
                          "release, or unset BUSBAR_LIBRARY")
    text, answer = ctypes.c_void_p, ctypes.c_void_p
    for name, result, arguments in [
            ("busbar_ask", answer, [ctypes.c_char_p, ctypes.POINTER(Options)]),
            ("busbar_answer_free", None, [answer]),
            ("busbar_answer_status", ctypes.c_int, [answer]),
            ("busbar_answer_json", text, [answer]),
            ("busbar_answer_text", text, [answer, ctypes.c_int]),
            ("busbar_answer_html", text, [answer]),
            ("busbar_answer_numbers", ctypes.c_int64, [answer, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64]),
            ("busbar_schema", text, [ctypes.c_char_p]),
            ("busbar_free", None, [text])]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


LIBRARY = _load(_path_of_library())


def taken(text):
    """A text that the library made, as bytes. None: there is none."""
    if not text:
        return None
    try:
        return ctypes.string_at(text)
    finally:
        LIBRARY.busbar_free(text)


def library_version():
    """The version of libbusbar.so."""
    return LIBRARY.busbar_version().decode()


def questions():
    """The names of all questions."""
    return json.loads(taken(LIBRARY.busbar_schema(None)))


def schema(question):
    """JSON Schemas of a question: {"request": ..., "answer": ...}."""
    out = json.loads(taken(LIBRARY.busbar_schema(question.encode())))
    if "error" in out:
        raise Error(out["error"])
    return out
