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

class CollectiveAnswerResultsFloorCut(Record):
    kind: str
    name: str

class CollectiveAnswerResultsBoundBy(Record):
    link: str | None
    class_: str | None
    phase: str | None
    kind: str | None
    cause: str | None

class CollectiveAnswerResultsReliefNext(Record):
    link: str | None
    class_: str | None
    phase: str | None
    kind: str | None
    cause: str | None

class CollectiveAnswerResultsRelief(Record):
    what: str
    gain_percent: float
    most_percent: float | None
    next: CollectiveAnswerResultsReliefNext | None

class CollectiveAnswerResultsSimplified(Record):
    what: str
    messages_percent: Rows[int]

class CollectiveAnswerResultsNccl(Record):
    algorithm: str
    protocol: str
    channels: int
    threads: int
    forecast_us: float

class CollectiveAnswerResultsJitter(Record):
    time_without_us: float
    expected_hits: float
    calls_hit_percent: float
    p99_us: float

class CollectiveAnswerResultsSynthesized(Record):
    schedule: str
    textbook_algorithm: str
    textbook_time_us: float
    ring_time_us: float | None

class CollectiveAnswerResultsPackets(Record):
    data: int
    acks: int
    nacks: int
    asks: int
    resent: int
    trimmed: int
    dropped: int
    marked: int
    pauses: int
    timeouts: int

class CollectiveAnswerResultsJobsUs(Record):
    first: float
    median: float
    last: float

class CollectiveAnswerResultsChain(Record):
    kind: str
    phase: str
    from_rank: int | None
    to_rank: int | None
    first_round: int | None
    rounds: int
    link: str | None
    class_: str | None
    time_us: float
    share_percent: float

class CollectiveAnswerResults(Record):
    size_bytes: int
    time_us: float
    algbw_GBps: float
    busbw_GBps: float
    algorithm: str
    protocol: str
    channels: int
    chunks: int
    floor_us: float
    floor_cut: CollectiveAnswerResultsFloorCut
    above_floor_percent: float
    algorithm_floor_us: float
    bound_by: CollectiveAnswerResultsBoundBy
    band_percent: Rows[float]
    relief: Rows[CollectiveAnswerResultsRelief]
    simplified: Rows[CollectiveAnswerResultsSimplified]
    warning: str | None
    kernels: str | None
    nccl: CollectiveAnswerResultsNccl | None
    jitter: CollectiveAnswerResultsJitter | None
    synthesized: CollectiveAnswerResultsSynthesized | None
    packets: CollectiveAnswerResultsPackets | None
    time_p99_us: float | None
    jobs_us: CollectiveAnswerResultsJobsUs | None
    chain: Rows[CollectiveAnswerResultsChain]
    breakdown_us: Mapping[str, float]

class CollectiveAnswerLaunch(Record):
    mode: str
    us: float
    host_us_per_gpu: float | None

class CollectiveAnswerBoundBy(Record):
    link: str | None
    class_: str | None
    phase: str | None
    kind: str | None
    cause: str | None

class CollectiveAnswerPenalty(Record):
    transport: str
    lb: str
    fan_in: float
    mean: float
    p99: float
    source: str

class CollectiveAnswerSchedule(Record):
    file: str
    name: str
    proved: bool
    sends: int
    longest_chain_of_sends: int

class CollectiveAnswerResults2FloorCut(Record):
    kind: str
    name: str

class CollectiveAnswerResults2BoundBy(Record):
    link: str | None
    class_: str | None
    phase: str | None
    kind: str | None
    cause: str | None

class CollectiveAnswerResults2ReliefNext(Record):
    link: str | None
    class_: str | None
    phase: str | None
    kind: str | None
    cause: str | None

class CollectiveAnswerResults2Relief(Record):
    what: str
    gain_percent: float
    most_percent: float | None
    next: CollectiveAnswerResults2ReliefNext | None

