// The fields of a request to execute a collective, and of its result.
#include "busbar/collectives/schedule.h"
#include "busbar/questions/bench_question.h"

namespace busbar::questions {
namespace {

bool is_executed_collective(const std::string& word) { return collectives::parse_collective(word).ok(); }

std::vector<Field> bench_fields() {
  using Q = BenchRequest;
  const auto tested = [](Field f, const char* flag, const char* value) {
    return std::move(f).of("As in nccl-tests").spelled(flag).takes(value);
  };
  const auto run = [](Field f, const char* value) { return std::move(f).of("Run").takes(value); };
  return {
      Field("collective", &Q::collective, "",
            "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, all_to_allv, gather, scatter or "
            "send_recv; the names of nccl-tests also work")
          .takes("OP")
          .as_word()
          .known_by(is_executed_collective),
      tested({"min_bytes", &Q::min_bytes, "", "smallest size S; K, M, G are binary (default 8)"}, "-b,--minbytes",
             "SIZE"),
      tested({"max_bytes", &Q::max_bytes, "", "largest size (default 16M)"}, "-e,--maxbytes", "SIZE"),
      tested({"step_factor", &Q::step_factor, "", "factor between sizes (default 2)"}, "-f,--stepfactor", "X"),
      tested({"iters", &Q::iters, "", "timed iterations (default 20)"}, "-n,--iters", "N"),
      tested({"warmup_iters", &Q::warmup_iters, "", "iterations before those (default 5)"}, "-w,--warmup_iters", "N"),
      tested({"check", &Q::check, "", "0: do not check the results (default 1)"}, "-c,--check", "N"),
      tested({"datatype", &Q::datatype, "", "element type (default float): int8 to uint64, half, bfloat16, double"},
             "-d,--datatype", "TYPE"),
      tested({"reduction", &Q::reduction, "", "sum (default), prod, min, max, avg"}, "-o,--op", "OP"),
      run({"ranks", &Q::ranks, "", "number of ranks (default: one per core, at least 2)"}, "N"),
      run({"root", &Q::root, "", "root of broadcast, reduce, gather and scatter (default 0)"}, "RANK"),
      run(Field("pairs", &Q::pairs, "",
                "all_to_allv: CSV of src,dst,bytes; -b and -e scale it by the bytes of the rank that sends most")
              .undecided(),
          "FILE"),
      run(Field("transport", &Q::transport, "",
                "threads of one process, processes that share memory (default shm), or processes whose data go through "
                "sockets (tcp, default with --hosts), UCX or libfabric (ofi), on this host unless --hosts names others")
              .among({"threads", "shm", "tcp", "ucx", "ofi"}),
          "NAME"),
      run({"sockets", &Q::sockets, "", "of --transport tcp: connections per pair of ranks, 1 to 16 (default 1)"}, "N"),
      run(Field("hosts", &Q::hosts, "",
                "a file with a line per rank, HOST:PORT: each rank is a process started by hand with its --rank; under "
                "mpirun and srun this is not needed")
              .undecided(),
          "FILE"),
      run(Field("rank", &Q::rank, "", "of this process among --hosts").undecided(), "N"),
      run(Field("secret_file", &Q::secret_file, "",
                "a file with the secret of the run, 32 hexadecimal digits (default: the variable BUSBAR_SECRET)")
              .undecided(),
          "FILE"),
      run({"algorithm", &Q::algorithm, "",
           "fastest (as predicted for this host; the default), synthesized, ring, tree, ..., or a file: MSCCL XML, "
           "MSCCL++ plan, or GOAL (.goal), whose messages move bytes without adding them up"},
          "NAME|FILE"),
      Field("in_place", &Q::in_place, "",
            "run only in place, with input and output in one buffer (default: first out of place, then in place)")
          .of("Run"),
      run(Field("timeout_s", &Q::timeout_s, "s", "without a step of any rank the run ends (default 30)")
              .spelled("--timeout")
              .undecided(),
          "SECONDS"),
      Field("compare", &Q::compare, "",
            "also the three steps of the largest size whose ends differ most from the simulated ones")
          .of("Output"),
      Field("trace", &Q::trace, "", "write a Perfetto trace of one more run of the largest size, step by step")
          .takes("FILE")
          .of("Files")
          .undecided(),
      Field("emit_cluster", &Q::emit_cluster, "", "write this host, as measured, as a machine that all commands take")
          .takes("FILE.yaml")
          .of("Files")
          .undecided()};
}

}  // namespace

const Record& record_of(const BenchRequest*) {
  static const Record record("bench request", bench_fields());
  return record;
}

const Record& record_of(const BenchHost*) {
  using H = BenchHost;
  static const Record record(
      "host",
      {{"name", &H::name, "", "of this host"},
       {"cores", &H::cores, "", "that this process may use"},
       {"copy_in_cache_GBps", &H::copy_in_cache_GBps, "GB/s", "one core copies between small buffers while all do"},
       {"copy_GBps", &H::copy_GBps, "GB/s", "the same with the largest buffers"},
       {"add_in_cache_GBps", &H::add_in_cache_GBps, "GB/s", "one core adds two small buffers of floats while all do"},
       {"add_GBps", &H::add_GBps, "GB/s", "the same with the largest buffers"},
       {"hop_us", &H::hop_us, "us", "a step of a ring over this transport with next to no data"},
       {"per_message_us", &H::per_message_us, "us", "of a rank that sends or takes in several, each beyond the first"},
       {"run_copy_GBps", &H::run_copy_GBps, "GB/s",
        "a rank takes in while all do, at the largest size: a ring all-gather"},
       {"run_add_GBps", &H::run_add_GBps, "GB/s", "a rank takes in and adds while all do: a ring reduce-scatter"},
       {"run_one_copy_GBps", &H::run_one_copy_GBps, "GB/s", "one rank takes in from all others: a gather"},
       {"kept_message_us", &H::kept_message_us, "us",
        "a message of a gather of next to no data, in which no rank waits for an answer"},
       {"run_kept_copy_GBps", &H::run_kept_copy_GBps, "GB/s",
        "a rank takes in what never changes while others do, so that it may stay in their caches: a scatter"}});
  return record;
}

const Record& record_of(const BenchRow*) {
  using R = BenchRow;
  static const Record record(
      "row", {{"size_bytes", &R::size_bytes, "bytes", "S, as nccl-tests counts it"},
              {"algorithm", &R::algorithm, "", "that was executed"},
              {"measured_us", &R::measured_us, "us", "of one iteration, at the rank that takes longest"},
              {"algbw_GBps", &R::algbw_GBps, "GB/s", "S / time"},
              {"busbw_GBps", &R::busbw_GBps, "GB/s", "as nccl-tests defines it"},
              {"wrong", &R::wrong, "", "elements that are not as they must be; null: not checked"},
              {"in_place_us", &R::in_place_us, "us",
               "the same with input and output in one buffer; null: not run, as of all_to_all and of files"},
              {"in_place_algbw_GBps", &R::in_place_algbw_GBps, "GB/s", "S / that time"},
              {"in_place_busbw_GBps", &R::in_place_busbw_GBps, "GB/s", "likewise"},
              {"in_place_wrong", &R::in_place_wrong, "", "elements; null: not run, or not checked"},
              {"predicted_us", &R::predicted_us, "us", "on the host as measured; null: this cannot be predicted"},
              {"ratio", &R::ratio, "", "measured / predicted"},
              {"bound_by", &R::bound_by, "", "what limits the predicted time"}});
  return record;
}

const Record& record_of(const BenchStep*) {
  using S = BenchStep;
  static const Record record("step", {{"step", &S::step, "", "of the plan that ran"},
                                      {"rank", &S::rank, "", "that performs it"},
                                      {"what", &S::what, "", "copy or add, from and to which rank"},
                                      {"measured_us", &S::measured_us, "us", "its end, since the run began"},
                                      {"simulated_us", &S::simulated_us, "us", "the same, message by message"}});
  return record;
}

const Record& record_of(const BenchResult*) {
  using R = BenchResult;
  static const Record record(
      "bench", {{"collective", &R::collective, "", "that was executed"},
                {"transport", &R::transport, "", "threads, shm, tcp, ucx or ofi"},
                {"datatype", &R::datatype, "", "of elements"},
                {"reduction", &R::reduction, "", "of elements"},
                {"ranks", &R::ranks, "", "their number"},
                {"switches", &R::switches, "", "further threads or processes, which play switches that reduce"},
                {"host", &R::host, "", "as measured before the sizes"},
                {"results", &R::results, "", "one row per size"},
                {"median_error_percent", &R::median_error_percent, "%",
                 "of the predictions, without sign; null: there are none"},
                {"steps", &R::steps, "", "of --compare: whose ends differ most from the simulated ones"},
                {"notes", &R::notes, "", "what to know about these times"},
                {"inputs_hash", &R::inputs_hash, "", "of everything that the request says"}});
  return record;
}

}  // namespace busbar::questions
