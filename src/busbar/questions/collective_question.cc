#include "busbar/questions/collective_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/predict/packet_words.h"
#include "busbar/predict/penalties.h"
#include "busbar/predict/rank_groups.h"
#include "busbar/questions/schedule_files.h"
#include "busbar/questions/sweep.h"
#include "busbar/questions/tuner_csv.h"
#include "busbar/step/machine.h"

namespace busbar::questions {
namespace {

/// Which library chooses algorithms: "nccl", "rccl", "as NCCL 2.30 chooses".
struct AlgorithmChoice {
  std::string name, words;
};

AlgorithmChoice choice_of(const CollectiveRequest& q, predict::Predictor& machine,
                          const collectives::GroupFamily& groups) {
  if (q.algorithm == "fastest") return {q.algorithm, "the fastest legal ones"};
  if (q.algorithm == "all") return {q.algorithm, "every legal one"};
  if (q.algorithm != "auto") return {"given", "as given"};
  const std::string library = machine.library(groups);
  const char* name = library.empty() ? "fastest" : library == "RCCL" ? "rccl" : "nccl";
  return {name, machine.words_of_auto(groups)};
}

/// The algorithms to time; `words` receives those left out of "all".
std::vector<std::string> algorithms_of(const CollectiveRequest& q, const program::CollectiveCall& call,
                                       const predict::Predictor& machine, std::string& words) {
  if (q.algorithm != "all") return {q.algorithm};
  choice::LegalAlgorithms legal = machine.legal(call);
  words = "every legal one";
  for (const std::string& name : legal.left_out) words += (name == legal.left_out[0] ? ", without " : ", ") + name;
  return std::move(legal.names);
}

Result<packet::PacketOptions> packets_of(const CollectiveRequest& q, const spec::Cluster& cluster,
                                         const Context& context) {
  PacketRun words = q.packets;
  BUSBAR_ASSIGN(packet::PacketOptions out, packet_options_of(words, q.extras, q.seed, cluster, q.machine, context));
  if (q.compute_jitter.empty()) return out;
  const Result<Duration> mean = parse_duration(q.compute_jitter);
  if (!mean.ok()) return invalid(mean.error().message, field_of("compute_jitter"));
  out.compute_jitter = *mean;
  return out;
}

Result<predict::PredictPolicy> policy_of(const CollectiveRequest& q, const spec::Cluster& cluster, double fan_in,
                                         const Context& context) {
  predict::PredictPolicy out;
  out.engine = q.engine;
  out.stop = context.stop;
  BUSBAR_RETURN_IF_ERROR(predict::read_predict_options(q.predict, spec::Catalog(q.machine.catalog), out));
  if (out.engine == "packet") {
    BUSBAR_ASSIGN(out.packets, packets_of(q, cluster, context));
  } else if (!q.packets.transport.empty()) {
    BUSBAR_ASSIGN(out.penalty, predict::load_call_penalty(q.packets.transport, predict::balance_of(cluster), fan_in,
                                                          q.machine.catalog));
  }
  BUSBAR_ASSIGN(out.delays, predict::parse_jitter(q.jitter, cluster.topology));
  if (!q.jitter.empty() && out.packets)
    return Error{ErrorCode::kUnsupported, "the packet engine cannot delay messages; use --engine flow or analytic",
                 field_of("jitter")};
  return out;
}

/// The groups of `ranks`, or the first -g GPUs.
Result<collectives::GroupFamily> read_groups(const CollectiveRequest& q, const spec::Cluster& cluster) {
  const auto all = static_cast<std::uint32_t>(cluster.topology.gpus().size());
  const std::uint32_t asked = q.nccl_tests.ranks();
  if (q.jobs == 0) return invalid("at least 1 job is needed", field_of("jobs"));
  if (!q.ranks.empty()) {
    if (asked > 0 || q.jobs > 1 || q.placement != CollectiveRequest().placement)
      return invalid("already selects the GPUs; leave out -g, --jobs and --placement", field_of("ranks"));
    return predict::parse_rank_groups(q.ranks, all);
  }
  const std::uint32_t n = asked == 0 ? all / q.jobs : asked;
  if (n == 0 || std::uint64_t{n} * q.jobs > all)
    return spec::too_many_gpus("-g", std::uint64_t{std::max(n, 1u)} * q.jobs, cluster, q.machine);
  return collectives::one_group(n);
}

Result<program::Protocol> protocol_of(const CollectiveRequest& q) {
  Result<program::Protocol> protocol = program::parse_protocol(q.protocol);
  if (!protocol.ok()) protocol.error().where = field_of("protocol");
  return protocol;
}

Status check_seed(const CollectiveRequest& q) {
  if (q.seed && q.engine != "packet")
    return invalid(
        "packets alone take paths at random; add --engine packet, or for a random placement write "
        "--placement random:N",
        field_of("seed"));
  if (q.seed && *q.seed < 0) return invalid("a seed is 0 or more", field_of("seed"));
  return {};
}

/// What is timed, and on what.
struct CollectiveRun {
  collectives::Collective op{};
  program::Protocol protocol{};
  std::vector<Bytes> sweep;
  collectives::GroupFamily groups;
  formats::PairMatrix matrix;
  std::shared_ptr<const predict::AccuracyTable> accuracy;
  std::shared_ptr<predict::Predictor> machine;
  std::optional<formats::TunerPicks> picks;
  AlgorithmChoice choice;
};

/// A predictor with the table that its bands are from.
std::shared_ptr<predict::Predictor> with_table(std::unique_ptr<predict::Predictor> made,
                                               std::shared_ptr<const predict::AccuracyTable> table) {
  const std::shared_ptr<predict::Predictor> machine = std::move(made);
  return {machine.get(), [machine, table = std::move(table)](predict::Predictor*) {}};
}

Status make_machine(const CollectiveRequest& q, spec::Cluster loaded, CollectiveRun& run, const Context& context) {
  const auto all = loaded.topology.gpus();
  const std::uint32_t n = run.groups.size();
  const bool in_order = q.placement == CollectiveRequest().placement;  // rank r on GPU r, with no other option set
  BUSBAR_ASSIGN(std::vector<topology::DeviceId> gpus,
                in_order ? std::vector<topology::DeviceId>() : place_ranks(q.placement, all, n * q.jobs));
  BUSBAR_ASSIGN(predict::AccuracyTable accuracy, predict::AccuracyTable::load(spec::Catalog(q.machine.catalog)));
  auto table = std::make_shared<const predict::AccuracyTable>(std::move(accuracy));
  BUSBAR_ASSIGN(predict::PredictPolicy policy,
                policy_of(q, loaded, predict::fan_in_of(run.op, n, loaded.topology), context));
  policy.accuracy = table.get();
  policy.nvls = q.nccl_tests.switches_may_reduce(run.op);
  policy.elements = q.nccl_tests.elements();
  BUSBAR_ASSIGN(auto made, predict::Predictor::make(std::move(loaded), std::move(gpus), std::move(policy)));
  run.machine = with_table(std::move(made), std::move(table));
  return {};
}

Status choose(const CollectiveRequest& q, CollectiveRun& run) {
  if (!names_tuner_file(q.algorithm)) {
    run.choice = choice_of(q, *run.machine, run.groups);
    return {};
  }
  if (q.protocol != "auto" || q.channels != 0)
    return invalid("the file names protocol and channels; leave out --protocol and --channels", field_of("algorithm"));
  BUSBAR_ASSIGN(run.picks, read_tuner_file(q.algorithm));
  run.choice = {"tuner", fmt::format("as {} says, NCCL's choice elsewhere", q.algorithm)};
  return {};
}

Result<CollectiveRun> prepare(const CollectiveRequest& q, const Context& context) {
  CollectiveRun run;
  BUSBAR_ASSIGN(run.op, collectives::parse_collective(q.collective));
  BUSBAR_ASSIGN(run.protocol, protocol_of(q));
  constexpr std::uint32_t kMostChannels = 1024;  // per schedule
  if (q.channels > kMostChannels)
    return invalid(fmt::format("at most {} channels", kMostChannels), field_of("channels"));
  BUSBAR_ASSIGN(run.sweep, sweep_sizes(q.min_bytes, q.max_bytes, q.step_factor));
  const bool packets = q.engine == "packet";
  BUSBAR_ASSIGN(spec::Cluster loaded,
                step::load_machine(q.cluster, packets ? predict::without_packets(q.machine) : q.machine));
  if (!packets) BUSBAR_RETURN_IF_ERROR(predict::choose_paths(q.packets.lb, loaded));
  BUSBAR_ASSIGN(run.groups, read_groups(q, loaded));
  const std::uint32_t n = run.groups.size();
  if (q.root >= n) return invalid(fmt::format("root {} is not among {} ranks", q.root, n), {"", 0, 0, "--root"});
  BUSBAR_ASSIGN(run.matrix, load_pairs(q.pairs, run.op, n));
  const bool any_size = q.min_bytes == CollectiveRequest().min_bytes && q.max_bytes.empty();
  if (any_size && !q.pairs.empty()) run.sweep = {run.matrix.busiest};
  BUSBAR_RETURN_IF_ERROR(check_seed(q));
  BUSBAR_RETURN_IF_ERROR(make_machine(q, std::move(loaded), run, context));
  BUSBAR_RETURN_IF_ERROR(choose(q, run));
  return run;
}

program::CollectiveCall call_of(const CollectiveRequest& q, const CollectiveRun& run, Bytes size) {
  program::CollectiveCall call = predict::call_over(run.op, size, run.groups.size());
  call.groups = run.groups;
  call.algorithm = q.algorithm;
  call.protocol = run.protocol;
  call.chunks = q.chunks;
  call.root = q.root;
  call.channels = q.channels;
  call.pairs = run.matrix.counts;
  return call;
}

/// Adds the rows of one size. False: stopped before there was one.
Result<bool> add_rows(const CollectiveRequest& q, CollectiveRun& run, Bytes size, const Context& context,
                      std::vector<predict::Prediction>& rows) {
  program::CollectiveCall call = call_of(q, run, size);
  constexpr std::uint32_t kMostEachSize = 64;  // ranks with reliefs of every size; a relief is some five lowerings
  const bool last = size == run.sweep.back();
  const predict::TimeAsk ask{.jobs = q.jobs,
                             .relief = last || run.groups.size() * run.groups.groups() <= kMostEachSize,
                             .limit = true,
                             .explain = q.explain};
  const auto names =
      run.picks ? std::vector<std::string>{"auto"} : algorithms_of(q, call, *run.machine, run.choice.words);
  std::optional<Error> refused;
  const std::size_t before = rows.size();
  for (const std::string& name : names) {
    call.algorithm = name;
    Result<predict::Prediction> row =
        run.picks ? time_as_picked(*run.picks, call, ask, *run.machine) : run.machine->time(call, ask);
    if (!row.ok() && context.stopped()) break;  // the packet engine stops within a size
    if (row.ok())
      rows.push_back(std::move(*row));
    else if (names.size() == 1 || row.error().code != ErrorCode::kUnsupported)
      return row.error();
    else
      refused = row.error();  // one of several
  }
  if (rows.size() > before) return true;
  if (context.stopped()) return false;
  return refused ? *refused : invalid("no algorithm can run this", field_of("algorithm"));
}

/// Of a run with rows.
CollectiveResult result_of(const CollectiveRequest& q, const CollectiveRun& run,
                           std::vector<predict::Prediction> rows) {
  const predict::Predictor& machine = *run.machine;
  const spec::Cluster& cluster = machine.cluster();
  const predict::Prediction& summary = summary_row(rows);
  CollectiveResult r;
  r.cluster = cluster.name;
  r.gpus = run.groups.size();
  r.groups = run.groups.groups();
  r.jobs = q.jobs;
  r.collective = collectives::name_of(run.op);
  r.engine = q.engine;
  r.algorithm_choice = run.choice.name;
  r.algorithm_choice_note = run.choice.words;
  for (const predict::Prediction& p : rows) r.results.push_back(collective_row(p, r.gpus, run.op, cluster.topology));
  r.policy = policy_result(machine.policy(), q.predict.launch, machine.protocol().launch);
  r.bound_by = bound_result(summary.bound, cluster.topology);
  if (!summary.cause.empty()) r.bound_by.cause = summary.cause;
  r.band_percent = {summary.band.low_percent, summary.band.high_percent};
  r.band_basis = summary.band.basis;
  r.assumptions = cluster.assumptions;
  if (machine.policy().penalty) r.penalty = penalty_result(*machine.policy().penalty);
  if (q.explain) r.shortcuts = machine.policy().shortcuts.names_taken();
  r.machine = run.machine;
  r.op = run.op;
  r.rows = std::move(rows);
  return r;
}

/// The name of an output does not count.
CollectiveRequest hashed(CollectiveRequest q) {
  if (!q.out.empty()) q.out = "(input)";
  return q;
}

const char* const kStopped = "stopped before a size was known";

Result<ScheduleResult> time_file(const CollectiveRequest& q, const Context& context) {
  if (q.engine != "flow")
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("a schedule from a file is timed message by message on the flow engine, not on '{}'", q.engine),
        field_of("engine")};
  BUSBAR_ASSIGN(const collectives::Collective op, collectives::parse_collective(q.collective));
  BUSBAR_ASSIGN(spec::Cluster loaded, step::load_machine(q.cluster, q.machine));
  predict::PredictPolicy policy;
  policy.stop = context.stop;
  BUSBAR_RETURN_IF_ERROR(predict::read_predict_options(q.predict, spec::Catalog(q.machine.catalog), policy));
  BUSBAR_ASSIGN(auto made, predict::Predictor::make(std::move(loaded), {}, std::move(policy)));
  const std::shared_ptr<predict::Predictor> machine = std::move(made);
  const spec::Cluster& cluster = machine->cluster();
  BUSBAR_ASSIGN(formats::ImportedSchedule read, load_schedule(q.schedule));
  const auto schedule = std::make_shared<const formats::ImportedSchedule>(std::move(read));
  const collectives::ExecutionPlan& plan = schedule->plan;
  if (plan.op != op)
    return invalid(fmt::format("is an {}, not an {}", collectives::name_of(plan.op), collectives::name_of(op)),
                   {q.schedule, 0, 0, ""});
  if (q.nccl_tests.ranks() != 0 && q.nccl_tests.ranks() != plan.ranks)
    return invalid(fmt::format("the schedule is for {} ranks", plan.ranks), {"", 0, 0, "-g"});
  BUSBAR_ASSIGN(const std::vector<Bytes> sizes, sweep_sizes(q.min_bytes, q.max_bytes, q.step_factor));
  BUSBAR_ASSIGN(std::vector<ScheduleRow> rows, time_schedule(*schedule, *machine, sizes, q.chunks, context));
  if (rows.empty()) return invalid(kStopped);
  BUSBAR_ASSIGN(const predict::AccuracyTable accuracy, predict::AccuracyTable::load(spec::Catalog(q.machine.catalog)));
  ScheduleResult r;
  r.cluster = cluster.name;
  r.gpus = plan.ranks;
  r.collective = collectives::name_of(op);
  r.schedule = {q.schedule, plan.name, true, schedule->proof.sends, schedule->proof.depth};
  r.results = schedule_results(*schedule, rows, cluster.topology);
  r.policy = policy_result(machine->policy(), q.predict.launch, machine->protocol().launch);
  r.bound_by = bound_result(rows.back().bound, cluster.topology);
  r.band = accuracy.collective(cluster, rows.back().size, cluster.topology.blocks().size() > 1, q.predict.launch);
  r.band_percent = {r.band.low_percent, r.band.high_percent};
  r.band_basis = r.band.basis;
  r.notes = schedule->notes;
  r.complete = rows.size() == sizes.size();
  r.machine = machine;
  r.imported = schedule;
  r.rows = std::move(rows);
  return r;
}

/// -R of nccl-tests, unless --register is given.
Status register_as_in_nccl_tests(CollectiveRequest& q) {
  const std::vector<std::string> names = nccl::registration_names();
  const std::uint32_t asked = q.nccl_tests.local_register;
  if (asked >= names.size()) return invalid(fmt::format("'{}' is not 0, 1 or 2", asked), field_of("local_register"));
  if (asked > 0 && q.predict.registration.empty()) q.predict.registration = names[asked];
  return {};
}

}  // namespace

