"""Busbar: how fast GPUs can talk, what limits them, and what would change it.

    >>> import busbar as bb
    >>> answer = bb.path(cluster="dgx-h100", a="gpu0", b="gpu7")
    >>> answer.type, answer.GBps
    ('NVL', 387.0)
    >>> answer.hops[0].latency_ns
    250.0

Every question of the library is a function here: questions() lists them, help(busbar.path) has the fields of one.
An answer shows its tables when it is printed; its fields are attributes with the names of the command's JSON.
"""
from ._answer import Answer, Record, Rows
from ._library import Error, library_version, questions, schema
from ._questions import ask, make_functions
from ._version import VERSION as __version__

_FUNCTIONS = make_functions(__name__)
globals().update(_FUNCTIONS)

__all__ = ["Answer", "Error", "Record", "Rows", "ask", "library_version", "questions", "schema", *_FUNCTIONS]
