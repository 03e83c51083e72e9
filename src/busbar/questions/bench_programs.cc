#include "busbar/questions/bench_programs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "busbar/collectives/builders.h"
#include "busbar/predict/call_chooser.h"
#include "busbar/questions/bench_host.h"
#include "busbar/questions/schedule_times.h"
#include "busbar/questions/sweep.h"
#include "busbar/runtime/host_rates.h"
#include "busbar/runtime/message_program.h"

namespace busbar::questions {
namespace {

bool is_message_file(const std::string& name) { return name.ends_with(".goal"); }
bool is_schedule_file(const std::string& name) { return name.ends_with(".xml") || name.ends_with(".json"); }

/// Where switches reduce, one switch joins all ranks; where levels are named, the smallest groups are a level.
std::uint32_t group_size(const std::string& algorithm, std::uint32_t ranks) {
  const collectives::AlgorithmTraits traits = collectives::traits_of(algorithm);
  if (!traits.names_levels) return traits.reduces_in_network ? ranks : 1;
  for (std::uint32_t g = 2; g < ranks; ++g)
    if (ranks % g == 0) return g;
  return 1;
}

/// The matrix in chunks that a plan can name, of an element or more: the rank that sends most has about 2,048.
collectives::PairCounts pairs_of(const BenchCall& call, Bytes size) {
  constexpr std::uint64_t kMost = 2048, kLeastPerRank = 16;  // few chunks would round small pairs away
  collectives::PairCounts out = call.matrix.counts;
  std::uint64_t busiest = 0;
  for (std::size_t r = 0; !out.begin.empty() && r < call.ranks; ++r)
    busiest = std::max<std::uint64_t>(busiest, out.begin[(r + 1) * call.ranks] - out.begin[r * call.ranks]);
  const std::uint64_t wanted = std::clamp(count(size) / size_of(call.type), kLeastPerRank * call.ranks, kMost);
  if (busiest <= wanted) return out;
  for (std::uint32_t& b : out.begin)
    b = static_cast<std::uint32_t>((std::uint64_t{b} * wanted + busiest / 2) / busiest);
  return out;
}

Result<collectives::Schedule> schedule_of(const BenchRequest& q, const BenchCall& call, const BenchSize& at) {
  const std::string& algorithm = at.algorithm;
  collectives::ScheduleSpec spec;
  spec.algorithm = algorithm;
  spec.op = call.op;
  spec.ranks = call.ranks;
  spec.ranks_per_group = group_size(algorithm, call.ranks);
  spec.root = q.root;
  spec.pairs = pairs_of(call, at.size);
  return collectives::build_schedule(spec);
}

Result<runtime::Executable> program_of(const BenchRequest& q, const BenchCall& call, const BenchSize& at,
                                       const collectives::Schedule* made, bool in_place) {
  const runtime::CompileOptions options{shares_memory(call.transport), call.reduction == runtime::Reduction::kAvg};
  if (call.file) return runtime::compile(call.file->plan, options);
  collectives::Schedule schedule;
  if (made != nullptr) {
    schedule = *made;
  } else {
    BUSBAR_ASSIGN(schedule, schedule_of(q, call, at));
  }
  BUSBAR_ASSIGN(collectives::ExecutionPlan plan,
                runtime::plan_in_pieces(schedule, count(at.size), kBenchPiece, in_place));
  return runtime::compile(std::move(plan), options);
}

}  // namespace

namespace {

Result<std::unique_ptr<predict::Predictor>> machine_of(const runtime::RunRates& rates, const BenchMachine& host) {
  BUSBAR_ASSIGN(spec::Cluster cluster, spec::parse_cluster(host_cluster_yaml(rates, host), "this host"));
  return predict::Predictor::make(std::move(cluster), {});
}

/// As in nccl-tests: what goes to others and what comes from them cannot be one buffer of all_to_all, all_to_allv and
/// send_recv.
bool has_in_place(collectives::Collective op) {
  using collectives::Collective;
  return op != Collective::kAllToAll && op != Collective::kAllToAllV && op != Collective::kSendRecv;
}

/// None for messages of a file, which have sizes of their own, and for what cannot be built: the call itself says why.
std::optional<runtime::Reference> reference_of(const BenchRequest& q, const BenchCall& call) {
  if (call.messages) return std::nullopt;
  runtime::Reference out = runtime::reference_for(call.op, q.root, q.in_place && has_in_place(call.op));
  if (!collectives::build_schedule(out.algorithm, out.op, call.ranks, 1, out.root).ok()) return std::nullopt;
  return out;
}

}  // namespace

/// All rates divided and all latencies multiplied by one number: so all times grow by it.
Result<BenchMachine> bench_host(const BenchCall& call, const runtime::RunRates& rates, Bytes size) {
  BenchMachine out{bench_host_name(), call.ranks, runtime::cores_allowed(), count(size), traffic_of(call.op), 1};
  if (!call.reference || rates.reference.empty()) return out;
  BUSBAR_ASSIGN(const std::unique_ptr<predict::Predictor> machine, machine_of(rates, out));
  program::CollectiveCall asked = predict::call_over(call.reference->op, size, call.ranks);
  asked.root = call.reference->root;
  asked.algorithm = call.reference->algorithm;
  const auto predicted = machine->time(asked, predict::kTimeAlone);
  if (predicted.ok()) out.slower = rates.reference_s(count(size)) * 1e6 / predicted->time.in_us();
  return out;
}

Result<std::unique_ptr<predict::Predictor>> bench_machine(const BenchCall& call, const runtime::RunRates& rates,
                                                          Bytes size) {
  BUSBAR_ASSIGN(const BenchMachine host, bench_host(call, rates, size));
  return machine_of(rates, host);
}

std::string bench_host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == 0) return "host";
  std::string out = name;
  for (char& c : out)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '-';
  return out;
}