class CollectiveAnswerResults2(Record):
    size_bytes: int
    time_us: float
    algbw_GBps: float
    busbw_GBps: float
    algorithm: str
    protocol: str
    channels: int
    chunks: int
    floor_us: float
    floor_cut: CollectiveAnswerResults2FloorCut
    above_floor_percent: float
    algorithm_floor_us: float
    bound_by: CollectiveAnswerResults2BoundBy
    relief: Rows[CollectiveAnswerResults2Relief]
    ours: str | None
    ours_time_us: float | None
    against_ours_percent: float | None
    warning: str | None

class CollectiveAnswerLaunch2(Record):
    mode: str
    us: float
    host_us_per_gpu: float | None

class CollectiveAnswerBoundBy2(Record):
    link: str | None
    class_: str | None
    phase: str | None
    kind: str | None
    cause: str | None

class CollectiveAnswer(Answer):
    schema: str
    cluster: str
    gpus: int
    groups: int
    jobs: int
    collective: str
    engine: str
    algorithm_choice: str
    algorithm_choice_note: str
    inputs_hash: str
    results: Rows[CollectiveAnswerResults] | Rows[CollectiveAnswerResults2]
    nccl: str
    env: Rows[str]
    launch: CollectiveAnswerLaunch | CollectiveAnswerLaunch2
    bound_by: CollectiveAnswerBoundBy | CollectiveAnswerBoundBy2
    band_percent: Rows[float]
    band_basis: str
    assumptions: Rows[str]
    penalty: CollectiveAnswerPenalty | None
    complete: bool
    shortcuts: Rows[str] | None
    run: Mapping[str, Any]
    schedule: CollectiveAnswerSchedule
    notes: Rows[str]

