# Written by python/write_stubs.py from the schemas of the library.
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

class LocalizeAnswerFindingsCandidates(Record):
    part: str
    confidence: float
    against: int | None

class LocalizeAnswerFindingsEvidence(Record):
    file: str
    line: int
    text: str

class LocalizeAnswerFindings(Record):
    rule: str
    severity: str
    part: str | None
    candidates: Rows[LocalizeAnswerFindingsCandidates]
    evidence: Rows[LocalizeAnswerFindingsEvidence]
    explanation: str
    fix: str
    cost_percent: float | None

class LocalizeAnswerMeasurements(Record):
    name: str
    kind: str
    file: str
    line: int
    slower_percent: float
    slow: bool

class LocalizeAnswer(Answer):
    schema: str
    cluster: str | None
    threshold_percent: float | None
    findings: Rows[LocalizeAnswerFindings]
    unknown: Rows[str]
    measurements: Rows[LocalizeAnswerMeasurements] | None
    inputs_hash: str | None
    run: Mapping[str, Any]

def localize(
    files: Sequence[Text] | Text,
    *,
    cluster: Text = ...,
    threshold: float = ...,
    set: Sequence[Text] | Text = ...,
    degrade: Sequence[Text] | Text = ...,
    fail: Sequence[Text] | Text = ...,
    nodes: int = ...,
    gpu: Text = ...,
    gpu_memory_rate: Text = ...,
    catalog: Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> LocalizeAnswer:
    """Find the slow part from results of single nodes, rails and pairs.

    files            results of parts; docs/doctor.md says which files and names. Also the machine
    cluster          the machine: preset, NAME:N or file; also as the argument CLUSTER
    threshold        how much slower than equal parts counts as slow (default 15) (%)
    set              change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    progress         called as progress(what, done, total); true ends the answer
    time_limit       seconds, after which the answer ends
    """

class PathAnswerHopsLinks(Record):
    link: str
    share: float

class PathAnswerHops(Record):
    from_: str
    to: str
    link: str
    kind: str
    class_: str
    GBps: float
    wire_GBps: float
    latency_ns: float
    latency_parts_ns: Mapping[str, float]
    links: Rows[PathAnswerHopsLinks]

class PathAnswerBottleneck(Record):
    link: str
    class_: str

class PathAnswerBoundBy(Record):
    link: str | None
    class_: str | None
    phase: str | None
    kind: str | None

class PathAnswer(Answer):
    schema: str
    cluster: str
    from_: str
    to: str
    type: str
    nccl_type: str
    hops: Rows[PathAnswerHops]
    GBps: float | None
    wire_GBps: float | None
    latency_ns: float
    latency_parts_ns: Mapping[str, float]
    copied_in: Rows[str]
    bottleneck: PathAnswerBottleneck | None
    bound_by: PathAnswerBoundBy | None
    shared_with: Rows[str]
    shared_count: int
    inputs_hash: str
    run: Mapping[str, Any]

def path(
    cluster: Text,
    a: Text,
    b: Text,
    *,
    set: Sequence[Text] | Text = ...,
    degrade: Sequence[Text] | Text = ...,
    fail: Sequence[Text] | Text = ...,
    nodes: int = ...,
    gpu: Text = ...,
    gpu_memory_rate: Text = ...,
    catalog: Text = ...,
    explain: bool = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> PathAnswer:
    """The path between two devices: type, hops, bottleneck, latency, what else uses it.

    cluster          the machine: preset, NAME:N or file; also as the argument CLUSTER
    a                a device: node0.gpu3, gpu3 (of node0), or a GPU's number
    b                the other device
    set              change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    explain          show the gain from improving each kind of link
    progress         called as progress(what, done, total); true ends the answer
    time_limit       seconds, after which the answer ends
    """
