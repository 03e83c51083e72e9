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

class CollectiveAnswerResultsRelief(Record):
    what: str
    gain_percent: float
    most_percent: float | None
    next: CollectiveAnswerResultsBoundBy | None

class CollectiveAnswerResultsSimplified(Record):
    what: str
    messages_percent: Rows[int]

class CollectiveAnswerResultsNccl(Record):
    algorithm: str
    protocol: str
    channels: int
    threads: int
    forecast_us: float
    kernel: str | None
    why: str | None

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
    floor_cut: CollectiveAnswerResultsFloorCut
    above_floor_percent: float
    algorithm_floor_us: float
    bound_by: CollectiveAnswerResultsBoundBy
    relief: Rows[CollectiveAnswerResultsRelief]
    ours: str | None
    ours_time_us: float | None
    against_ours_percent: float | None
    warning: str | None

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
    launch: CollectiveAnswerLaunch
    bound_by: CollectiveAnswerResultsBoundBy
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
    registration: Literal['none', 'local', 'symmetric'] = ...,
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
    local_register   1, 2: same as --register local, symmetric
    transport        nscc, dcqcn, hpcc, roce, swift, ib, tcp-cubic, dctcp, credit (default nscc); fluids: with its penalties
    lb               ecmp, spray, adaptive, flowlet (default: the cluster's)
    patience         refuse runs with a longer run time (default 1800) (s)
    env              set a variable of NCCL; may be given several times
    nccl             NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)
    launch           how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), unknown (default: as the machine's file says)
    registration     how the program registers its buffers: none (default), local, or symmetric (windows), for which NCCL has other kernels
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
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    explain          show the gain from improving each kind of link
    progress         called as progress(what, done, total); true ends the answer
    time_limit       seconds, after which the answer ends
    """

class TrainAnswerModelParametersKinds(Record):
    mixer: str
    mlp: str
    layers: int
    parameters: int
    flops_per_token: float
    cache_bytes_per_token: int
    cache_tokens: int
    cache_bytes_per_sequence: int

class TrainAnswerModelParameters(Record):
    total: int
    active: int
    embedding: int
    towers: int
    kinds: Rows[TrainAnswerModelParametersKinds]
    notes: Rows[str]

class TrainAnswerLayoutCompression(Record):
    bytes: float
    exchange: str

class TrainAnswerLayoutStraggler(Record):
    speed: float
    stage: int

class TrainAnswerLayoutOffload(Record):
    optimizer: bool
    activations: bool

class TrainAnswerLayout(Record):
    tp: int
    pp: int
    vpp: int
    dp: int
    cp: int
    ep: int
    expert_tp: int
    expert_exchange: str
    seq: int
    micro_batch: int
    global_batch: int
    global_batch_basis: str
    micro_batches: int
    precision: str
    zero: int
    recompute: str
    sequence_parallel: bool
    shard_ranks: int
    schedule: str
    context: str
    attention: str
    rank_order: str
    chunk_layers: Rows[int]
    compression: TrainAnswerLayoutCompression
    secondary_shards: int
    straggler: TrainAnswerLayoutStraggler
    offload: TrainAnswerLayoutOffload
    stage_speed: Rows[float] | None

class TrainAnswerPenalty(Record):
    transport: str
    lb: str
    fan_in: float
    mean: float
    p99: float
    source: str

class TrainAnswerPackets(Record):
    transport: str
    lb: str
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

class TrainAnswerBreakdownS(Record):
    compute: float
    exposed_tp: float
    exposed_dp: float
    exposed_pp: float
    exposed_cp: float
    exposed_ep: float
    bubble: float
    optimizer: float
    other: float
    slowest_gpu: float

class TrainAnswerBreakdownPs(Record):
    compute: int
    exposed_tp: int
    exposed_dp: int
    exposed_pp: int
    exposed_cp: int
    exposed_ep: int
    bubble: int
    optimizer: int
    other: int
    slowest_gpu: int

class TrainAnswerGradientReduction(Record):
    alone_s: float
    backward_s: float

class TrainAnswerMemoryBytes(Record):
    parameters: int
    gradients: int
    optimizer: int
    activations: int
    logits: int
    gathered: int
    recomputed: int
    temporary: int
    fragmentation: int
    workspace: int
    total: int
    stage: int
    capacity: int | None

class TrainAnswerVolumes(Record):
    class_: str
    collective: str
    ranks: int
    calls_per_gpu: float
    message_bytes: float
    bytes_per_gpu: float
    law: str
    level: str
    links: str

class TrainAnswerJitter(Record):
    gpu_percent: float
    expected_step_s: float
    p10_s: float
    p50_s: float
    p90_s: float
    p99_s: float
    link_delays: float
    slow_gpu_chance: float

class TrainAnswerJobs(Record):
    count: int
    placement: str
    alone_s: float

class TrainAnswerExperts(Record):
    busiest_rank: float
    busiest_rank_p90: float
    dropped: float

class TrainAnswerPlanned(Record):
    because: str
    flags: str

class TrainAnswerLaunch(Record):
    mode: str
    us: float
    host_us_per_gpu: float | None

class TrainAnswerCostUsd(Record):
    per_gpu_hour: float
    price_source: str
    per_step: float
    per_million_tokens: float
    per_day: float
    per_day_per_percent_of_step: float

class TrainAnswerCallsBoundBy(Record):
    link: str | None
    class_: str | None
    phase: str | None
    kind: str | None
    cause: str | None

class TrainAnswerCalls(Record):
    what: str
    class_: str
    collective: str
    algorithm: str
    ranks: int
    groups: int
    size_bytes: int
    count: int
    mean_us: float
    alone_us: float
    slowdown: float
    command: str | None
    total_s: float
    exposed_s: float
    bound_by: TrainAnswerCallsBoundBy

class TrainAnswerRelief(Record):
    what: str
    gain_percent: float

class TrainAnswerGpuHour(Record):
    rented_usd: float | None
    bought_low_usd: float | None
    bought_high_usd: float | None
    bought_complete: bool
    years: float

class TrainAnswerFrom(Record):
    file: str
    program: str
    model: str
    set: Rows[str]
    gpus: int
    harmless: Rows[str]
    unknown: Rows[str]
    notes: Rows[str]

class TrainAnswerIfFree(Record):
    part: str
    step_time_s: float
    saved_s: float

class TrainAnswerLevers(Record):
    what: str
    flag: str
    step_time_s: float
    saved_s: float
    saved_usd_per_day: float

class TrainAnswerWouldFit(Record):
    what: str
    flags: str
    step_time_s: float
    memory_bytes: int
    capacity_bytes: int
    layout: TrainAnswerLayout

class TrainAnswerCompressionsRows(Record):
    gradients: str
    bytes: float
    sent_bytes: float
    kernels_s: float
    exposed_dp_s: float
    step_time_s: float
    gain_percent: float
    pays_below_GBps: float | None
    pays_below_factor: float

class TrainAnswerCompressions(Record):
    varied: str
    rate_GBps: float
    rows: Rows[TrainAnswerCompressionsRows]

class TrainAnswerCheckpoint(Record):
    every_steps: int
    bytes: float
    most_bytes_per_gpu: float
    storage_GBps: float | None
    save_s: float
    load_s: float
    links_save_s: float
    bound_by: str
    copy_s: float
    stop_s: float
    slowed_steps_share: float
    share_of_time: float

class TrainAnswerMeasuredCauses(Record):
    what: str
    factor: float | None
    step_time_s: float
    explained_percent: float
    hint: str

class TrainAnswerMeasuredTraceParts(Record):
    part: str
    measured_s: float
    predicted_s: float
    inside_the_one_above: bool

class TrainAnswerMeasuredTraceCalls(Record):
    class_: str
    collective: str
    times: float
    predicted_times: float
    mean_us: float | None
    fastest_us: float | None
    predicted_us: float | None

class TrainAnswerMeasuredTrace(Record):
    file: str
    rank: int
    steps: int
    step_time_s: float
    shortest_s: float
    longest_s: float
    busy_s: Mapping[str, float]
    parts: Rows[TrainAnswerMeasuredTraceParts]
    calls: Rows[TrainAnswerMeasuredTraceCalls]
    notes: Rows[str]

class TrainAnswerMeasured(Record):
    measured_s: float
    expected_s: float
    gap_percent: float
    in_band: bool
    causes: Rows[TrainAnswerMeasuredCauses]
    trace: TrainAnswerMeasuredTrace | None

class TrainAnswerBeside(Record):
    change: str
    folded: bool
    cluster: str
    gpus: int
    gpus_per_domain: int | None
    spare_gpus: int | None
    model: str
    model_parameters: TrainAnswerModelParameters
    layout: TrainAnswerLayout
    framework: str | None
    framework_release: str | None
    engine: str
    inputs_hash: str
    step_time_s: float
    step_time_ps: int
    balanced_step_time_s: float
    tokens_per_s_per_gpu: float
    model_tflops_per_gpu: float
    model_tflops_per_gpu_full_attention: float
    mfu: float
    mfu_full_attention: float
    mfu_counts: str
    assumptions: Rows[str]
    penalty: TrainAnswerPenalty | None
    step_time_p99_s: float | None
    packets: TrainAnswerPackets | None
    breakdown_s: TrainAnswerBreakdownS
    breakdown_ps: TrainAnswerBreakdownPs
    idle_percent: float
    gradient_reduction: TrainAnswerGradientReduction
    compute_slowed_s: float
    critical_role: str
    memory_bytes: TrainAnswerMemoryBytes
    memory_stages: Rows[TrainAnswerMemoryBytes]
    volumes: Rows[TrainAnswerVolumes]
    jitter: TrainAnswerJitter
    jobs: TrainAnswerJobs | None
    experts: TrainAnswerExperts | None
    planned: TrainAnswerPlanned | None
    fits: bool
    scaling_efficiency: float | None
    nccl: str
    env: Rows[str]
    launch: TrainAnswerLaunch
    cost_usd: TrainAnswerCostUsd
    calls: Rows[TrainAnswerCalls]
    bound_by: TrainAnswerCallsBoundBy
    relief: Rows[TrainAnswerRelief]
    band_percent: Rows[float]
    band_basis: str
    likely_step_s: Rows[float]
    verdict: str

class TrainAnswerPoints(Record):
    change: str
    scaling: str
    gpus: int
    dp: int
    global_batch: int
    step_time_s: float
    tokens_per_s_per_gpu: float
    mfu: float
    efficiency: float
    idle_gpus: float
    tokens_per_s: float
    switch_tiers: int
    faster_because: str | None
    exposed_percent: float
    exposed_dp_percent: float
    idle_percent: float
    usd_per_day_per_percent: float
    breakdown_s: TrainAnswerBreakdownS

class TrainAnswerSkipped(Record):
    change: str
    scaling: str
    gpus: int
    dp: int
    reason: str

class TrainAnswerStopsHidingAtGpus(Record):
    weak: int | None
    strong: int | None

class TrainAnswerBeside2(Record):
    cluster: str
    model: str
    usd_per_gpu_hour: float
    skipped: Rows[TrainAnswerSkipped]
    change: str | None
    stops_hiding_at_gpus: TrainAnswerStopsHidingAtGpus

class TrainAnswerPoints3(Record):
    change: str
    cluster: str
    global_batch: int
    micro_batches: int
    step_time_s: float
    tokens_per_s_per_gpu: float
    mfu: float
    efficiency: float
    exposed_tp_percent: float
    exposed_dp_percent: float
    idle_percent: float
    breakdown_s: TrainAnswerBreakdownS

class TrainAnswerClaims(Record):
    change: str
    cluster: str
    measure: str
    said_of: str
    low_percent: float
    high_percent: float
    holds: bool
    from_batch: int | None
    to_batch: int | None
    reaches_below: bool
    reaches_above: bool
    least_percent: float
    most_percent: float

class TrainAnswerLayouts(Record):
    layout: TrainAnswerLayout
    step_time_s: float | None
    step_time_ps: int | None
    balanced_step_time_s: float | None
    mfu: float | None
    memory_bytes: int
    usd_per_step: float | None
    breakdown_s: TrainAnswerBreakdownS | None
    fits: bool
    no_fit_because: str
    command: str

class TrainAnswerRefused(Record):
    because: str
    combinations: int

class TrainAnswer(Answer):
    schema: str
    cluster: str
    gpus: int
    gpus_per_domain: int | None
    spare_gpus: int | None
    model: str
    model_parameters: TrainAnswerModelParameters
    layout: TrainAnswerLayout
    framework: str | None
    framework_release: str | None
    engine: str
    inputs_hash: str
    step_time_s: float
    step_time_ps: int
    balanced_step_time_s: float
    tokens_per_s_per_gpu: float
    model_tflops_per_gpu: float
    model_tflops_per_gpu_full_attention: float
    mfu: float
    mfu_full_attention: float
    mfu_counts: str
    assumptions: Rows[str]
    penalty: TrainAnswerPenalty | None
    step_time_p99_s: float | None
    packets: TrainAnswerPackets | None
    breakdown_s: TrainAnswerBreakdownS
    breakdown_ps: TrainAnswerBreakdownPs
    idle_percent: float
    gradient_reduction: TrainAnswerGradientReduction
    compute_slowed_s: float
    critical_role: str
    memory_bytes: TrainAnswerMemoryBytes
    memory_stages: Rows[TrainAnswerMemoryBytes]
    volumes: Rows[TrainAnswerVolumes]
    jitter: TrainAnswerJitter
    jobs: TrainAnswerJobs | None
    experts: TrainAnswerExperts | None
    planned: TrainAnswerPlanned | None
    fits: bool
    scaling_efficiency: float | None
    nccl: str
    env: Rows[str]
    launch: TrainAnswerLaunch
    cost_usd: TrainAnswerCostUsd
    calls: Rows[TrainAnswerCalls]
    bound_by: TrainAnswerCallsBoundBy
    relief: Rows[TrainAnswerRelief]
    band_percent: Rows[float]
    band_basis: str
    likely_step_s: Rows[float]
    verdict: str
    gpu_hour: TrainAnswerGpuHour
    from_: TrainAnswerFrom | None
    if_free: Rows[TrainAnswerIfFree]
    levers: Rows[TrainAnswerLevers]
    would_fit: Rows[TrainAnswerWouldFit] | None
    compressions: TrainAnswerCompressions | None
    checkpoint: TrainAnswerCheckpoint | None
    measured: TrainAnswerMeasured | None
    beside: Rows[TrainAnswerBeside] | Rows[TrainAnswerBeside2]
    complete: bool | None | bool
    shortcuts: Rows[str] | None
    run: Mapping[str, Any]
    usd_per_gpu_hour: float
    points: Rows[TrainAnswerPoints] | Rows[TrainAnswerPoints3]
    skipped: Rows[TrainAnswerSkipped]
    change: str | None
    stops_hiding_at_gpus: TrainAnswerStopsHidingAtGpus
    claims: Rows[TrainAnswerClaims]
    claims_source: str
    combinations: int
    timed: int
    no_fit: int
    memory_capacity_bytes: int
    layouts: Rows[TrainAnswerLayouts]
    refused: Rows[TrainAnswerRefused]

def train(
    scenario: Text = ...,
    cluster: Text = ...,
    *,
    model: Text = ...,
    layout: Text = ...,
    framework: Text = ...,
    recipe: Literal['auto', 'none'] = ...,
    tp: int | None = ...,
    tp_list: Text = ...,
    pp: int | None = ...,
    pp_list: Text = ...,
    vpp: int | None = ...,
    vpp_list: Text = ...,
    dp: int | None = ...,
    dp_list: Text = ...,
    cp: int | None = ...,
    cp_list: Text = ...,
    ep: int | None = ...,
    ep_list: Text = ...,
    gpus_per_domain: int | None = ...,
    seq: int | None = ...,
    micro_batch: int | None = ...,
    micro_batch_list: Text = ...,
    global_batch: int | None = ...,
    precision: Literal['bf16', 'fp16', 'fp8', 'fp4', 'int8', None] | None = ...,
    zero: int | None = ...,
    zero_list: Text = ...,
    offload: Literal['optimizer', 'activations', 'both', 'none', None] | None = ...,
    recompute: Literal['none', 'selective', 'full', 'auto', None] | None = ...,
    recompute_list: Text = ...,
    lora_rank: int | None = ...,
    lora_targets: Text | None = ...,
    lora_base: Literal['bf16', 'fp8', 'nf4', 'nvfp4', None] | None = ...,
    optimizer: Literal['adamw', 'sgd', 'lion', 'adafactor', 'muon', None] | None = ...,
    moments: Literal['fp32', 'bf16', 'fp8', 'int8', 'int4', 'nvfp4', None] | None = ...,
    documents: Text | None = ...,
    from_: Text = ...,
    gpus: int = ...,
    beside: Sequence[Text] | Text = ...,
    measured: Text = ...,
    compressions: bool = ...,
    algorithm: Sequence[Text] | Text = ...,
    jobs: int = ...,
    placement: Text = ...,
    jitter: Sequence[Text] | Text = ...,
    stragglers: Text = ...,
    scale: Text = ...,
    scaling: Literal['weak', 'strong', 'both'] = ...,
    batches: Text = ...,
    usd_per_gpu_hour: float = ...,
    brief: bool = ...,
    trace: Text = ...,
    page: bool = ...,
    typed: Text = ...,
    checkpoint_every: int = ...,
    checkpoint_to: Literal['storage', 'nvme'] = ...,
    storage: Text = ...,
    async_: bool = ...,
    async_stop: Text = ...,
    gpudirect_storage: bool = ...,
    transport: Literal['nscc', 'dcqcn', 'hpcc', 'roce', 'swift', 'ib', 'tcp-cubic', 'dctcp', 'credit'] = ...,
    lb: Literal['ecmp', 'spray', 'adaptive', 'flowlet'] = ...,
    patience: float = ...,
    threads: int | None = ...,
    env: Sequence[Text] | Text = ...,
    nccl: Text = ...,
    launch: Literal['graph', 'loop', 'process', 'unknown'] = ...,
    registration: Literal['none', 'local', 'symmetric'] = ...,
    shortcuts_off: Text = ...,
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
) -> TrainAnswer:
    """One training step: time, breakdown, memory, money, and the link that limits it.

    scenario           YAML file that names cluster, model and layout; or the machine
    cluster            preset, NAME:N or file; overrides the scenario's
    model              catalogue name or file; overrides the scenario's
    layout             layout file; overrides the scenario's
    framework          training framework whose defaults hold where no key of the layout is given, e.g. nemo or megatron-bridge:26.06 (default release: the newest); busbar catalog frameworks lists them
    recipe             auto (default): as the framework's recipe for this model and GPU; none: without
    tp                 tensor-parallel degree; or a list
    tp_list            values of tp to try, 2,4,8 or 1..4: every combination of the lists
    pp                 pipeline stages; or a list
    pp_list            values of pp to try, 2,4,8 or 1..4: every combination of the lists
    vpp                model chunks per stage (interleaved 1F1B); or a list
    vpp_list           values of vpp to try, 2,4,8 or 1..4: every combination of the lists
    dp                 data-parallel replicas (default: from the remaining GPUs); or a list
    dp_list            values of dp to try, 2,4,8 or 1..4: every combination of the lists
    cp                 context-parallel degree: ranks that share each sequence; or a list
    cp_list            values of cp to try, 2,4,8 or 1..4: every combination of the lists
    ep                 expert-parallel degree: ranks of TP x CP x DP that share the experts of a layer; or a list
    ep_list            values of ep to try, 2,4,8 or 1..4: every combination of the lists
    gpus_per_domain    GPUs of each server or rack that take part; the others are spares (64 of the 72 of a rack)
    seq                sequence length
    micro_batch        sequences per micro-batch; or a list
    micro_batch_list   values of micro_batch to try, 2,4,8 or 1..4: every combination of the lists
    global_batch       sequences per step (default: as published for the model, else about 4 M tokens)
    precision          bf16, fp16, fp8, fp4 or int8
    zero               shard 1: optimizer, 2: also gradients, 3: also parameters (FSDP); or a list
    zero_list          values of zero to try, 2,4,8 or 1..4: every combination of the lists
    offload            kept in host memory: optimizer states, activations or both
    recompute          none, selective, full, or auto: the least with which the step fits; or a list
    recompute_list     values of recompute to try, 2,4,8 or 1..4: every combination of the lists
    lora_rank          train adapters of this rank; all other weights are frozen
    lora_targets       matrices with an adapter: q_proj,v_proj (default), attention, mlp, all-linear or linear_qkv
    lora_base          frozen weights of layers: bf16, fp8, nf4 (QLoRA) or nvfp4
    optimizer          adamw, sgd, lion, adafactor or muon
    moments            numbers of the optimizer's moments: fp32, bf16, fp8, int8, ...
    documents          tokens of documents that share sequences, each as frequent as the others: 512,2048
    from_              model and layout of a job of Megatron-LM, Megatron-Bridge, NeMo, torchtitan, DeepSpeed, MaxText or PEFT: script, YAML, TOML, JSON or flags; flags override it
    gpus               the first N GPUs, on the servers that hold them; a preset without a size gets as many
    beside             also run the step with these changes, in another column: 'cluster.routing=static unfolded', 'cluster=dgx-b200:64 layout.tp=4'
    measured           a measured step, such as 21s, or a trace of it (Kineto or Chakra, also .gz): where the difference is
    compressions       also the step with gradients in bf16, 8, 4 and 1 bits, top-k and PowerSGD, and the network rate up to which each pays
    algorithm          algorithm of the calls of tp, dp, cp or ep that it can run, e.g. dp=tree, dp=sharp, tp=nvls (default auto)
    jobs               N equal jobs at the same time, each on its share of the nodes (default 1)
    placement          nodes of the jobs: packed (default), interleaved, random or random:SEED
    jitter             links that delay P % of their messages, e.g. node3.nic2=1%x50us: changes the spread of steps
    stragglers         each GPU takes FACTOR times as long in P % of the steps, e.g. 0.01%x1.3: changes the spread of steps
    scale              run the same layout on machines of FROM to TO GPUs, doubling: 8..131072
    scaling            weak (the batch grows), strong (the batch stays) or both (default)
    batches            run the same step with batches of FROM to TO sequences, and check published claims: 64..4096
    usd_per_gpu_hour   price (default: the machine's) (USD)
    brief              leave out the comparison with one replica, which takes another step
    trace              also write a Perfetto trace
    page               also what only a page shows: gain of changes, sizes, the timeline
    typed              the command line, for the commands of rows
    checkpoint_every   also what a checkpoint every STEPS steps costs, over the servers' links and the storage
    checkpoint_to      storage behind the servers' storage NICs (default), or the servers' nvme drives
    storage            rate of the whole storage, e.g. 200GB/s (default 0.65 GB/s per server)
    async_             steps continue while a copy in host memory is written
    async_stop         with --async steps wait at least so long: planning, metadata, a barrier (default 500ms)
    gpudirect_storage  data go between GPUs and drives or storage NICs without a copy in host memory
    transport          nscc, dcqcn, hpcc, roce, swift, ib, tcp-cubic, dctcp, credit (default nscc); fluids: with its penalties
    lb                 ecmp, spray, adaptive, flowlet (default: the cluster's)
    patience           refuse runs with a longer run time (default 1800) (s)
    threads            simulate with N threads; results are equal (default: as many as pay)
    env                set a variable of NCCL; may be given several times
    nccl               NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)
    launch             how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), unknown (default: as the framework: process, or graph with layout.cuda_graphs)
    registration       how the program registers its buffers: none (default), local, or symmetric (windows), for which NCCL has other kernels
    shortcuts_off      compute without these shortcuts, e.g. call-images,bundles, or all; --explain names those taken
    engine             analytic, flow (default) or packet
    set                change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade            reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail               remove links, e.g. leaf3-spine1; globs allowed
    nodes              the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu                product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate    memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog            read product data from DIR before $BUSBAR_CATALOG and the built-in files
    explain            show the gain from improving each kind of link
    progress           called as progress(what, done, total); true ends the answer
    time_limit         seconds, after which the answer ends
    """

class PlanAnswerModelParametersKinds(Record):
    mixer: str
    mlp: str
    layers: int
    parameters: int
    flops_per_token: float
    cache_bytes_per_token: int
    cache_tokens: int
    cache_bytes_per_sequence: int

class PlanAnswerModelParameters(Record):
    total: int
    active: int
    embedding: int
    towers: int
    kinds: Rows[PlanAnswerModelParametersKinds]
    notes: Rows[str]

class PlanAnswerPruned(Record):
    refused: int
    memory: int
    bound: int

class PlanAnswerBestLayoutCompression(Record):
    bytes: float
    exchange: str

class PlanAnswerBestLayoutStraggler(Record):
    speed: float
    stage: int

class PlanAnswerBestLayoutOffload(Record):
    optimizer: bool
    activations: bool

class PlanAnswerBestLayout(Record):
    tp: int
    pp: int
    vpp: int
    dp: int
    cp: int
    ep: int
    expert_tp: int
    expert_exchange: str
    seq: int
    micro_batch: int
    global_batch: int
    global_batch_basis: str
    micro_batches: int
    precision: str
    zero: int
    recompute: str
    sequence_parallel: bool
    shard_ranks: int
    schedule: str
    context: str
    attention: str
    rank_order: str
    chunk_layers: Rows[int]
    compression: PlanAnswerBestLayoutCompression
    secondary_shards: int
    straggler: PlanAnswerBestLayoutStraggler
    offload: PlanAnswerBestLayoutOffload
    stage_speed: Rows[float] | None

class PlanAnswerBestBreakdownS(Record):
    compute: float
    exposed_tp: float
    exposed_dp: float
    exposed_pp: float
    exposed_cp: float
    exposed_ep: float
    bubble: float
    optimizer: float
    other: float
    slowest_gpu: float

class PlanAnswerBestDecidedBy(Record):
    term: str
    best_s: float
    this_s: float
    band_percent: float
    command: str

class PlanAnswerBest(Record):
    layout: PlanAnswerBestLayout
    step_time_s: float
    step_time_ps: int
    balanced_step_time_s: float
    mfu: float
    memory_bytes: int
    usd_per_step: float
    breakdown_s: PlanAnswerBestBreakdownS
    lower_bound_s: float
    tie: bool
    lost_because: str
    command: str
    within_memory_error: bool
    gpus_per_domain: int | None
    decided_by: PlanAnswerBestDecidedBy | None

class PlanAnswerPrograms(Record):
    program: str
    row: int | None
    step_time_s: float | None
    flags: str
    remark: str

class PlanAnswerGpuHour(Record):
    rented_usd: float | None
    bought_low_usd: float | None
    bought_high_usd: float | None
    bought_complete: bool
    years: float

class PlanAnswerLeast(Record):
    layout: PlanAnswerBestLayout
    step_time_s: float
    step_time_ps: int
    balanced_step_time_s: float
    mfu: float
    memory_bytes: int
    usd_per_step: float
    breakdown_s: PlanAnswerBestBreakdownS
    capacity_bytes: int

class PlanAnswerWouldFit(Record):
    what: str
    flags: str
    step_time_s: float
    memory_bytes: int
    capacity_bytes: int
    layout: PlanAnswerBestLayout

class PlanAnswer(Answer):
    schema: str
    cluster: str
    gpus: int
    model: str
    model_parameters: PlanAnswerModelParameters
    engine: str
    inputs_hash: str
    fits: bool
    complete: bool
    searched: int
    pruned: PlanAnswerPruned
    timed: int
    best: PlanAnswerBest | PlanAnswerBest | None
    lower_bound_s: float | float | None
    proven_s: float | float | None
    gap_percent: float | float | None
    tie_percent: float
    capacity_bytes: int
    fixed: Rows[str]
    tied: int
    programs: Rows[PlanAnswerPrograms]
    layouts: Rows[PlanAnswerBest]
    pareto: Rows[PlanAnswerBest]
    pareto_proven: bool
    band_percent: Rows[float]
    band_basis: str
    gpu_hour: PlanAnswerGpuHour
    run: Mapping[str, Any]
    least: PlanAnswerLeast
    would_fit: Rows[PlanAnswerWouldFit]
    verdict: str

def plan(
    cluster: Text = ...,
    model: Text = ...,
    *,
    gpus: int = ...,
    layout: Text = ...,
    framework: Text = ...,
    global_batch: int | None = ...,
    seq: int | None = ...,
    precision: Literal['bf16', 'fp16', 'fp8', 'fp4', 'int8', None] | None = ...,
    offload: Literal['optimizer', 'activations', 'both', 'none', None] | None = ...,
    lora_rank: int | None = ...,
    lora_targets: Text | None = ...,
    lora_base: Literal['bf16', 'fp8', 'nf4', 'nvfp4', None] | None = ...,
    optimizer: Literal['adamw', 'sgd', 'lion', 'adafactor', 'muon', None] | None = ...,
    moments: Literal['fp32', 'bf16', 'fp8', 'int8', 'int4', 'nvfp4', None] | None = ...,
    documents: Text | None = ...,
    tp: Text = ...,
    pp: Text = ...,
    vpp: Text = ...,
    dp: Text = ...,
    cp: Text = ...,
    ep: Text = ...,
    micro_batch: Text = ...,
    zero: Text = ...,
    recompute: Text = ...,
    schedule: Text = ...,
    order: Text = ...,
    gpus_per_domain: Text = ...,
    within: Text = ...,
    gap: float = ...,
    headroom: float = ...,
    threads: int = ...,
    pareto: bool = ...,
    rows: int = ...,
    env: Sequence[Text] | Text = ...,
    nccl: Text = ...,
    launch: Literal['graph', 'loop', 'process', 'unknown'] = ...,
    registration: Literal['none', 'local', 'symmetric'] = ...,
    shortcuts_off: Text = ...,
    engine: Literal['analytic', 'flow'] = ...,
    set: Sequence[Text] | Text = ...,
    degrade: Sequence[Text] | Text = ...,
    fail: Sequence[Text] | Text = ...,
    nodes: int = ...,
    gpu: Text = ...,
    gpu_memory_rate: Text = ...,
    catalog: Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> PlanAnswer:
    """The fastest layout of a model on a machine, with a proof, and why the others are slower.

    cluster          the machine: preset, NAME:N or file; also as the argument CLUSTER
    model            catalogue name or file
    gpus             the first N GPUs, on the servers that hold them; a preset without a size gets as many
    layout           layout file with the keys that the search does not choose
    framework        search what this framework runs, and print its line
    global_batch     sequences per step (default: as published for the model, else about 4 M tokens)
    seq              sequence length (default 4096) (tokens)
    precision        bf16 (default), fp16, fp8, fp4 or int8
    offload          kept in host memory: optimizer states, activations or both
    lora_rank        train adapters of this rank; all other weights are frozen
    lora_targets     matrices with an adapter: q_proj,v_proj (default), attention, mlp, all-linear or linear_qkv
    lora_base        frozen weights of layers: bf16, fp8, nf4 (QLoRA) or nvfp4
    optimizer        adamw, sgd, lion, adafactor or muon
    moments          numbers of the optimizer's moments: fp32, bf16, fp8, int8, ...
    documents        tokens of documents that share sequences, each as frequent as the others: 512,2048
    tp               tensor-parallel degrees to try: 1,2,4 or 1..8 (default all that divide)
    pp               pipeline stages to try
    vpp              model chunks per stage to try
    dp               data-parallel replicas to try
    cp               context-parallel degrees to try
    ep               expert-parallel degrees to try
    micro_batch      sequences per micro-batch to try
    zero             ZeRO degrees to try (default 0..3)
    recompute        kinds to try (default none,selective,full)
    schedule         pipeline schedules to try (default 1f1b,gpipe,zb-h1,zb-v,dualpipe-v)
    order            orders of ranks to try, innermost first, or all (default tp-cp-dp-pp, or the layout's)
    gpus_per_domain  GPUs of each server or rack to use, the others are spares: 64,72 (default all)
    within           stop after this time with the best so far: 500ms (default: when --gap says)
    gap              stop when no layout is faster by more than this (default 3; 0: prove the best) (%)
    headroom         memory of a GPU that stays free (default 5) (%)
    threads          layouts to time at the same time (default 1); changes only the run time
    pareto           also search for the fastest layouts with less memory, in steps of 5 %
    rows             layouts to show (default 10)
    env              set a variable of NCCL; may be given several times
    nccl             NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)
    launch           how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), unknown (default: as the framework: process, or graph with layout.cuda_graphs)
    registration     how the program registers its buffers: none (default), local, or symmetric (windows), for which NCCL has other kernels
    shortcuts_off    compute without these shortcuts, e.g. call-images,bundles, or all; --explain names those taken
    engine           flow (default) or analytic
    set              change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
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
    wiring: str | None
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
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
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
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
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
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    explain          show the gain from improving each kind of link
    progress         called as progress(what, done, total); true ends the answer
    time_limit       seconds, after which the answer ends
    """

class FlowsAnswerFctUs(Record):
    min: float
    p50: float
    p99: float
    max: float

class FlowsAnswerBoundBy(Record):
    link: str | None
    class_: str | None
    phase: str | None
    kind: str | None
    cause: str | None

class FlowsAnswerFctCdf(Record):
    percent: float
    fct_us: float

class FlowsAnswerFctBySizeFctUs(Record):
    mean: float
    p50: float
    p99: float

class FlowsAnswerFctBySize(Record):
    from_bytes: int
    to_bytes: int | None
    flows: int
    fct_us: FlowsAnswerFctBySizeFctUs
    slowdown: FlowsAnswerFctBySizeFctUs | None

class FlowsAnswerPenalties(Record):
    transport: str
    lb: str
    load: float
    crossing: float
    cable_bytes: float
    size_scale: float
    by_size: Rows[FlowsAnswerFctBySizeFctUs]
    source: str

class FlowsAnswerFctWithPenaltiesUs(Record):
    mean: float

class FlowsAnswerJobs(Record):
    file: str
    flows: int
    end_us: float | None

class FlowsAnswerFlowsPartsUs(Record):
    latency: float | None
    transfer: float | None
    sharing: float | None

class FlowsAnswerFlows(Record):
    id: str
    bytes: int
    start_us: float | None
    fct_us: float | None
    parts_us: FlowsAnswerFlowsPartsUs
    held_by: str | None

class FlowsAnswerLinks(Record):
    link: str
    bytes: float
    flows: int
    mean_use_percent: float

class FlowsAnswerFctUs2(Record):
    min: float
    mean: float
    p50: float
    p99: float
    max: float

class FlowsAnswerPackets(Record):
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

class FlowsAnswerLanes(Record):
    lane: int
    data: int
    resent: int
    trimmed: int
    dropped: int
    marked: int
    pauses: int
    paused_us: float

class FlowsAnswerBackground(Record):
    flows: int
    mean_fct_us: float

class FlowsAnswerFlows2(Record):
    id: str
    bytes: int
    start_us: float | None
    fct_us: float | None
    received_us: float | None
    slowdown: float | None
    parts_us: Mapping[str, float]
    resent: int | None
    held_by: str | None | None

class FlowsAnswerLinks2QueueBytes(Record):
    p50: int
    p99: int
    max: int

class FlowsAnswerLinks2(Record):
    link: str
    bytes: int
    mean_use_percent: float
    queue_bytes: FlowsAnswerLinks2QueueBytes
    marks: int | None
    trims: int | None
    drops: int | None
    pauses: int | None
    paused_us: float | None

class FlowsAnswer(Answer):
    schema: str
    cluster: str
    engine: str
    inputs_hash: str
    makespan_us: float
    floor_us: float
    fct_us: FlowsAnswerFctUs | FlowsAnswerFctUs2
    bound_by: FlowsAnswerBoundBy
    band_percent: Rows[float]
    band_basis: str
    events: int
    rate_changes: int
    flows_done: int
    complete: bool
    warning: str | None
    assumptions: Rows[str]
    fct_cdf: Rows[FlowsAnswerFctCdf]
    fct_by_size: Rows[FlowsAnswerFctBySize]
    penalties: FlowsAnswerPenalties | None
    fct_with_penalties_us: FlowsAnswerFctWithPenaltiesUs | None
    jobs: Rows[FlowsAnswerJobs]
    flows: Rows[FlowsAnswerFlows] | Rows[FlowsAnswerFlows2]
    links: Rows[FlowsAnswerLinks] | Rows[FlowsAnswerLinks2]
    links_used: int
    shortcuts: Rows[str] | None
    run: Mapping[str, Any]
    transport: str
    lb: str
    seed: int
    received_us: float
    packet_hops: int
    packets: FlowsAnswerPackets
    lanes: Rows[FlowsAnswerLanes]
    settings: Any
    digest: str
    faults: Rows[str]
    background: FlowsAnswerBackground | None
    stuck: str | None

def flows(
    cluster: Text,
    flows: Text = ...,
    *,
    lb: Literal['ecmp', 'spray', 'adaptive', 'flowlet'] = ...,
    seed: int | None = ...,
    cdf: Text = ...,
    links: int = ...,
    job: Sequence[Text] | Text = ...,
    groups: Text = ...,
    sizes: Text = ...,
    load: float = ...,
    until: Text = ...,
    out: Text = ...,
    transport: Literal['nscc', 'dcqcn', 'hpcc', 'roce', 'swift', 'ib', 'tcp-cubic', 'dctcp', 'credit'] = ...,
    patience: float = ...,
    series: Text = ...,
    interval: Text = ...,
    log: Text = ...,
    log_flows: Text = ...,
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
    page: bool = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> FlowsAnswer:
    """Run a list of flows on a fabric: when each flow ends, and what limits it.

    lb               ecmp (one path per flow, by hash), spray, adaptive, or (packets only) flowlet; default: the cluster's
    seed             seed of the hash of paths, and of random flows (default: the cluster's)
    cdf              write the distribution of completion times: fct_us,percent,slowdown,bytes
    links            number of links to list, fullest first (default 1000)
    job              a further list or trace that runs at the same time, its rank 0 on this GPU (default 0); repeatable
    groups           Chakra traces: ranks of their groups, as JSON: {"1": [0, 1, 2, 3]}
    sizes            random flows in place of a list: websearch, hadoop or FILE.csv (bytes,percent)
    load             of each host's cables, e.g. 0.6; starts are Poisson, destinations uniform
    until            time of the last start (default 1ms)
    out              write all flows, random or of traces, as a list that this command reads
    transport        nscc, dcqcn, hpcc, roce, swift, ib, tcp-cubic, dctcp, credit (default nscc); fluids: with its penalties
    patience         refuse runs with a longer run time (default 1800) (s)
    series           write rates, queues, windows, marks and pauses of links and flows over time
    interval         between the samples of --series (default 10us)
    log              write every event of the flows in --log-flows
    log_flows        flows to log, by their ids, e.g. 3,17
    cut_through      switches forward a packet while it still arrives, if the outgoing link is not faster
    background       further flows (Poisson), e.g. 0.3:websearch@1ms; sizes as --sizes of flows
    fault            down, rate:0.25, loss:0.001, slow:0.5 (receiver) or storm (of pauses), e.g. leaf0-spine1=down@20us..60us; repeatable
    lanes            virtual lanes with these weights, or strict; a flow uses its column lane, jobs take turns
    threads          simulate with N threads; results are equal (default: as many as pay)
    reroute_after    time until switches route around a failed link (default 1ms), or never
    cluster          the machine: preset, NAME:N or file; also as the argument CLUSTER
    flows            id,src,dst,bytes,start_ns,after[,trigger][,lane][,delay_ns], one flow per line; or a GOAL or Chakra trace (PREFIX.0.et), rank r on GPU r
    engine           analytic, flow (default) or packet
    set              change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    explain          show the gain from improving each kind of link
    page             keep what only the pictures of a page need
    progress         called as progress(what, done, total); true ends the answer
    time_limit       seconds, after which the answer ends
    """

class BenchAnswerHost(Record):
    name: str
    cores: int
    copy_in_cache_GBps: float
    copy_GBps: float
    add_in_cache_GBps: float
    add_GBps: float
    hop_us: float
    per_message_us: float
    run_copy_GBps: float
    run_add_GBps: float
    run_one_copy_GBps: float
    kept_message_us: float
    run_kept_copy_GBps: float

class BenchAnswerResults(Record):
    size_bytes: int
    algorithm: str
    measured_us: float
    algbw_GBps: float
    busbw_GBps: float
    wrong: int | None
    in_place_us: float | None
    in_place_algbw_GBps: float | None
    in_place_busbw_GBps: float | None
    in_place_wrong: int | None
    predicted_us: float | None
    ratio: float | None
    bound_by: str | None

class BenchAnswerSteps(Record):
    step: int
    rank: int
    what: str
    measured_us: float
    simulated_us: float

class BenchAnswer(Answer):
    schema: str
    collective: str
    transport: str
    datatype: str
    reduction: str
    ranks: int
    switches: int
    host: BenchAnswerHost
    results: Rows[BenchAnswerResults]
    median_error_percent: float | None
    steps: Rows[BenchAnswerSteps]
    notes: Rows[str]
    inputs_hash: str
    run: Mapping[str, Any]

def bench(
    collective: Text,
    *,
    min_bytes: Text = ...,
    max_bytes: Text = ...,
    step_factor: float = ...,
    iters: int = ...,
    warmup_iters: int = ...,
    check: int = ...,
    datatype: Text = ...,
    reduction: Text = ...,
    ranks: int = ...,
    root: int = ...,
    pairs: Text = ...,
    transport: Literal['threads', 'shm', 'tcp', 'ucx', 'ofi'] = ...,
    sockets: int = ...,
    hosts: Text = ...,
    rank: int | None = ...,
    secret_file: Text = ...,
    algorithm: Text = ...,
    in_place: bool = ...,
    timeout_s: float = ...,
    compare: bool = ...,
    trace: Text = ...,
    emit_cluster: Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> BenchAnswer:
    """Run a collective on this host for real: measured times next to predicted ones, every element checked.

    collective    all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, all_to_allv, gather, scatter or send_recv; the names of nccl-tests also work
    min_bytes     smallest size S; K, M, G are binary (default 8)
    max_bytes     largest size (default 16M)
    step_factor   factor between sizes (default 2)
    iters         timed iterations (default 20)
    warmup_iters  iterations before those (default 5)
    check         0: do not check the results (default 1)
    datatype      element type (default float): int8 to uint64, half, bfloat16, double
    reduction     sum (default), prod, min, max, avg
    ranks         number of ranks (default: one per core, at least 2)
    root          root of broadcast, reduce, gather and scatter (default 0)
    pairs         all_to_allv: CSV of src,dst,bytes; -b and -e scale it by the bytes of the rank that sends most
    transport     threads of one process, processes that share memory (default shm), or processes whose data go through sockets (tcp, default with --hosts), UCX or libfabric (ofi), on this host unless --hosts names others
    sockets       of --transport tcp: connections per pair of ranks, 1 to 16 (default 1)
    hosts         a file with a line per rank, HOST:PORT: each rank is a process started by hand with its --rank; under mpirun and srun this is not needed
    rank          of this process among --hosts
    secret_file   a file with the secret of the run, 32 hexadecimal digits (default: the variable BUSBAR_SECRET)
    algorithm     fastest (as predicted for this host; the default), synthesized, ring, tree, ..., or a file: MSCCL XML, MSCCL++ plan, or GOAL (.goal), whose messages move bytes without adding them up
    in_place      run only in place, with input and output in one buffer (default: first out of place, then in place)
    timeout_s     without a step of any rank the run ends (default 30) (s)
    compare       also the three steps of the largest size whose ends differ most from the simulated ones
    trace         write a Perfetto trace of one more run of the largest size, step by step
    emit_cluster  write this host, as measured, as a machine that all commands take
    progress      called as progress(what, done, total); true ends the answer
    time_limit    seconds, after which the answer ends
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

class ValidateAnswerRows(Record):
    source_id: str | None
    row_id: str | None
    size_bytes: int | None
    predicted: float
    measured: float
    error_percent: float
    unit: str
    node: str
    gpu: str
    several_nodes: bool
    fabric: str
    kind: str
    scored: bool
    how: str
    bound_by: str
    memory_share: float | None
    library: str
    kernels: str | None
    command: str | None
    joined: str | None
    p2p: bool | None
    model: str | None
    layers: str | None
    band_percent: Rows[float] | None
    band_class: str | None
    without_source: float | None

class ValidateAnswerSummaryByBand(Record):
    configurations: int
    rows: int
    median_percent: float
    median_abs_percent: float
    mean_abs_percent: float
    p90_abs_percent: float
    max_abs_percent: float

class ValidateAnswerSummaryBands(Record):
    configurations: int
    rows: int
    coverage_percent: float
    held_percent: float
    median_width_percent: float
    p90_percent: float

class ValidateAnswerSummaryTwins(Record):
    pairs: int
    median_percent: float

class ValidateAnswerSummaryOrder(Record):
    pairs: int
    right: int
    right_percent: float

class ValidateAnswerSummarySweeps(Record):
    sweeps: int
    found: int
    found_percent: float

class ValidateAnswerSummaryLayouts(Record):
    jobs: int
    pairs: int
    p90_percent: float

class ValidateAnswerSummaryAfterOneStep(Record):
    jobs: int
    pairs: int
    before_percent: float
    after_percent: float
    p90_percent: float

class ValidateAnswerSummaryTies(Record):
    jobs: int
    sources: int
    percent: float
    held_percent: float
    tied: float

class ValidateAnswerSummary(Record):
    by_band: Mapping[str, ValidateAnswerSummaryByBand]
    bands: Mapping[str, ValidateAnswerSummaryBands]
    twins: Mapping[str, ValidateAnswerSummaryTwins]
    by_node: Mapping[str, ValidateAnswerSummaryByBand]
    by_fabric: Mapping[str, ValidateAnswerSummaryByBand]
    by_kind: Mapping[str, ValidateAnswerSummaryByBand]
    by_layers: Mapping[str, ValidateAnswerSummaryByBand]
    by_model: Mapping[str, ValidateAnswerSummaryByBand]
    by_node_and_band: Mapping[str, Mapping[str, ValidateAnswerSummaryByBand]]
    order: ValidateAnswerSummaryOrder
    sweeps: ValidateAnswerSummarySweeps
    layouts: ValidateAnswerSummaryLayouts
    after_one_step: ValidateAnswerSummaryAfterOneStep
    ties: ValidateAnswerSummaryTies

class ValidateAnswerWorst(Record):
    configuration: str
    band: str
    error_percent: float
    how: str
    bound_by: str

class ValidateAnswerLeftOutModels(Record):
    model: str
    with_: ValidateAnswerSummaryByBand
    launch_us: float
    without: ValidateAnswerSummaryByBand

class ValidateAnswerLeftOutGpusParts(Record):
    name: str
    with_: ValidateAnswerSummaryByBand
    without: ValidateAnswerSummaryByBand

class ValidateAnswerLeftOutGpus(Record):
    parts: Rows[ValidateAnswerLeftOutGpusParts]
    all: ValidateAnswerLeftOutGpusParts
    measured_percent: Rows[float]

class ValidateAnswerLeftOutConstants(Record):
    constant: str
    of: str
    catalog: float
    fitted: float

class ValidateAnswerLeftOut(Record):
    models: Rows[ValidateAnswerLeftOutModels] | None
    all: ValidateAnswerSummaryByBand | None
    gpus: ValidateAnswerLeftOutGpus | None
    generations: ValidateAnswerLeftOutGpus | None
    frameworks: ValidateAnswerLeftOutGpus | None
    series: ValidateAnswerLeftOutGpus | None
    constants: Rows[ValidateAnswerLeftOutConstants] | None
    never_fitted: ValidateAnswerLeftOutGpusParts | None

class ValidateAnswerOwnTablesLines(Record):
    left_out: str
    sizes: str
    before_percent: float
    after_percent: float
    own_percent: float
    moved_percent: float
    worse_percent: float
    in_band_percent: float
    pairs: int
    machines: int

class ValidateAnswerOwnTables(Record):
    lines: Rows[ValidateAnswerOwnTablesLines]
    carry_over_as_learnt: bool

class ValidateAnswer(Answer):
    schema: str
    file: str
    engine: str
    complete: bool
    rows: Rows[ValidateAnswerRows]
    unsupported: Mapping[str, int]
    libraries: Mapping[str, int]
    summary: ValidateAnswerSummary
    worst: Rows[ValidateAnswerWorst]
    left_out: ValidateAnswerLeftOut | None
    own_tables: ValidateAnswerOwnTables | None
    run: Mapping[str, Any]

def validate(
    file: Text,
    *,
    only: Text = ...,
    leave_out: bool = ...,
    own_table: bool = ...,
    more: Sequence[Text] | Text = ...,
    worst: int = ...,
    env: Sequence[Text] | Text = ...,
    nccl: Text = ...,
    launch: Literal['graph', 'loop', 'process', 'unknown'] = ...,
    registration: Literal['none', 'local', 'symmetric'] = ...,
    shortcuts_off: Text = ...,
    engine: Literal['analytic', 'flow'] = ...,
    set: Sequence[Text] | Text = ...,
    degrade: Sequence[Text] | Text = ...,
    fail: Sequence[Text] | Text = ...,
    nodes: int = ...,
    gpu: Text = ...,
    gpu_memory_rate: Text = ...,
    catalog: Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> ValidateAnswer:
    """Predict every row of a table of measurements and show the errors.

    file             table with the columns of data/measured/README.md
    only             only rows with column=value, !=, > or <; join several by ','
    leave_out        training steps: also leave each GPU, framework, series and model with experts out of the fits
    own_table        collectives: also judge what tables of one's own machine do to its other answers
    more             another table with the same columns; may be given several times
    worst            number of worst cases to list (default 12)
    env              set a variable of NCCL; may be given several times
    nccl             NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)
    launch           how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), unknown (default: as in each row; steps: as their framework)
    registration     how the program registers its buffers: none (default), local, or symmetric (windows), for which NCCL has other kernels
    shortcuts_off    compute without these shortcuts, e.g. call-images,bundles, or all; --explain names those taken
    engine           analytic (default; gives the same as flow, because a row alone shares no links) or flow
    set              change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    progress         called as progress(what, done, total); true ends the answer
    time_limit       seconds, after which the answer ends
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

class RingsAnswerGraphs(Record):
    ring: RingsAnswerGraphsRing | None
    tree: RingsAnswerGraphsRing | None
    nvls: RingsAnswerGraphsRing | None
    collnet_chain: RingsAnswerGraphsRing | None
    collnet_direct: RingsAnswerGraphsRing | None

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
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    explain          show the gain from improving each kind of link
    progress         called as progress(what, done, total); true ends the answer
    time_limit       seconds, after which the answer ends
    """

class ImportAnswerUnknown(Record):
    line: int
    what: str
    count: int

class ImportAnswerTimedResultsBoundBy(Record):
    link: str | None
    class_: str | None
    phase: str | None
    kind: str | None
    cause: str | None

class ImportAnswerTimedResults(Record):
    collective: str
    size_bytes: int
    ranks: int | None
    times: int
    measured_us: float | None
    measured_median_us: float | None
    predicted_us: float
    algorithm: str
    floor_us: float
    above_floor_percent: float | None
    bound_by: ImportAnswerTimedResultsBoundBy

class ImportAnswerTimed(Record):
    cluster: str
    results: Rows[ImportAnswerTimedResults]
    not_timed: Mapping[str, int]
    measured_over_floor: float | None

class ImportAnswerTimed3ChainUs(Record):
    work: float
    transfer: float
    latency: float

class ImportAnswerTimed3(Record):
    cluster: str
    time_us: float
    messages: int
    bytes: int
    algorithm_floor_us: float
    bound_by: ImportAnswerTimedResultsBoundBy
    chain_us: ImportAnswerTimed3ChainUs

class ImportAnswerTimed4ResultsFloorCut(Record):
    kind: str
    name: str

class ImportAnswerTimed4ResultsRelief(Record):
    what: str
    gain_percent: float
    most_percent: float | None
    next: ImportAnswerTimedResultsBoundBy | None

class ImportAnswerTimed4Results(Record):
    size_bytes: int
    time_us: float
    algbw_GBps: float
    busbw_GBps: float
    algorithm: str
    protocol: str
    channels: int
    chunks: int
    floor_us: float
    floor_cut: ImportAnswerTimed4ResultsFloorCut
    above_floor_percent: float
    algorithm_floor_us: float
    bound_by: ImportAnswerTimedResultsBoundBy
    relief: Rows[ImportAnswerTimed4ResultsRelief]
    ours: str | None
    ours_time_us: float | None
    against_ours_percent: float | None
    warning: str | None

class ImportAnswerTimed4(Record):
    cluster: str
    results: Rows[ImportAnswerTimed4Results]

class ImportAnswerFiles(Record):
    file: str
    what: str
    kind: str | None
    found: Any | None
    notes: Rows[str] | None
    unknown: Rows[ImportAnswerUnknown] | None

class ImportAnswer(Answer):
    schema: str
    file: str
    kind: str
    found: Any
    notes: Rows[str]
    unknown: Rows[ImportAnswerUnknown]
    inputs_hash: str
    run: Mapping[str, Any]
    timed: ImportAnswerTimed | ImportAnswerTimed3 | ImportAnswerTimed4
    files: Rows[ImportAnswerFiles]
    log: Any

def import_(
    file: Text,
    cluster: Text = ...,
    *,
    kind: Text = ...,
    rows: Text = ...,
    groups: Text = ...,
    min_bytes: Text = ...,
    max_bytes: Text = ...,
    step_factor: float = ...,
    env: Sequence[Text] | Text = ...,
    nccl: Text = ...,
    launch: Literal['graph', 'loop', 'process', 'unknown'] = ...,
    registration: Literal['none', 'local', 'symmetric'] = ...,
    shortcuts_off: Text = ...,
    set: Sequence[Text] | Text = ...,
    degrade: Sequence[Text] | Text = ...,
    fail: Sequence[Text] | Text = ...,
    nodes: int = ...,
    gpu: Text = ...,
    gpu_memory_rate: Text = ...,
    catalog: Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> ImportAnswer:
    """Identify a file of another program and show its content.

    file             NCCL topology or graph XML, NCCL_DEBUG=INFO log, nccl-tests output or JSON, nvidia-smi topo -m, rocm-smi --showtopo, hwloc XML, ibnetdiscover, iblinkinfo, Slurm topology.conf, MSCCL XML, MSCCL++ plan, GOAL, Chakra trace, Kineto trace; or a folder or an archive of such files
    kind             read the file as this kind, e.g. nccl-log, instead of detecting it
    rows             write the rows of nccl-tests or rccl-tests as CSV
    cluster          time the schedule, messages or collectives of the file on this machine
    groups           ranks of the groups named in a trace, as JSON: {"1": [0, 1, 2, 3]}
    min_bytes        smallest size S (default: from the file)
    max_bytes        largest size (default: from the file)
    step_factor      factor between sizes (default 4)
    env              set a variable of NCCL; may be given several times
    nccl             NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)
    launch           how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), unknown (default: as the machine's file says)
    registration     how the program registers its buffers: none (default), local, or symmetric (windows), for which NCCL has other kernels
    shortcuts_off    compute without these shortcuts, e.g. call-images,bundles, or all; --explain names those taken
    set              change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    progress         called as progress(what, done, total); true ends the answer
    time_limit       seconds, after which the answer ends
    """

class ExpectAnswerRows(Record):
    size_bytes: int
    measured_us: float
    expected_us: float
    low_us: float
    high_us: float
    verdict: str
    how: str
    bound_by: str

class ExpectAnswerPlateau(Record):
    from_bytes: int
    slower_percent: float
    threshold_percent: float

class ExpectAnswerFindingsCandidates(Record):
    rank: int
    rule: str
    part: str | None
    alike: Rows[str]
    factor: float
    confidence: float
    explanation: str
    flags: str
    misfit: float

class ExpectAnswerFindings(Record):
    rule: str
    severity: str
    part: str | None
    candidates: Rows[ExpectAnswerFindingsCandidates]
    explanation: str
    cost_percent: float
    sound_confidence: float

class ExpectAnswerNext(Record):
    tells: str
    command: str

class ExpectAnswerLaunch(Record):
    mode: str
    us: float
    host_us_per_gpu: float | None

class ExpectAnswerFiles(Record):
    file: str
    what: str
    has_results: bool

class ExpectAnswerRows2(Record):
    collective: str
    size_bytes: int
    least_busbw_GBps: float
    expected_busbw_GBps: float
    most_busbw_GBps: float
    expected_us: float
    low_us: float
    high_us: float
    band_percent: Rows[float]
    band_basis: str
    how: str
    bound_by: str

class ExpectAnswerRows3(Record):
    size_bytes: int
    measured_us: float
    baseline_us: float
    change_percent: float
    verdict: str

class ExpectAnswer(Answer):
    schema: str
    cluster: str
    collective: str
    engine: str
    gpus: int
    rows: Rows[ExpectAnswerRows] | Rows[ExpectAnswerRows2] | Rows[ExpectAnswerRows3]
    verdict: str
    why: str
    plateau: ExpectAnswerPlateau
    cluster_proposed: bool
    findings: Rows[ExpectAnswerFindings] | None
    unseen_parts: Rows[str] | None
    next: Rows[ExpectAnswerNext] | None
    nccl: str
    env: Rows[str]
    launch: ExpectAnswerLaunch
    unread: Rows[str]
    assumed: Rows[str]
    files: Rows[ExpectAnswerFiles]
    complete: bool
    inputs_hash: str
    run: Mapping[str, Any]
    baseline: str
    tolerance_percent: float

def expect(
    results: Text = ...,
    cluster: Text = ...,
    *,
    collective: Text = ...,
    gpus: int = ...,
    ranks: Sequence[Text] | Text = ...,
    env: Sequence[Text] | Text = ...,
    nccl: Text = ...,
    launch: Literal['graph', 'loop', 'process', 'unknown'] = ...,
    registration: Literal['none', 'local', 'symmetric'] = ...,
    shortcuts_off: Text = ...,
    engine: Literal['analytic', 'flow'] = ...,
    set: Sequence[Text] | Text = ...,
    degrade: Sequence[Text] | Text = ...,
    fail: Sequence[Text] | Text = ...,
    nodes: int = ...,
    gpu: Text = ...,
    gpu_memory_rate: Text = ...,
    catalog: Text = ...,
    thresholds: bool = ...,
    min_bytes: Text = ...,
    max_bytes: Text = ...,
    step_factor: float = ...,
    baseline: Text = ...,
    tolerance: float = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> ExpectAnswer:
    """Compare measured results with the expected ones, with a verdict per size.

    results          output of nccl-tests, or a CSV with size_bytes and time_us; or a folder or an archive of them
    cluster          the machine: preset, NAME:N or file; also as the argument CLUSTER
    collective       the measured collective (default: as in the file)
    gpus             number of GPUs in the measurement, the first N (default all)
    ranks            instead of -g: the GPUs in the measurement, such as 0,1,8,9 or 0:32:8
    env              set a variable of NCCL; may be given several times
    nccl             NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)
    launch           how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), unknown (default: as in the file, or the machine's own)
    registration     how the program registers its buffers: none (default), local, or symmetric (windows), for which NCCL has other kernels
    shortcuts_off    compute without these shortcuts, e.g. call-images,bundles, or all; --explain names those taken
    engine           flow (default) or analytic
    set              change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    thresholds       print the least acceptable bandwidth by collective and size, instead of results
    min_bytes        smallest size (default 1M)
    max_bytes        largest size (default 16G)
    step_factor      factor between sizes (default 4)
    baseline         compare with other results instead of a machine
    tolerance        ignore smaller changes (default 5) (%)
    progress         called as progress(what, done, total); true ends the answer
    time_limit       seconds, after which the answer ends
    """

class CalibrateAnswerBefore(Record):
    median_abs_percent: float

class CalibrateAnswerTablesUnused(Record):
    size_bytes: Rows[int]
    why: str

class CalibrateAnswerTables(Record):
    file: str
    collective: str
    ranks: int
    sizes: int
    unused: Rows[CalibrateAnswerTablesUnused]

class CalibrateAnswerQuantities(Record):
    what: str
    collective: str
    several_nodes: bool
    percent: float
    low_percent: float
    high_percent: float

class CalibrateAnswerFigures(Record):
    what: str
    keys: Rows[str]
    unit: str
    before: float
    after: float
    source: str

class CalibrateAnswerRows(Record):
    file: str
    collective: str
    ranks: int
    size_bytes: int
    measured_us: float
    before_us: float
    after_us: float

class CalibrateAnswerNext(Record):
    command: str
    ranks: str
    before_percent: float
    after_percent: float

class CalibrateAnswer(Answer):
    schema: str
    cluster: str
    before: CalibrateAnswerBefore
    after: CalibrateAnswerBefore
    share: float
    latency_factor: float
    launch_us: float
    verdict: str
    why: str
    tables: Rows[CalibrateAnswerTables]
    contradictions: Rows[str]
    quantities: Rows[CalibrateAnswerQuantities]
    figures: Rows[CalibrateAnswerFigures]
    rows: Rows[CalibrateAnswerRows]
    next: Rows[CalibrateAnswerNext]
    overlay: str
    inputs_hash: str
    run: Mapping[str, Any]

def calibrate(
    results: Sequence[Text] | Text,
    *,
    cluster: Text = ...,
    collective: Text = ...,
    gpus: int = ...,
    ranks: Sequence[Text] | Text = ...,
    env: Sequence[Text] | Text = ...,
    nccl: Text = ...,
    launch: Literal['graph', 'loop', 'process', 'unknown'] = ...,
    registration: Literal['none', 'local', 'symmetric'] = ...,
    shortcuts_off: Text = ...,
    engine: Literal['analytic', 'flow'] = ...,
    set: Sequence[Text] | Text = ...,
    degrade: Sequence[Text] | Text = ...,
    fail: Sequence[Text] | Text = ...,
    nodes: int = ...,
    gpu: Text = ...,
    gpu_memory_rate: Text = ...,
    catalog: Text = ...,
    overlay: Text = ...,
    job: Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> CalibrateAnswer:
    """Fit a machine to measured results, or report that it is broken.

    results          outputs of nccl-tests or rccl-tests, CSVs with size_bytes and time_us, outputs of p2pBandwidthLatencyTest or perftest, CSVs with the columns train (a line of train) and step_time_s, of one machine; or folders or archives of them
    cluster          the machine: preset, NAME:N or file; also as the argument CLUSTER
    collective       the measured collective (default: as in the file)
    gpus             number of GPUs in the measurement, the first N (default all)
    ranks            instead of -g: the GPUs in the measurement, such as 0,1,8,9 or 0:32:8
    env              set a variable of NCCL; may be given several times
    nccl             NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)
    launch           how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), unknown (default: as in the file, or the machine's own)
    registration     how the program registers its buffers: none (default), local, or symmetric (windows), for which NCCL has other kernels
    shortcuts_off    compute without these shortcuts, e.g. call-images,bundles, or all; --explain names those taken
    engine           flow (default) or analytic
    set              change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    overlay          write the fitted machine as a cluster file
    job              also say what to measure next: the table that narrows this answer most; without the machine
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

class CostAnswerParts(Record):
    group: str
    part: str
    tier: str | None
    count: int
    each_low_usd: float | None
    each_high_usd: float | None
    usd: float | None
    price_in: str | None
    each_power_w: float | None
    power_w: float | None
    power_in: str | None
    length_m: float | None
    source: str | None
    confidence: str | None

class CostAnswerTrainingPerStep(Record):
    usd_low: float | None
    usd_high: float | None
    energy_usd: float | None
    kwh: float | None
    rent_usd: float | None

class CostAnswerTrainingWholeRun(Record):
    usd_low: float | None
    usd_high: float | None
    energy_usd: float | None
    kwh: float | None
    rent_usd: float | None
    tokens: float
    days: float

class CostAnswerTraining(Record):
    step_time_s: float
    balanced_step_time_s: float
    tokens_per_s: float
    mfu: float
    per_step: CostAnswerTrainingPerStep
    per_million_tokens: CostAnswerTrainingPerStep
    whole_run: CostAnswerTrainingWholeRun | None

class CostAnswerPayback(Record):
    usd: float
    saves_percent: float
    months_at_rent: float | None
    months_at_own_cost: float | None

class CostAnswer(Answer):
    schema: str
    gpus: int
    capex_usd: float
    capex_low_usd: float
    capex_high_usd: float
    capex_per_gpu_usd: float | None
    network_usd: float
    network_share: float | None
    complete: bool
    unpriced: Rows[str]
    power_w: float | None
    network_power_w: float | None
    unpowered: Rows[str]
    facility_power_w: float
    energy_kwh_per_year: float
    energy_usd_per_year: float
    usd_per_gpu_hour: float
    usd_per_gpu_hour_low: float
    usd_per_gpu_hour_high: float
    rent_usd_per_gpu_hour: float | None
    rent_usd_per_year: float | None
    usd_per_kwh: float
    pue: float
    years: float
    parts: Rows[CostAnswerParts]
    inputs_hash: str
    training: CostAnswerTraining | None
    payback: CostAnswerPayback | None
    run: Mapping[str, Any]

def cost(
    cluster: Text,
    *,
    prices: Text = ...,
    power_price: float = ...,
    pue: float = ...,
    years: float = ...,
    upgrade: Text = ...,
    saves: float = ...,
    tokens: Text = ...,
    from_: Text = ...,
    model: Text = ...,
    layout: Text = ...,
    framework: Text = ...,
    recipe: Literal['auto', 'none'] = ...,
    tp: int | None = ...,
    pp: int | None = ...,
    vpp: int | None = ...,
    dp: int | None = ...,
    cp: int | None = ...,
    ep: int | None = ...,
    gpus_per_domain: int | None = ...,
    seq: int | None = ...,
    micro_batch: int | None = ...,
    global_batch: int | None = ...,
    precision: Literal['bf16', 'fp16', 'fp8', 'fp4', 'int8', None] | None = ...,
    zero: int | None = ...,
    offload: Literal['optimizer', 'activations', 'both', 'none', None] | None = ...,
    recompute: Literal['none', 'selective', 'full', 'auto', None] | None = ...,
    lora_rank: int | None = ...,
    lora_targets: Text | None = ...,
    lora_base: Literal['bf16', 'fp8', 'nf4', 'nvfp4', None] | None = ...,
    optimizer: Literal['adamw', 'sgd', 'lion', 'adafactor', 'muon', None] | None = ...,
    moments: Literal['fp32', 'bf16', 'fp8', 'int8', 'int4', 'nvfp4', None] | None = ...,
    documents: Text | None = ...,
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
) -> CostAnswer:
    """Parts of a machine with prices and powers: servers, switches, optics, cables, $ per GPU and hour.

    prices           YAML file with your own prices and powers; they replace those of the catalogue
    power_price      price of a kWh in $ (default 0.08) (USD/kWh)
    pue              power of the building over that of the machine (default 1.2)
    years            years over which the purchase is spread (default 4) (years)
    upgrade          price of an upgrade, such as 10M: after how many months it has paid for itself (USD)
    saves            percent of the machine's time that the upgrade saves (%)
    tokens           also days, price and energy of a run of N tokens: 15T, 300B
    from_            model and layout of a job of Megatron-LM, Megatron-Bridge, NeMo, torchtitan, DeepSpeed, MaxText or PEFT: script, YAML, TOML, JSON or flags; flags override it
    model            catalogue name or file; overrides the scenario's
    layout           layout file; overrides the scenario's
    framework        training framework whose defaults hold where no key of the layout is given, e.g. nemo or megatron-bridge:26.06 (default release: the newest); busbar catalog frameworks lists them
    recipe           auto (default): as the framework's recipe for this model and GPU; none: without
    tp               tensor-parallel degree
    pp               pipeline stages
    vpp              model chunks per stage (interleaved 1F1B)
    dp               data-parallel replicas (default: from the remaining GPUs)
    cp               context-parallel degree: ranks that share each sequence
    ep               expert-parallel degree: ranks of TP x CP x DP that share the experts of a layer
    gpus_per_domain  GPUs of each server or rack that take part; the others are spares (64 of the 72 of a rack)
    seq              sequence length
    micro_batch      sequences per micro-batch
    global_batch     sequences per step (default: as published for the model, else about 4 M tokens)
    precision        bf16, fp16, fp8, fp4 or int8
    zero             shard 1: optimizer, 2: also gradients, 3: also parameters (FSDP)
    offload          kept in host memory: optimizer states, activations or both
    recompute        none, selective, full, or auto: the least with which the step fits
    lora_rank        train adapters of this rank; all other weights are frozen
    lora_targets     matrices with an adapter: q_proj,v_proj (default), attention, mlp, all-linear or linear_qkv
    lora_base        frozen weights of layers: bf16, fp8, nf4 (QLoRA) or nvfp4
    optimizer        adamw, sgd, lion, adafactor or muon
    moments          numbers of the optimizer's moments: fp32, bf16, fp8, int8, ...
    documents        tokens of documents that share sequences, each as frequent as the others: 512,2048
    cluster          the machine: preset, NAME:N or file; also as the argument CLUSTER
    set              change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    explain          show the sources of the prices
    progress         called as progress(what, done, total); true ends the answer
    time_limit       seconds, after which the answer ends
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
    symptom: bool
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

class DoctorAnswerFirstFailure(Record):
    who: str
    time: str
    file: str
    line: int
    text: str

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
    assumed: Rows[str]
    findings: Rows[DoctorAnswerTablesFindings] | None
    unseen_parts: Rows[str] | None
    next: Rows[DoctorAnswerTablesNext] | None

class DoctorAnswer(Answer):
    schema: str
    findings: Rows[DoctorAnswerFindings]
    first_failure: DoctorAnswerFirstFailure | None
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
    bundle_full: bool = ...,
    verbose: bool = ...,
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
    bundle_full      with --bundle: keep all lines in the archive, also those that no rule reads; they may hold names and secrets
    verbose          explain notes next to faults, and list all rules that could not be judged with what to provide
    fail_on          exit with 1 if a finding is at least this severe: fail (default), warn, note or never
    cluster          the machine of the logs, to predict what each finding costs and to compare logs of NCCL with it
    collective       the collective whose cost is predicted (default: that of the rule, or all_reduce)
    set              change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail             remove links, e.g. leaf3-spine1; globs allowed
    nodes            the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu              product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate  memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog          read product data from DIR before $BUSBAR_CATALOG and the built-in files
    progress         called as progress(what, done, total); true ends the answer
    time_limit       seconds, after which the answer ends
    """

class SurviveAnswerLost(Record):
    checkpoint: float
    restart: float
    rework: float
    slower: float

class SurviveAnswerGpuHour(Record):
    rented_usd: float | None
    bought_low_usd: float | None
    bought_high_usd: float | None
    bought_complete: bool
    years: float

class SurviveAnswerCheckpoint(Record):
    bytes: float
    storage_GBps: float | None
    write_s: float
    links_save_s: float
    bound_by: str
    stop_s: float
    interval_s: float
    interval_steps: float
    young_interval_s: float

class SurviveAnswerRecoveryS(Record):
    detect: float
    restart: float
    load: float

class SurviveAnswerSpareCubes(Record):
    cubes: int
    spares: int
    switching_s: float
    initialisation_s: float
    events_per_day: float
    event_s: float
    event_usd: float | None

class SurviveAnswerSlowServers(Record):
    chance: float
    step_time_s: float

class SurviveAnswerCauses(Record):
    name: str
    part: str
    parts: int
    events_per_part_year: float
    events_per_day: float
    share: float
    network: bool
    source: str

class SurviveAnswerLevers(Record):
    what: str
    goodput: float

class SurviveAnswerPolicies(Record):
    name: str
    restart_s: float
    goodput: float
    spare_servers: int
    paid_per_useful: float

class SurviveAnswerLayoutCompression(Record):
    bytes: float
    exchange: str

class SurviveAnswerLayoutStraggler(Record):
    speed: float
    stage: int

class SurviveAnswerLayoutOffload(Record):
    optimizer: bool
    activations: bool

class SurviveAnswerLayout(Record):
    tp: int
    pp: int
    vpp: int
    dp: int
    cp: int
    ep: int
    expert_tp: int
    expert_exchange: str
    seq: int
    micro_batch: int
    global_batch: int
    global_batch_basis: str
    micro_batches: int
    precision: str
    zero: int
    recompute: str
    sequence_parallel: bool
    shard_ranks: int
    schedule: str
    context: str
    attention: str
    rank_order: str
    chunk_layers: Rows[int]
    compression: SurviveAnswerLayoutCompression
    secondary_shards: int
    straggler: SurviveAnswerLayoutStraggler
    offload: SurviveAnswerLayoutOffload
    stage_speed: Rows[float] | None

class SurviveAnswerRows(Record):
    part: str
    kind: str
    alike: int
    state: str
    time_s: float | None
    cost_percent: float | None
    ends_job: bool
    switch_off: bool
    lost_h: float | None
    why_not: str | None

class SurviveAnswer(Answer):
    schema: str
    fits: bool
    goodput: float
    goodput_low: float
    goodput_high: float
    interruptions_per_day: float
    mtti_h: float
    network_share: float
    lost: SurviveAnswerLost
    lost_usd_per_day: float | None
    gpu_hour: SurviveAnswerGpuHour
    checkpoint: SurviveAnswerCheckpoint
    recovery_s: SurviveAnswerRecoveryS
    spare_servers: int
    servers_in_repair: float
    spare_cubes: SurviveAnswerSpareCubes | None
    slow_servers: SurviveAnswerSlowServers
    step_time_s: float
    run_days: float | None
    run_usd: float | None
    failures: str
    causes: Rows[SurviveAnswerCauses]
    levers: Rows[SurviveAnswerLevers]
    policies: Rows[SurviveAnswerPolicies]
    layout: SurviveAnswerLayout
    rows: Rows[SurviveAnswerRows] | None | Rows[SurviveAnswerRows]
    complete: bool | None | bool
    engine: str
    inputs_hash: str
    run: Mapping[str, Any]
    time_s: float

def survive(
    scenario: Text = ...,
    cluster: Text = ...,
    *,
    from_: Text = ...,
    model: Text = ...,
    layout: Text = ...,
    framework: Text = ...,
    recipe: Literal['auto', 'none'] = ...,
    tp: int | None = ...,
    pp: int | None = ...,
    vpp: int | None = ...,
    dp: int | None = ...,
    cp: int | None = ...,
    ep: int | None = ...,
    gpus_per_domain: int | None = ...,
    seq: int | None = ...,
    micro_batch: int | None = ...,
    global_batch: int | None = ...,
    precision: Literal['bf16', 'fp16', 'fp8', 'fp4', 'int8', None] | None = ...,
    zero: int | None = ...,
    offload: Literal['optimizer', 'activations', 'both', 'none', None] | None = ...,
    recompute: Literal['none', 'selective', 'full', 'auto', None] | None = ...,
    lora_rank: int | None = ...,
    lora_targets: Text | None = ...,
    lora_base: Literal['bf16', 'fp8', 'nf4', 'nvfp4', None] | None = ...,
    optimizer: Literal['adamw', 'sgd', 'lion', 'adafactor', 'muon', None] | None = ...,
    moments: Literal['fp32', 'bf16', 'fp8', 'int8', 'int4', 'nvfp4', None] | None = ...,
    documents: Text | None = ...,
    gpus: int = ...,
    parts: bool = ...,
    for_: Text = ...,
    size: Text = ...,
    failures: Text = ...,
    detect: Text = ...,
    watchdog: Text = ...,
    restart: Text = ...,
    hot_restart: Text = ...,
    silent_after: Text = ...,
    failover: bool = ...,
    interval: Text = ...,
    repair_hours: float = ...,
    slow_servers: Text = ...,
    tokens: Text = ...,
    usd_per_gpu_hour: float = ...,
    checkpoint_to: Literal['storage', 'nvme'] = ...,
    storage: Text = ...,
    async_: bool = ...,
    async_stop: Text = ...,
    gpudirect_storage: bool = ...,
    env: Sequence[Text] | Text = ...,
    nccl: Text = ...,
    launch: Literal['graph', 'loop', 'process', 'unknown'] = ...,
    registration: Literal['none', 'local', 'symmetric'] = ...,
    shortcuts_off: Text = ...,
    engine: Literal['analytic', 'flow'] = ...,
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
) -> SurviveAnswer:
    """What failures cost: interruptions, checkpoint interval, goodput, spare servers, lost or slow parts.

    scenario           YAML file that names cluster, model and layout; or the machine
    from_              model and layout of a job of Megatron-LM, Megatron-Bridge, NeMo, torchtitan, DeepSpeed, MaxText or PEFT: script, YAML, TOML, JSON or flags; flags override it
    cluster            preset, NAME:N or file; overrides the scenario's
    model              catalogue name or file; overrides the scenario's
    layout             layout file; overrides the scenario's
    framework          training framework whose defaults hold where no key of the layout is given, e.g. nemo or megatron-bridge:26.06 (default release: the newest); busbar catalog frameworks lists them
    recipe             auto (default): as the framework's recipe for this model and GPU; none: without
    tp                 tensor-parallel degree
    pp                 pipeline stages
    vpp                model chunks per stage (interleaved 1F1B)
    dp                 data-parallel replicas (default: from the remaining GPUs)
    cp                 context-parallel degree: ranks that share each sequence
    ep                 expert-parallel degree: ranks of TP x CP x DP that share the experts of a layer
    gpus_per_domain    GPUs of each server or rack that take part; the others are spares (64 of the 72 of a rack)
    seq                sequence length
    micro_batch        sequences per micro-batch
    global_batch       sequences per step (default: as published for the model, else about 4 M tokens)
    precision          bf16, fp16, fp8, fp4 or int8
    zero               shard 1: optimizer, 2: also gradients, 3: also parameters (FSDP)
    offload            kept in host memory: optimizer states, activations or both
    recompute          none, selective, full, or auto: the least with which the step fits
    lora_rank          train adapters of this rank; all other weights are frozen
    lora_targets       matrices with an adapter: q_proj,v_proj (default), attention, mlp, all-linear or linear_qkv
    lora_base          frozen weights of layers: bf16, fp8, nf4 (QLoRA) or nvfp4
    optimizer          adamw, sgd, lion, adafactor or muon
    moments            numbers of the optimizer's moments: fp32, bf16, fp8, int8, ...
    documents          tokens of documents that share sequences, each as frequent as the others: 512,2048
    gpus               the first N GPUs, on the servers that hold them; a preset without a size gets as many
    parts              also the step without one part of each kind, and with that part at half rate, worst first
    for_               instead of a step: a collective over all GPUs with parts lost or slow, e.g. all_reduce
    size               its size (default 1G)
    failures           failure rates: an entry of the catalogue (busbar catalog failures) or a file (default llama3)
    detect             from a crash until the job is ended (default 30s)
    watchdog           until a collective that hangs ends the job (default 600s)
    restart            scheduling and initialisation, without loading (default 300s)
    hot_restart        initialisation alone, on spare servers that wait started (default 60s)
    silent_after       from silent corruption until it is noticed; all steps since are lost (default 0s)
    failover           failures of NICs, cables and switches do not end the job: collectives go on over other paths
    interval           useful time between checkpoints (default: Daly's optimum)
    repair_hours       time to repair a server after a hardware fault (default 24)
    slow_servers       share of servers that compute slower unnoticed, and how much (default 0.5%x1.1)
    tokens             length of the run, e.g. 15T: days and price
    usd_per_gpu_hour   price (default: the machine's)
    checkpoint_to      storage behind the servers' storage NICs (default), or the servers' nvme drives
    storage            rate of the whole storage, e.g. 200GB/s (default 0.65 GB/s per server)
    async_             steps continue while a copy in host memory is written
    async_stop         with --async steps wait at least so long: planning, metadata, a barrier (default 500ms)
    gpudirect_storage  data go between GPUs and drives or storage NICs without a copy in host memory
    env                set a variable of NCCL; may be given several times
    nccl               NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)
    launch             how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), unknown (default: as the framework: process, or graph with layout.cuda_graphs)
    registration       how the program registers its buffers: none (default), local, or symmetric (windows), for which NCCL has other kernels
    shortcuts_off      compute without these shortcuts, e.g. call-images,bundles, or all; --explain names those taken
    engine             flow (default) or analytic
    set                change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade            reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
    fail               remove links, e.g. leaf3-spine1; globs allowed
    nodes              the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it
    gpu                product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)
    gpu_memory_rate    memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels
    catalog            read product data from DIR before $BUSBAR_CATALOG and the built-in files
    explain            show the sources of the failure rates
    progress           called as progress(what, done, total); true ends the answer
    time_limit         seconds, after which the answer ends
    """

class CompareAnswerRowsLayoutCompression(Record):
    bytes: float
    exchange: str

class CompareAnswerRowsLayoutStraggler(Record):
    speed: float
    stage: int

class CompareAnswerRowsLayoutOffload(Record):
    optimizer: bool
    activations: bool

class CompareAnswerRowsLayout(Record):
    tp: int
    pp: int
    vpp: int
    dp: int
    cp: int
    ep: int
    expert_tp: int
    expert_exchange: str
    seq: int
    micro_batch: int
    global_batch: int
    global_batch_basis: str
    micro_batches: int
    precision: str
    zero: int
    recompute: str
    sequence_parallel: bool
    shard_ranks: int
    schedule: str
    context: str
    attention: str
    rank_order: str
    chunk_layers: Rows[int]
    compression: CompareAnswerRowsLayoutCompression
    secondary_shards: int
    straggler: CompareAnswerRowsLayoutStraggler
    offload: CompareAnswerRowsLayoutOffload
    stage_speed: Rows[float] | None

class CompareAnswerRowsTransport(Record):
    transport: str
    lb: str
    fan_in: float
    mean: float
    p99: float
    source: str
    step_low_s: float
    step_high_s: float

class CompareAnswerRowsPacketsCauses(Record):
    cause: str
    title: str
    added_s: float
    percent: float
    share_percent: float

class CompareAnswerRowsPacketsSamples(Record):
    purpose: str
    connections: int
    between_leaves: int
    leaves: int
    leaves_of_machine: int
    times_as_long: float
    pauses: float

class CompareAnswerRowsPackets(Record):
    transport: str
    paths: str
    even_s: float
    tuned_s: float
    low_s: float
    high_s: float
    causes: Rows[CompareAnswerRowsPacketsCauses]
    samples: Rows[CompareAnswerRowsPacketsSamples]
    source: str

class CompareAnswerRowsBreakdownS(Record):
    compute: float
    exposed_tp: float
    exposed_dp: float
    exposed_pp: float
    exposed_cp: float
    exposed_ep: float
    bubble: float
    optimizer: float
    other: float
    slowest_gpu: float

class CompareAnswerRowsWholeRun(Record):
    usd_low: float | None
    usd_high: float | None
    energy_usd: float | None
    kwh: float | None
    rent_usd: float | None
    tokens: float
    days: float

class CompareAnswerRows(Record):
    variant: str
    machine: str
    fabric: str | None
    change: str | None
    network: str | None
    wiring: str | None
    gpus: int
    gpus_bought: int
    layout: CompareAnswerRowsLayout
    layout_searched: bool
    fits: bool
    step_time_s: float
    step_time_ps: int
    balanced_step_time_s: float
    time_percent_more: float
    tokens_per_s: float
    tokens_per_s_per_gpu: float
    mfu: float
    exposed_percent: float
    transport: CompareAnswerRowsTransport | None
    packets: CompareAnswerRowsPackets | None
    ties_with: Rows[str]
    equal_by_construction_with: Rows[str]
    capex_usd: float | None
    capex_low_usd: float | None
    capex_high_usd: float | None
    network_usd: float | None
    complete: bool
    power_w: float
    usd_per_million_tokens_low: float | None
    usd_per_million_tokens_high: float | None
    rent_usd_per_million_tokens: float | None
    kwh_per_million_tokens: float | None
    command: str | None
    breakdown_s: CompareAnswerRowsBreakdownS
    whole_run: CompareAnswerRowsWholeRun | None
    band_percent: Rows[float]
    band_basis: str

class CompareAnswerCrossingRows(Record):
    value: float
    tokens_per_s: float

class CompareAnswerCrossing(Record):
    key: str
    unit: str
    machine: str
    gpus: int
    against: str
    against_gpus: int
    against_tokens_per_s: float
    value: float | None
    answer: str
    rows: Rows[CompareAnswerCrossingRows]

class CompareAnswerRows3(Record):
    machine: str
    fabric: str | None
    gpus: int
    asked_algorithm: str
    size_bytes: int
    refused: str | None
    time_us: float | None
    busbw_GBps: float | None
    how: str | None
    limit: str | None
    packets: CompareAnswerRowsPackets | None
    capex_usd: float | None | None
    power_w: float | None
    band_percent: Rows[float]
    band_basis: str | None

class CompareAnswerRows4(Record):
    name: str
    entry: str
    year: int
    lanes: int
    GBps_per_direction: float
    GBps_both_directions: float
    copies_GBps: float | None
    times_pcie5_x16: float

class CompareAnswerRows5(Record):
    name: str
    medium: str
    rate_Gbps: float
    reach_m: float
    power_w: float | None
    pj_per_bit: float | None
    sold_as: str
    usd_low: float | None
    usd_high: float | None

class CompareAnswer(Answer):
    schema: str
    model: str
    global_batch: int
    global_batch_basis: str
    engine: str
    usd_per_kwh: float
    pue: float
    years: float
    inputs_hash: str
    rows: Rows[CompareAnswerRows] | Rows[CompareAnswerRows3] | Rows[CompareAnswerRows4] | Rows[CompareAnswerRows5]
    complete: bool
    run: Mapping[str, Any]
    crossing: CompareAnswerCrossing
    collective: str
    of: str

def compare(
    machines: Sequence[Text] | Text = ...,
    *,
    cluster: Sequence[Text] | Text = ...,
    scenario: Text = ...,
    from_: Text = ...,
    gpus: int = ...,
    fabrics: Text = ...,
    shapes: int = ...,
    variant: Sequence[Text] | Text = ...,
    crossing: Text = ...,
    tokens: Text = ...,
    min_bytes: Text = ...,
    max_bytes: Text = ...,
    step_factor: float = ...,
    algorithms: Text = ...,
    scale: Text = ...,
    model: Text = ...,
    layout: Text = ...,
    framework: Text = ...,
    recipe: Literal['auto', 'none'] = ...,
    tp: int | None = ...,
    pp: int | None = ...,
    vpp: int | None = ...,
    dp: int | None = ...,
    cp: int | None = ...,
    ep: int | None = ...,
    gpus_per_domain: int | None = ...,
    seq: int | None = ...,
    micro_batch: int | None = ...,
    global_batch: int | None = ...,
    precision: Literal['bf16', 'fp16', 'fp8', 'fp4', 'int8', None] | None = ...,
    zero: int | None = ...,
    offload: Literal['optimizer', 'activations', 'both', 'none', None] | None = ...,
    recompute: Literal['none', 'selective', 'full', 'auto', None] | None = ...,
    lora_rank: int | None = ...,
    lora_targets: Text | None = ...,
    lora_base: Literal['bf16', 'fp8', 'nf4', 'nvfp4', None] | None = ...,
    optimizer: Literal['adamw', 'sgd', 'lion', 'adafactor', 'muon', None] | None = ...,
    moments: Literal['fp32', 'bf16', 'fp8', 'int8', 'int4', 'nvfp4', None] | None = ...,
    documents: Text | None = ...,
    prices: Text = ...,
    power_price: float = ...,
    pue: float = ...,
    years: float = ...,
    env: Sequence[Text] | Text = ...,
    nccl: Text = ...,
    launch: Literal['graph', 'loop', 'process', 'unknown'] = ...,
    registration: Literal['none', 'local', 'symmetric'] = ...,
    shortcuts_off: Text = ...,
    engine: Literal['analytic', 'flow'] = ...,
    set: Sequence[Text] | Text = ...,
    degrade: Sequence[Text] | Text = ...,
    fail: Sequence[Text] | Text = ...,
    nodes: int = ...,
    gpu: Text = ...,
    gpu_memory_rate: Text = ...,
    catalog: Text = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> CompareAnswer:
    """Machines and fabrics side by side: step, MFU, price, power, $ per token, and what is a tie.

    machines         machines: presets, NAME:N or files, and maybe a collective; or `links`, or `optics`
    cluster          one of the machines, as the argument CLUSTER; may be repeated
    scenario         model and layout of this file, on the machines named
    from_            model and layout of a job of Megatron-LM, Megatron-Bridge, NeMo, torchtitan, DeepSpeed, MaxText or PEFT: script, YAML, TOML, JSON or flags; flags override it
    gpus             the first N GPUs, on the servers that hold them; a preset without a size gets as many
    fabrics          each machine with each of these: ib, roce, roce-untuned, spectrum-x, uec, tcp, rail-only, leaf-spine, fat-tree, dragonfly, photonics, names of catalog fabrics, or ratios such as 2:1 and fat-tree-4:1
    shapes           every torus of N chips that the optical switches of each machine can wire: which shape is best
    variant          each machine again with these changes: 'layout.pp=4 layout.zero=3'; may be repeated
    crossing         from which value of a key the first machine is as fast as the second: node.links[1].rate=20..450GB/s
    tokens           also days, price and energy of a run of N tokens: 15T, 300B
    min_bytes        smallest size of the collective (default 1G)
    max_bytes        largest size (default: the smallest)
    step_factor      factor between sizes (default 2)
    algorithms       each machine with each of these: ring,tree,nvls (default auto)
    scale            with FROM to TO GPUs, doubling: which algorithm wins where (default: those that libraries run the collective by)
    model            catalogue name or file; overrides the scenario's
    layout           layout file; without any layout, a search finds one per machine
    framework        training framework whose defaults hold where no key of the layout is given, e.g. nemo or megatron-bridge:26.06 (default release: the newest); busbar catalog frameworks lists them
    recipe           auto (default): as the framework's recipe for this model and GPU; none: without
    tp               tensor-parallel degree
    pp               pipeline stages
    vpp              model chunks per stage (interleaved 1F1B)
    dp               data-parallel replicas (default: from the remaining GPUs)
    cp               context-parallel degree: ranks that share each sequence
    ep               expert-parallel degree: ranks of TP x CP x DP that share the experts of a layer
    gpus_per_domain  GPUs of each server or rack that take part; the others are spares (64 of the 72 of a rack)
    seq              sequence length
    micro_batch      sequences per micro-batch
    global_batch     sequences per step (default: as published for the model, else about 4 M tokens)
    precision        bf16, fp16, fp8, fp4 or int8
    zero             shard 1: optimizer, 2: also gradients, 3: also parameters (FSDP)
    offload          kept in host memory: optimizer states, activations or both
    recompute        none, selective, full, or auto: the least with which the step fits
    lora_rank        train adapters of this rank; all other weights are frozen
    lora_targets     matrices with an adapter: q_proj,v_proj (default), attention, mlp, all-linear or linear_qkv
    lora_base        frozen weights of layers: bf16, fp8, nf4 (QLoRA) or nvfp4
    optimizer        adamw, sgd, lion, adafactor or muon
    moments          numbers of the optimizer's moments: fp32, bf16, fp8, int8, ...
    documents        tokens of documents that share sequences, each as frequent as the others: 512,2048
    prices           YAML file with your own prices and powers; they replace those of the catalogue
    power_price      price of a kWh in $ (default 0.08) (USD/kWh)
    pue              power of the building over that of the machine (default 1.2)
    years            years over which the purchase is spread (default 4) (years)
    env              set a variable of NCCL; may be given several times
    nccl             NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)
    launch           how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), unknown (default: as the framework: process, or graph with layout.cuda_graphs)
    registration     how the program registers its buffers: none (default), local, or symmetric (windows), for which NCCL has other kernels
    shortcuts_off    compute without these shortcuts, e.g. call-images,bundles, or all; --explain names those taken
    engine           flow (default) or analytic
    set              change one key of the cluster file, e.g. fabric.oversubscription=2
    degrade          reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs allowed
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
    cells_left: int | None
    shard: str | None
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
    cells_left: bool = ...,
    progress: Progress | None = ...,
    time_limit: float | None = ...,
) -> SweepAnswer:
    """One command with many settings, into a database, CSV and JSON lines; can be stopped and resumed.

    file        YAML file with command, grid, list, random (docs/formats/sweep.md)
    out         the database; .csv and .jsonl are written next to it (default: FILE.db)
    threads     cells to run at the same time (default: one per processor)
    shard       only every N-th cell, starting with the I-th: for jobs on several machines; auto: as Slurm, MPI or Kubernetes number this process
    merge       add the cells of another database of this study, and run nothing; a pattern such as 'part*.db' names several; may be repeated
    cells_left  only say how many cells are not done, and end with status 1 if there are any
    progress    called as progress(what, done, total); true ends the answer
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