def collective(
    cluster: Text,
    collective: Text,
    *,
    min_bytes: Text = ...,
    max_bytes: Text = ...,
    step_factor: float = ...,
    ranks: Sequence[Text] | Text = ...,
    algorithm: Text = ...,
    chunks: int = ...,
    protocol: Literal['auto', 'simple', 'll128', 'll'] = ...,
    schedule: Text = ...,
    pairs: Text = ...,
    out: Text = ...,
    channels: int = ...,
    jobs: int = ...,
    placement: Text = ...,
    jitter: Sequence[Text] | Text = ...,
    seed: int | None = ...,
    root: int = ...,
    compute_jitter: Text = ...,
    gpus: int = ...,
    nthreads: int = ...,
    datatype: Literal['int8', 'uint8', 'int32', 'uint32', 'int64', 'uint64', 'half', 'float', 'double', 'bfloat16', 'f8e4m3', 'f8e5m2'] = ...,
    op: Literal['sum', 'prod', 'min', 'max', 'avg', 'mulsum'] = ...,
    cudagraph: int = ...,
    iters: int = ...,
    warmup_iters: int = ...,
    check: int = ...,
    parallel_init: int = ...,
    agg_iters: int = ...,
    blocking: int = ...,
    average: int = ...,
    local_register: int = ...,
    transport: Literal['nscc', 'dcqcn', 'hpcc', 'roce', 'swift', 'ib', 'tcp-cubic', 'dctcp', 'credit'] = ...,
    lb: Literal['ecmp', 'spray', 'adaptive', 'flowlet'] = ...,
    patience: float = ...,
    env: Sequence[Text] | Text = ...,
    nccl: Text = ...,
    launch: Literal['graph', 'loop', 'process', 'unknown'] = ...,
    shortcuts_off: Text = ...,
    cut_through: bool = ...,
    background: Text = ...,
    fault: Sequence[Text] | Text = ...,
    lanes: Text = ...,
    threads: int | None = ...,
    reroute_after: Text = ...,
    engine: Literal['analytic', 'flow', 'packet'] = ...,
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
) -> CollectiveAnswer:
    """Time one collective over a range of sizes, in the format of nccl-tests.

    min_bytes        smallest size S; K, M, G are binary (default 8)
    max_bytes        largest size (default 16G)
    step_factor      factor between sizes (default 2)
    ranks            instead of -g: the ranks of a group, such as 0,1,4 or 0:512:8; several groups (repeat the flag, or 0:8+8x64) run at the same time
    algorithm        auto (NCCL's choice), fastest, all (one row each), synthesized (made for this machine), ring, tree, ...; or FILE.conf: picks of NCCL's tuner plugin
    chunks           number of pieces in the pipeline (default: from the machine's chunk size)
    protocol         auto (chosen with the algorithm), simple, ll128, ll
    schedule         time the schedule in this file (MSCCL XML, MSCCL++ plan) and compare it with ours
    pairs            all_to_allv: CSV of src,dst,bytes; -b and -e scale it by the bytes of the rank that sends most
    out              write the schedule of the largest size: .xml (MSCCL), .json (MSCCL++), .goal, .et (Chakra), .csv (flows); or .conf: picks for NCCL's tuner
    channels         number of channels, each with its own NICs (default: enough to use every NIC)
    jobs             run the collective as N jobs of -g GPUs at the same time (default 1)
    placement        packed (GPUs in order), or random or random:SEED (from the whole machine; default seed 0)
    jitter           some messages over these links are delayed, e.g. node3.nic2=1%x50us
    seed             seed of the paths that packets take (default: the cluster's)
    root             root of broadcast, reduce, gather and scatter (default 0)
    compute_jitter   each rank starts late by an exponential time with this mean
    gpus             use the first N GPUs of all nodes together; with -t T the first T x N
    nthreads         threads per process, each with -g GPUs (1 if only -t is given)
    datatype         element type (default float); NVLink switches cannot reduce every type
    op               reduction (default sum); NVLink switches cannot do every reduction
    cudagraph        above 0: same as --launch graph
    iters            accepted, without effect
    warmup_iters     accepted, without effect
    check            accepted, without effect
    parallel_init    accepted, without effect
    agg_iters        accepted, without effect
    blocking         accepted, without effect
    average          accepted, without effect
    local_register   accepted, without effect
    transport        nscc, dcqcn, hpcc, roce, swift, ib, tcp-cubic, dctcp, credit (default nscc); fluids: with its penalties
    lb               ecmp, spray, adaptive, flowlet (default: the cluster's)
    patience         refuse runs with a longer run time (default 1800) (s)
    env              set a variable of NCCL; may be given several times
    nccl             NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)
    launch           how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), unknown (default: as the machine's file says)
    shortcuts_off    compute without these shortcuts, e.g. call-images,bundles, or all; --explain names those taken
    cut_through      switches forward a packet while it still arrives, if the outgoing link is not faster
    background       further flows (Poisson), e.g. 0.3:websearch@1ms; sizes as --sizes of flows
    fault            down, rate:0.25, loss:0.001, slow:0.5 (receiver) or storm (of pauses), e.g. leaf0-spine1=down@20us..60us; repeatable
    lanes            virtual lanes with these weights, or strict; a flow uses its column lane, jobs take turns
    threads          simulate with N threads; results are equal (default: as many as pay)
    reroute_after    time until switches route around a failed link (default 1ms), or never
    cluster          the machine: preset, NAME:N or file; also as the argument CLUSTER
    collective       all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, all_to_allv, gather, scatter or send_recv; the names of nccl-tests also work
    engine           analytic, flow (default) or packet
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

class TopoAnswerNics(Record):
    name: str
    rate_bytes_per_s: float | None
    state: str
    layer: str
    rdma: bool
    numa_node: int | None
    pci: str

class TopoAnswerLevels(Record):
    name: str
    GBps_per_direction: float
    payload_GBps: float
    latency_ns: float | None
    ratio: float | None
    counted: str

class TopoAnswerScaleUpDomainLargestModels(Record):
    what: str
    bytes_per_parameter: float
    parameters: float

class TopoAnswerScaleUpDomain(Record):
    gpus: int
    memory_bytes: int
    ports_GBps_per_direction: float
    largest_models: Rows[TopoAnswerScaleUpDomainLargestModels]

class TopoAnswerFabric(Record):
    kind: str
    network: str
    oversubscription: float
    oversubscription_asked: float

class TopoAnswerPcieRoots(Record):
    top: str
    gpus: Rows[str]
    nics: Rows[str]

class TopoAnswerTiers(Record):
    tier: str
    ratio: float
    non_blocking: bool

class TopoAnswerOpticalSwitches(Record):
    switches: int
    cube: int
    links: int
    switching_s: float
    initialisation_s: float
    reconfiguration_s: float

class TopoAnswerCablingParts(Record):
    name: str
    medium: str
    reach_m: float
    cables: int
    ends: int
    length_m: float
    longest_m: float
    power_w: float

class TopoAnswerCabling(Record):
    cables: int
    length_m: float
    transceivers: int
    too_long: int
    cables_power_w: float
    switches: int
    switches_power_w: float | None
    parts: Rows[TopoAnswerCablingParts]

class TopoAnswerMatrix(Record):
    names: Rows[str]
    cells: Rows[Rows[str]]
    cpu_affinity: Rows[str]
    numa_affinity: Rows[str]
    legend: Mapping[str, str]

class TopoAnswerDevices(Record):
    name: str
    kind: str
    part: str
    numa: int | None
    memory_bytes: int | None

class TopoAnswerLinks(Record):
    from_: str
    to: str
    kind: str
    class_: str
    lanes: int
    GBps_per_direction: float
    payload_GBps: float
    latency_ns: float
    health: float

class TopoAnswerPairs(Record):
    names: Rows[str]
    payload_GBps: Rows[Rows[float]]
    payload_both_directions_GBps: Rows[Rows[float]]
    p2p_off_GBps: Rows[Rows[float]]
    p2p_off_both_directions_GBps: Rows[Rows[float]]
    latency_us: Rows[Rows[float]]
    p2p_off_latency_us: Rows[Rows[float]]

class TopoAnswerHops(Record):
    names: Rows[str]
    hops: Rows[Rows[int | None]]

class TopoAnswer(Answer):
    schema: str
    cluster: str
    gpus: int
    nics: Rows[TopoAnswerNics]
    numa_nodes_online: str | None
    inputs_hash: str
    run: Mapping[str, Any]
    counts: Mapping[str, int]
    levels: Rows[TopoAnswerLevels]
    bisection_GBps: float
    bisection_kind: str
    bisection_cut: str
    memory_bytes_total: int
    scale_up_domain: TopoAnswerScaleUpDomain
    fabric: TopoAnswerFabric
    gpus_per_nic: float | None
    pcie_roots: Rows[TopoAnswerPcieRoots]
    tiers: Rows[TopoAnswerTiers]
    p2p: bool
    gpudirect: bool
    optical_switches: TopoAnswerOpticalSwitches | None
    cabling: TopoAnswerCabling | None
    matrix: TopoAnswerMatrix | None
    devices: Rows[TopoAnswerDevices] | None
    links: Rows[TopoAnswerLinks] | None
    pairs: TopoAnswerPairs | None
    hops: TopoAnswerHops | None

def topo(
    cluster: Text = ...,
    *,
    matrix: bool = ...,
    tree: bool = ...,
    bandwidth: bool = ...,
    latency: bool = ...,
    hops: bool = ...,
    levels: bool = ...,
    all: bool = ...,
    node: int | None = ...,
    svg: Text = ...,
    nccl_xml: Text = ...,
    dot: Text = ...,
    yaml: Text = ...,
    cables: Text = ...,
    root: Text = ...,
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
) -> TopoAnswer:
    """Show a machine or, without one, this host: counts, tiers, bisection, memory, matrix, tree, drawings, files for other tools.

    matrix           paths between the devices of one node, in the format of nvidia-smi topo -m
    tree             the sockets of one node and the devices below them
    bandwidth        GB/s of each pair of GPUs of one node alone, one and both directions, as p2pBandwidthLatencyTest shows them
    latency          latency in us of each pair of GPUs of one node, without software
    hops             number of links between the GPUs and NICs of one node
    levels           rate, latency and ratio per tier (the default without another part)
    all              levels, tree and matrix; with --json also devices and links
    node             the node for tables, tree, --nccl-xml and --svg (default 0)
    svg              draw the network; or the inside of a node, with --node or without a network
    nccl_xml         one node as a topology file for NCCL_TOPO_FILE
    dot              the machine as a graph for Graphviz
    yaml             the machine as a commented cluster file that names no other machine; - prints it
    cables           list of cables with length, medium and part as CSV
    cluster          the machine: preset, NAME:N or file; also as the argument CLUSTER
    root             without a machine: read copies of the folders sys and proc below DIR instead of this host
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
    cause: str | None

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

