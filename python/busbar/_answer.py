"""Answers: objects whose attributes are the fields of the command's JSON."""
import copy
import html
import json
import shutil
from collections.abc import Mapping

from ._library import LIBRARY, taken

_FRAME = '<iframe srcdoc="{}" style="width: 100%; height: 40em; border: 0"></iframe>'


def _wrapped(value):
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return Rows(value)
    return value


def _flat(row, before=""):
    """{"a": {"b": 1}} as {"a.b": 1}: a row of a table."""
    out = {}
    for key, value in row.items():
        if isinstance(value, dict):
            out.update(_flat(value, f"{before}{key}."))
        else:
            out[before + key] = value
    return out


def _frame(rows):
    import pandas

    return pandas.DataFrame([_flat(row) if isinstance(row, dict) else row for row in rows])


class Record(Mapping):
    """A part of an answer: record.time_us, or record["time_us"]. A name that Python keeps for itself has a _ at its
    end: record.class_."""

    def __init__(self, data):
        self._data = data

    def __getattr__(self, name):
        if name.startswith("__") or name == "_data":
            raise AttributeError(name)
        data = self._data
        for key in (name, name.rstrip("_")):
            if key in data:
                return _wrapped(data[key])
        raise AttributeError(f"there is no '{name}'; it has {', '.join(data)}")

    def __getitem__(self, key):
        return _wrapped(self._data[key])

    def __iter__(self):
        return iter(self._data)

    def __len__(self):
        return len(self._data)

    def __dir__(self):
        return [*super().__dir__(), *self._data]

    def __eq__(self, other):
        return self._data == (other._data if isinstance(other, Record) else other)

    __hash__ = None

    def __repr__(self):
        return repr(self._data)

    def __reduce__(self):
        return Record, (self._data,)

    def to_dict(self):
        """A copy as dicts and lists."""
        return copy.deepcopy(self._data)


class Rows(list):
    """A list of an answer: its entries are records, lists or plain values."""

    def __init__(self, data=()):
        super().__init__(_wrapped(value) for value in data)
        self._data = data

    def __reduce__(self):
        return Rows, (self._data,)

    def to_pandas(self):
        """A pandas.DataFrame with a row for each entry."""
        return _frame(self._data)


class Answer(Record):
    """The answer to a question. status: 0 done, 1 a clean "no", as of the command.

    A pickled answer keeps its JSON and its request; what else is asked of it later, the library answers again.
    """

    def __init__(self, question, request, status, handle=None, data=None):
        self._handle = handle
        self.question, self.status = question, status
        self._request = request
        if data is not None:
            self._data = data

    def __del__(self):
        if getattr(self, "_handle", None) and LIBRARY is not None:
            LIBRARY.busbar_answer_free(self._handle)

    def __reduce__(self):
        return _unpickled, (self.question, self._request, self.status, self._data)

    def __getattr__(self, name):
        if name == "_data":  # read when first used
            self._data = json.loads(self.to_json())
            return self._data
        return super().__getattr__(name)

    def _kept(self):
        """The answer in the library; asked again if it came by pickle."""
        if self._handle is None:
            from ._questions import handle_of

            self._handle, _ = handle_of(self._request)
        return self._handle

    def to_json(self):
        """The text that the command prints with --json, on one line and without "run"."""
        return taken(LIBRARY.busbar_answer_json(self._kept())).decode()

    def text(self, columns=None):
        """The text that the command prints."""
        columns = columns or shutil.get_terminal_size((100, 24)).columns
        return taken(LIBRARY.busbar_answer_text(self._kept(), columns)).decode()

    def html(self):
        """The page that the command writes with --html."""
        return taken(LIBRARY.busbar_answer_html(self._kept())).decode()

    def __repr__(self):
        return self.text()

    def _repr_html_(self):
        return _FRAME.format(html.escape(self.html()))

    def numbers(self, path):
        """A numpy array: numbers("hops.latency_ns") is that field of every hop, NaN where there is none."""
        import numpy

        count = LIBRARY.busbar_answer_numbers(self._kept(), path.encode(), None, 0)
        if count < 0:
            raise KeyError(f"there are no numbers at '{path}'; write one field, or a list and a field: hops.latency_ns")
        out = numpy.empty(count)
        LIBRARY.busbar_answer_numbers(self._handle, path.encode(), out.ctypes.data, count)
        return out

    def to_pandas(self, of=None):
        """A pandas.DataFrame of the list `of`, by default the first list of records; without one, a row of fields."""
        data = self._data
        if of is not None:
            return _frame(data[of])
        lists = (v for v in data.values() if isinstance(v, list) and v and isinstance(v[0], dict))
        return _frame(next(lists, [data]))


def _unpickled(question, request, status, data):
    return Answer(question, request, status, data=data)