Result<runtime::Transport> bench_transport(const BenchRequest& q, bool group) {
  using runtime::Transport;
  const auto named = runtime::parse_transport(q.transport);
  if (!q.transport.empty() && !named.ok()) return invalid(named.error().message, field_of("transport"));
  const Transport out = named.ok() ? *named : group ? Transport::kTcp : Transport::kShm;
  if (group && shares_memory(out))
    return invalid("ranks on several hosts, or started by mpirun, need tcp, ucx or ofi", field_of("transport"));
  const Status there = runtime::usable(out);
  if (!there.ok()) return unsupported(there.error().message, field_of("transport"));
  return out;
}

Result<BenchCall> bench_call(const BenchRequest& q, std::uint32_t group) {
  BenchCall out;
  BUSBAR_ASSIGN(out.op, collectives::parse_collective(q.collective));
  const auto type = runtime::parse_element_type(q.datatype);
  if (!type.ok()) return invalid(type.error().message, field_of("datatype"));
  const auto reduction = runtime::parse_reduction(q.reduction);
  if (!reduction.ok()) return invalid(reduction.error().message, field_of("reduction"));
  constexpr std::uint32_t kMostSockets = 16;
  if (q.sockets < 1 || q.sockets > kMostSockets)
    return invalid(fmt::format("takes 1 to {}", kMostSockets), field_of("sockets"));
  BUSBAR_ASSIGN(out.transport, bench_transport(q, group > 0));
  if (q.sockets > 1 && out.transport != runtime::Transport::kTcp)
    return invalid("needs --transport tcp", field_of("sockets"));
  out.type = *type;
  out.reduction = *reduction;
  if (group > 0 && q.ranks > 0 && q.ranks != group)
    return invalid(fmt::format("{} ranks have met", group), field_of("ranks"));
  out.ranks = group > 0 ? group : q.ranks > 0 ? q.ranks : std::max(2u, runtime::cores_allowed());
  constexpr std::uint32_t kMostRanks = 64;
  if (out.ranks > kMostRanks)
    return unsupported(fmt::format("at most {} ranks run on one host", kMostRanks), field_of("ranks"));
  collectives::Collective op = out.op;
  std::uint32_t ranks = out.ranks;
  if (is_message_file(q.algorithm)) {
    BUSBAR_ASSIGN(out.messages, load_messages(q.algorithm));
    if (!out.messages->call.algorithm.empty()) op = out.messages->call.op;
    ranks = out.messages->graph.ranks;
  } else if (is_schedule_file(q.algorithm)) {
    BUSBAR_ASSIGN(out.file, load_schedule(q.algorithm));
    op = out.file->plan.op;
    ranks = out.file->plan.ranks;
  }
  if (op != out.op)
    return invalid(fmt::format("is an {}, not an {}", collectives::name_of(op), collectives::name_of(out.op)),
                   {q.algorithm, 0, 0, ""});
  if ((q.ranks > 0 || group > 0) && out.ranks != ranks)
    return invalid(fmt::format("the schedule is for {} ranks", ranks), field_of("ranks"));
  if (ranks < 2 || ranks > kMostRanks)
    return unsupported(fmt::format("is for {} ranks; 2 to {} run on one host", ranks, kMostRanks),
                       {q.algorithm, 0, 0, ""});
  out.ranks = ranks;
  if (!q.pairs.empty() && (out.file || out.messages))
    return invalid("the file of --algorithm says who sends what", field_of("pairs"));
  BUSBAR_ASSIGN(out.matrix, load_pairs(q.pairs, out.op, ranks));
  out.reference = reference_of(q, out);
  return out;
}