Result<CollectiveAnswer> answer(const CollectiveRequest& asked, const Context& context) {
  CollectiveRequest q = asked;
  if (q.nccl_tests.cudagraph > 0 && q.predict.launch.empty()) q.predict.launch = "graph";
  BUSBAR_RETURN_IF_ERROR(register_as_in_nccl_tests(q));
  if (!q.schedule.empty()) {
    BUSBAR_ASSIGN(ScheduleResult r, time_file(q, context));
    r.inputs_hash = inputs_hash("collective", asked, r.machine->cluster().text);
    return CollectiveAnswer(std::move(r));
  }
  BUSBAR_ASSIGN(CollectiveRun run, prepare(q, context));
  std::vector<predict::Prediction> rows;
  std::size_t known = 0;
  for (const Bytes size : run.sweep) {
    if (!context.go_on("sizes", known, run.sweep.size())) break;
    BUSBAR_ASSIGN(const bool added, add_rows(q, run, size, context, rows));
    if (!added) break;
    ++known;
  }
  context.go_on("sizes", known, run.sweep.size());
  if (rows.empty()) return invalid(kStopped);
  CollectiveResult r = result_of(q, run, std::move(rows));
  r.inputs_hash = inputs_hash("collective", hashed(asked), run.machine->cluster().text);
  r.complete = known == run.sweep.size();
  if (!q.out.empty()) {
    BUSBAR_ASSIGN(r.files, schedule_files(q.out, *run.machine, r.rows));
  }
  return CollectiveAnswer(std::move(r));
}

Question collective_question() {
  return make_question<CollectiveRequest, CollectiveAnswer>(
      "collective", "time one collective over a range of sizes, in the format of nccl-tests",
      "  busbar collective dgx-h100 all_reduce\n"
      "  busbar collective dgx-h100:64 all_reduce -b 1M -e 1G --algorithm hierarchical\n"
      "  busbar collective dgx-1v all_reduce -b 1G -e 1G --algorithm synthesized\n"
      "  busbar collective dgx-h100:2 all_gather -b 1G -e 1G --degrade node1.nic3=0.5 --explain\n"
      "  busbar collective dgx-h100:16 all_reduce -b 1G -e 1G -g 16 --jobs 8 --placement random:1\n"
      "  busbar collective dgx-h100:64 reduce_scatter -b 1G -e 1G --ranks 0:512:8+1x8\n"
      "  busbar collective examples/cards-100g.yaml all_reduce -b 1G -e 1G --engine analytic --json\n"
      "  busbar collective dgx-h100:2 all_reduce -b 16M -e 16M --algorithm ring --engine packet --transport dcqcn\n",
      10);
}

}  // namespace busbar::questions