class CatalogAnswerEntriesFigures(Record):
    path: str
    value: Any
    unit: str
    text: str
    source: str
    confidence: str | None
    least: Any | None
    most: Any | None

class CatalogAnswerEntriesParameters(Record):
    name: str
    default: str
    help: str

class CatalogAnswerEntries(Record):
    folder: str
    name: str
    title: str
    figures: Rows[CatalogAnswerEntriesFigures] | None
    aliases: Rows[str] | None
    parameters: Rows[CatalogAnswerEntriesParameters] | None
    made_of: Rows[str] | None

class CatalogAnswer(Answer):
    schema: str
    entries: Rows[CatalogAnswerEntries]
    run: Mapping[str, Any]

def catalog(
    name: Text = ...,
    *,
    catalog: Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> CatalogAnswer:
    """List the known machines, parts and models, with the source of each figure.

    name     an entry, FOLDER/ENTRY or a folder; absent: all names
    catalog  read product data from DIR before $BUSBAR_CATALOG and the built-in files
    progress  called as progress(what, done, total); true ends the answer
    time_limit  seconds, after which the answer ends
    """

class RingsAnswerCounts(Record):
    coll: int
    nvls: int
    p2p: int
    p2p_per_peer: int

class RingsAnswerGraphsRing(Record):
    pattern: str
    cross_nic: int
    channels: int
    intra_GBps: float
    inter_GBps: float
    intra_type: str
    inter_type: str

class RingsAnswerGraphsTree(Record):
    pattern: str
    cross_nic: int
    channels: int
    intra_GBps: float
    inter_GBps: float
    intra_type: str
    inter_type: str

class RingsAnswerGraphsNvls(Record):
    pattern: str
    cross_nic: int
    channels: int
    intra_GBps: float
    inter_GBps: float
    intra_type: str
    inter_type: str

class RingsAnswerGraphsCollnetChain(Record):
    pattern: str
    cross_nic: int
    channels: int
    intra_GBps: float
    inter_GBps: float
    intra_type: str
    inter_type: str

class RingsAnswerGraphsCollnetDirect(Record):
    pattern: str
    cross_nic: int
    channels: int
    intra_GBps: float
    inter_GBps: float
    intra_type: str
    inter_type: str

class RingsAnswerGraphs(Record):
    ring: RingsAnswerGraphsRing | None
    tree: RingsAnswerGraphsTree | None
    nvls: RingsAnswerGraphsNvls | None
    collnet_chain: RingsAnswerGraphsCollnetChain | None
    collnet_direct: RingsAnswerGraphsCollnetDirect | None

class RingsAnswerNicOfGpu(Record):
    rank: int
    nic: str

class RingsAnswerChannels(Record):
    kind: str
    channel: int
    order: Rows[int]
    parents: Rows[int] | None
    nics: Rows[str]
    balanced: bool

class RingsAnswer(Answer):
    schema: str
    cluster: str
    gpus: int
    nodes: int
    nccl_version: str
    library: str
    rings_from: str
    cross_nic: int
    inputs_hash: str
    counts: RingsAnswerCounts
    graphs: RingsAnswerGraphs
    nic_of_gpu: Rows[RingsAnswerNicOfGpu]
    channels: Rows[RingsAnswerChannels]
    run: Mapping[str, Any]

def rings(
    cluster: Text,
    *,
    gpus: int = ...,
    copies: int = ...,
    nccl: Text = ...,
    env: Sequence[Text] | Text = ...,
    cross_nic: Text = ...,
    no_nvls: bool = ...,
    collnet: bool = ...,
    no_pxn: bool = ...,
    svg: Text = ...,
    nccl_graph: Text = ...,
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
) -> RingsAnswer:
    """Print and draw the rings, trees and NICs that NCCL would use.

    gpus             use the first N GPUs (default all)
    copies           use N copies of the machine on one network (default 1)
    nccl             NCCL release whose rules apply, 2.18 to 2.30 (default 2.30)
    env              set a variable of NCCL; may be given several times
    cross_nic        NCCL_CROSS_NIC (default: 0 on a fabric of rails, otherwise NCCL's default 2)
    no_nvls          NCCL_NVLS_ENABLE=0
    collnet          NCCL_COLLNET_ENABLE=1, on a network whose switches reduce
    no_pxn           NCCL_PXN_DISABLE=1
    svg              draw the channels
    nccl_graph       write the graphs of the first node for NCCL_GRAPH_FILE
    cluster          the machine: preset, NAME:N or file; also as the argument CLUSTER
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

class ClaimsAnswerClaims(Record):
    id: str
    text: str
    said: str
    said_value: float | None
    unit: str | None
    computed: float | None
    computed_up_to: float | None
    both_directions: bool
    verdict: str
    said_over_computed: float | None
    depends_on: str | None
    decided_by: str | None
    why: str | None
    command: str | None
    commands: Rows[str]
    problem: str | None

class ClaimsAnswer(Answer):
    schema: str
    claims: Rows[ClaimsAnswerClaims]
    summary: Mapping[str, int]
    complete: bool
    inputs_hash: str
    run: Mapping[str, Any]

def claims(
    claim: Text = ...,
    *,
    catalog: Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> ClaimsAnswer:
    """What popular texts say about GPU networks, computed now: right, wrong by what, or what it depends on.

    claim    a claim (S0-67) or a text of catalog/popular (levels); absent: all
    catalog  read product data from DIR before $BUSBAR_CATALOG and the built-in files
    progress  called as progress(what, done, total); true ends the answer
    time_limit  seconds, after which the answer ends
    """

class DoctorAnswerFindingsCandidates(Record):
    part: str
    confidence: float
    against: int | None

class DoctorAnswerFindingsEvidence(Record):
    file: str
    line: int
    text: str

class DoctorAnswerFindings(Record):
    rule: str
    title: str
    severity: str
    part: str | None
    candidates: Rows[DoctorAnswerFindingsCandidates]
    evidence: Rows[DoctorAnswerFindingsEvidence]
    evidence_lines: int
    explanation: str
    fix: Rows[str]
    cost_percent: float | None
    cost_of: str | None
    selectors: Rows[str]
    flags: str | None
    follows_from: str | None
    references: Rows[str]
    page: str

class DoctorAnswerUnknown(Record):
    rule: str
    title: str
    missing: str
    ask: str

class DoctorAnswerFiles(Record):
    file: str
    lines: int
    lines_with_facts: int
    kinds: Rows[str]
    stopped: str | None

class DoctorAnswerLogsAgainstMachineDifferences(Record):
    what: str
    logged: str
    expected: str
    cause: str
    cost_percent: float | None
    cost_at_most_percent: float | None
    cost_of: str

class DoctorAnswerLogsAgainstMachine(Record):
    file: str
    line: int
    ranks: int
    nodes: int
    other_communicators: int
    library: str
    settings: Rows[str]
    settings_without_effect: Rows[str]
    agrees: Rows[str]
    differences: Rows[DoctorAnswerLogsAgainstMachineDifferences]
    refused: str | None

class DoctorAnswerTablesFindingsCandidates(Record):
    rank: int
    rule: str
    part: str | None
    alike: Rows[str]
    factor: float
    confidence: float
    explanation: str
    flags: str
    misfit: float

class DoctorAnswerTablesFindings(Record):
    rule: str
    severity: str
    part: str | None
    candidates: Rows[DoctorAnswerTablesFindingsCandidates]
    explanation: str
    cost_percent: float
    sound_confidence: float

class DoctorAnswerTablesNext(Record):
    tells: str
    command: str

class DoctorAnswerTables(Record):
    file: str
    cluster: str | None
    cluster_proposed: bool
    refused: str | None
    collective: str | None
    verdict: str | None
    why: str | None
    slower_percent: float | None
    threshold_percent: float | None
    findings: Rows[DoctorAnswerTablesFindings] | None
    unseen_parts: Rows[str] | None
    next: Rows[DoctorAnswerTablesNext] | None

class DoctorAnswer(Answer):
    schema: str
    findings: Rows[DoctorAnswerFindings]
    unknown: Rows[DoctorAnswerUnknown]
    ok: Rows[str]
    files: Rows[DoctorAnswerFiles]
    logs_against_machine: Rows[DoctorAnswerLogsAgainstMachine] | None
    tables: Rows[DoctorAnswerTables] | None
    bundle: str | None | None
    inputs_hash: str
    run: Mapping[str, Any]

def doctor(
    files: Sequence[Text] | Text = ...,
    *,
    live: bool = ...,
    root: Text = ...,
    bundle: Text = ...,
    fail_on: Literal['fail', 'warn', 'note', 'never'] = ...,
    cluster: Text = ...,
    collective: Text = ...,
    set: Sequence[Text] | Text = ...,
    degrade: Sequence[Text] | Text = ...,
    fail: Sequence[Text] | Text = ...,
    nodes: int = ...,
    gpu: Text = ...,
    gpu_memory_rate: Text = ...,
    catalog: Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> DoctorAnswer:
    """Find what is wrong with a machine from logs and outputs of tools, with evidence and fix.

    files            logs, outputs of tools (in any mixture), or a folder of them; or the name of a machine (dgx-h100:4)
    live             read this host: /sys, /proc, the environment and NVIDIA's library; changes nothing
    root             read copies of the folders sys and proc below DIR instead of this host
    bundle           write the inputs (and this host with --live) to an archive (.tar, .tar.gz) without names, to send
    fail_on          exit with 1 if a finding is at least this severe: fail (default), warn, note or never
    cluster          the machine of the logs, to predict what each finding costs and to compare logs of NCCL with it
    collective       the collective whose cost is predicted (default: that of the rule, or all_reduce)
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

class SweepAnswer(Answer):
    schema: str
    cells: int
    rows: int
    failed: int
    complete: bool
    database: str
    csv: str
    jsonl: str
    inputs_hash: str
    run: Mapping[str, Any]

def sweep(
    file: Text,
    *,
    out: Text = ...,
    threads: int = ...,
    shard: Text = ...,
    merge: Sequence[Text] | Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> SweepAnswer:
    """One command with many settings, into a database, CSV and JSON lines; can be stopped and resumed.

    file     YAML file with command, grid, list, random (docs/formats/sweep.md)
    out      the database; .csv and .jsonl are written next to it (default: FILE.db)
    threads  cells to run at the same time (default: one per processor)
    shard    only every N-th cell, starting with the I-th: for jobs on several machines
    merge    add the cells of another database of this study, and run nothing; may be repeated
    progress  called as progress(what, done, total); true ends the answer
    time_limit  seconds, after which the answer ends
    """

class NewAnswer(Answer):
    schema: str
    file: str
    picture: str
    board: str
    servers: int
    gpus: int
    fabric: str
    inputs_hash: str
    run: Mapping[str, Any]

def new(
    file: Text = ...,
    *,
    servers: int | None = ...,
    gpu: Text = ...,
    node: Text = ...,
    gpus: int | None = ...,
    nics: int | None = ...,
    fabric: Text = ...,
    network: Text = ...,
    leaf: int | None = ...,
    ratio: Text | None = ...,
    name: Text = ...,
    force: bool = ...,
    catalog: Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> NewAnswer:
    """Write a commented cluster file and its picture, from five questions or from flags.

    file     the file to write; the picture beside it ends in .svg (default: NAME.yaml)
    servers  number of servers
    gpu      its GPUs, e.g. h100-sxm (see catalog gpus); the board is the usual one with them
    node     its board, e.g. dgx-h100 (see catalog nodes)
    gpus     GPUs per server, for boards of cards in slots (default: the board's)
    nics     NICs per server (default: the board's)
    fabric   a kind (leaf-spine, rail-optimised, fat-tree, rail-only, dragonfly, single-switch) or an entry of catalog fabrics (default: the board's)
    network  e.g. roce-400g (see catalog networks; default: that of the board's fabric)
    leaf     NIC ports per leaf (default: what the switch and the ratio give)
    ratio    rate down to rate up of a leaf, 2 or 2:1 (default: the fabric's)
    name     of the cluster (default my-cluster)
    force    replace files that exist
    catalog  read product data from DIR before $BUSBAR_CATALOG and the built-in files
    progress  called as progress(what, done, total); true ends the answer
    time_limit  seconds, after which the answer ends
    """