namespace {

/// Message by message, as `collective --schedule` times it. Plans in which a switch reduces have no prediction: this
/// host has no such switch.
void predict_file(const BenchCall& call, predict::Predictor& machine, BenchSize& out) {
  const auto rows = time_schedule(*call.file, machine, {out.size}, 1, {});
  if (!rows.ok() || rows->empty()) return;
  out.predicted_us = rows->front().time.in_us();
  predict::Prediction bound;
  bound.bound = rows->front().bound;
  out.bound_by = predict::limit_of(bound, machine.cluster().topology);
}

/// Messages keep their sizes; what a rank sends most is the size, unless the file says of which call they are.
Result<BenchSize> bench_messages(const BenchCall& call, predict::Predictor& machine, BenchSize out) {
  BUSBAR_ASSIGN(runtime::MessageProgram made, runtime::compile_messages(call.messages->graph));
  out.program = std::make_shared<const runtime::Executable>(std::move(made.program));
  out.unit_bytes = made.unit_bytes;
  const auto times = time_messages(*call.messages, machine);
  if (!times.ok()) return out;
  out.predicted_us = times->time_us;
  predict::Prediction bound;
  bound.bound = times->bound;
  out.bound_by = predict::limit_of(bound, machine.cluster().topology);
  return out;
}

/// Takes the predicted algorithm if the request leaves it open. Returns a schedule that was made for this machine.
Result<std::shared_ptr<const collectives::Schedule>> predict_call(const BenchRequest& q, const BenchCall& call,
                                                                  predict::Predictor& machine, BenchSize& out) {
  program::CollectiveCall asked = predict::call_over(call.op, out.size, call.ranks);
  asked.root = q.root;
  asked.pairs = pairs_of(call, out.size);
  asked.algorithm = q.algorithm;
  const auto predicted = machine.time(asked, predict::kTimeAlone);
  if (!predicted.ok() && q.algorithm == "fastest") return predicted.error();
  if (!predicted.ok()) return std::shared_ptr<const collectives::Schedule>();
  out.predicted_us = predicted->time.in_us();
  out.bound_by = predict::limit_of(*predicted, machine.cluster().topology);
  if (predict::may_be_made(asked))
    out.algorithm = predicted->call.algorithm;  // no schedule that was made may be faster
  return predicted->call.schedule;
}

}  // namespace

Result<std::vector<Bytes>> bench_sizes(const BenchRequest& q, const BenchCall& call) {
  const bool any_size = q.min_bytes == BenchRequest().min_bytes && q.max_bytes == BenchRequest().max_bytes;
  if (any_size && !q.pairs.empty()) return std::vector<Bytes>{call.matrix.busiest};
  if (!call.messages) return sweep_sizes(q.min_bytes, q.max_bytes, q.step_factor);
  if (!call.messages->call.algorithm.empty()) return std::vector<Bytes>{call.messages->call.bytes};
  std::vector<std::uint64_t> sent(call.ranks, 1);
  for (const program::MessageTask& t : call.messages->graph.tasks)
    if (!t.is_work() && t.from < call.ranks) sent[t.from] += count(t.bytes);
  return std::vector<Bytes>{Bytes{*std::max_element(sent.begin(), sent.end()) - 1}};
}

Result<BenchSize> bench_size(const BenchRequest& q, const BenchCall& call, const runtime::RunRates& rates, Bytes size) {
  BenchSize out;
  out.size = size;
  out.algorithm = call.file ? call.file->plan.name : q.algorithm;
  BUSBAR_ASSIGN(const std::unique_ptr<predict::Predictor> machine, bench_machine(call, rates, size));
  std::shared_ptr<const collectives::Schedule> made;
  if (call.messages) return bench_messages(call, *machine, std::move(out));
  if (call.file) {
    predict_file(call, *machine, out);
  } else {
    BUSBAR_ASSIGN(made, predict_call(q, call, *machine, out));
  }
  BUSBAR_ASSIGN(runtime::Executable program, program_of(q, call, out, made.get(), q.in_place));
  if (!shares_memory(call.transport) && (program.reads_others || program.writes_others))
    return unsupported(fmt::format("{} reads or writes the memory of other ranks; use --transport shm", out.algorithm),
                       field_of("transport"));
  out.program = std::make_shared<const runtime::Executable>(std::move(program));
  if (call.file || q.in_place || !has_in_place(call.op)) return out;
  auto joined = program_of(q, call, out, made.get(), true);
  if (joined.ok()) out.in_place = std::make_shared<const runtime::Executable>(std::move(*joined));
  return out;
}

}  // namespace busbar::questions
