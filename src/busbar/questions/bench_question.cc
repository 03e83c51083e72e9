#include "busbar/questions/bench_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "busbar/base/input.h"
#include "busbar/questions/bench_compare.h"
#include "busbar/questions/bench_group.h"
#include "busbar/questions/bench_host.h"
#include "busbar/questions/bench_programs.h"
#include "busbar/questions/bench_trace.h"
#include "busbar/questions/sweep.h"
#include "busbar/runtime/host_rates.h"
#include "busbar/trace/perfetto.h"

namespace busbar::questions {
namespace {

runtime::SessionOptions session_of(const BenchRequest& q, const BenchCall& call, const BenchGroup& group,
                                   const Context& context) {
  return {call.transport, q.sockets, q.timeout_s, context.stop, group.hosts.get()};
}

/// A file by name and contents: files of one name may differ between hosts. Other words as they are.
std::string with_contents(const std::string& word) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(word, unknown)) return word;
  const Result<std::string> text = read_text(word);
  return text.ok() ? fmt::format("{} (contents {})", word, inputs_hash("", *text)) : word;
}

/// What all processes must be told alike.
std::string run_words(const BenchRequest& q) {
  return fmt::format("busbar " BUSBAR_VERSION
                     " bench {} -b {} -e {} -f {:g} -n {} -w {} -c {} -d {} -o {} --root {} --sockets {} "
                     "--algorithm {}{}{}{}",
                     q.collective, q.min_bytes, q.max_bytes, q.step_factor, q.iters, q.warmup_iters, q.check,
                     q.datatype, q.reduction, q.root, q.sockets, with_contents(q.algorithm),
                     q.in_place ? " --in-place" : "", q.pairs.empty() ? "" : " --pairs " + with_contents(q.pairs),
                     q.transport.empty() ? "" : " --transport " + q.transport);
}

/// All ranks predict with what rank 0 measured, so that all choose the same programs.
Result<runtime::RunRates> shared_rates(const BenchGroup& group, runtime::RunRates rates) {
  if (!group.hosts) return rates;
  double steps[] = {rates.hop_s, rates.per_message_s, rates.kept_message_s};
  std::string text(reinterpret_cast<const char*>(steps), sizeof steps);
  const std::size_t points = rates.points.size() * sizeof(runtime::RunRatePoint);
  const std::size_t calls = rates.reference.size() * sizeof(runtime::TimedCall);
  text.append(reinterpret_cast<const char*>(rates.points.data()), points);
  text.append(reinterpret_cast<const char*>(rates.reference.data()), calls);
  BUSBAR_ASSIGN(const std::string all, group.hosts->share(text));
  if (all.size() != text.size()) return Error{ErrorCode::kIo, "rank 0 measured other sizes", {}};
  std::memcpy(steps, all.data(), sizeof steps);
  rates.hop_s = steps[0], rates.per_message_s = steps[1], rates.kept_message_s = steps[2];
  std::memcpy(rates.points.data(), all.data() + sizeof steps, points);
  if (calls > 0) std::memcpy(rates.reference.data(), all.data() + sizeof steps + points, calls);
  return rates;
}

BenchHost host_of(const runtime::HostRates& memory, const runtime::RunRates& runs) {
  const runtime::RunRatePoint& last = runs.points.back();
  return {bench_host_name(),
          memory.cores,
          memory.in_cache.copy_bytes_per_s / 1e9,
          memory.largest.copy_bytes_per_s / 1e9,
          memory.in_cache.add_bytes_per_s / 1e9,
          memory.largest.add_bytes_per_s / 1e9,
          runs.hop_s * 1e6,
          runs.per_message_s * 1e6,
          last.copy_bytes_per_s / 1e9,
          last.add_bytes_per_s / 1e9,
          last.one_copy_bytes_per_s / 1e9,
          runs.kept_message_s * 1e6,
          last.kept_copy_bytes_per_s / 1e9};
}

runtime::Task task_of(const BenchRequest& q, const BenchCall& call, const BenchSize& at,
                      const runtime::Executable& program) {
  runtime::Task task;
  task.program = &program;
  const std::uint64_t elements = count(at.size) / size_of(call.type), chunks = program.plan.chunks;
  task.filling = {call.type, call.reduction,
                  static_cast<std::size_t>(std::max<std::uint64_t>(1, (elements + chunks - 1) / chunks))};
  task.iterations = std::max(1u, q.iters);
  task.warmup = q.warmup_iters;
  task.check = q.check > 0 && !call.messages;
  if (call.messages) task.filling = {runtime::ElementType::kInt8, call.reduction, at.unit_bytes};
  return task;
}

BenchRow row_of(const BenchCall& call, const BenchSize& at, const runtime::TaskResult& measured,
                const runtime::TaskResult* in_place, bool checked) {
  BenchRow row;
  row.size_bytes = count(at.size);
  row.algorithm = at.algorithm;
  row.measured_us = measured.slowest_s() * 1e6;
  row.algbw_GBps = static_cast<double>(row.size_bytes) / measured.slowest_s() / 1e9;
  row.busbw_GBps = row.algbw_GBps * predict::bus_factor(call.op, call.ranks);
  if (checked) row.wrong = measured.wrong;
  if (in_place != nullptr) {
    row.in_place_us = in_place->slowest_s() * 1e6;
    row.in_place_algbw_GBps = static_cast<double>(row.size_bytes) / in_place->slowest_s() / 1e9;
    row.in_place_busbw_GBps = *row.in_place_algbw_GBps * predict::bus_factor(call.op, call.ranks);
    if (checked) row.in_place_wrong = in_place->wrong;
  }
  row.predicted_us = at.predicted_us;
  if (!at.predicted_us) return row;
  row.ratio = row.measured_us / *row.predicted_us;
  row.bound_by = at.bound_by;
  return row;
}

std::optional<double> median_error(const std::vector<BenchRow>& rows) {
  std::vector<double> errors;
  for (const BenchRow& r : rows)
    if (r.ratio) errors.push_back(100 * std::abs(*r.ratio - 1));
  if (errors.empty()) return std::nullopt;
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2), errors.end());
  return errors[errors.size() / 2];
}

std::vector<std::string> notes_of(const BenchResult& r, bool messages, bool several_hosts) {
  std::vector<std::string> out;
  if (messages)
    out.push_back(
        "the messages of the file move their bytes in its order, with its sizes; nothing is added up or checked, and "
        "work on ranks takes no time");
  if (r.switches > 0)
    out.push_back(fmt::format("switches that reduce are played by more {}, {} in number",
                              r.transport == "threads" ? "threads" : "processes", r.switches));
  if (several_hosts)
    out.push_back("each rank is a process of its own, here or on another host; the host shown is rank 0's");
  if (!several_hosts && r.ranks + r.switches > r.host.cores)
    out.push_back(fmt::format("{} ranks share {} cores: each waits for others to give a core away",
                              r.ranks + r.switches, r.host.cores));
  return out;
}

/// The request among the ranks that met.
Result<BenchResult> run_bench(const BenchRequest& q, const BenchGroup& group, const Context& context) {
  BUSBAR_ASSIGN(const BenchCall call, bench_call(q, group.hosts ? group.hosts->ranks() : 0));
  BUSBAR_ASSIGN(const std::vector<Bytes> sizes, bench_sizes(q, call));
  const runtime::SessionOptions session = session_of(q, call, group, context);
  context.begin("measuring this host");
  BUSBAR_ASSIGN(const runtime::HostRates memory,
                runtime::measure_host(group.hosts ? 1 : call.ranks, count(sizes.back())));
  BUSBAR_ASSIGN(runtime::RunRates own,
                runtime::measure_runs(call.ranks, count(sizes.back()), kBenchPiece, session, call.reference));
  BUSBAR_ASSIGN(const runtime::RunRates rates, shared_rates(group, std::move(own)));
  std::vector<BenchSize> at;
  std::vector<runtime::Task> tasks;
  for (const Bytes size : sizes) {
    BUSBAR_ASSIGN(BenchSize one, bench_size(q, call, rates, size));
    if (group.hosts && one.program->plan.reducers > 0)
      return unsupported(fmt::format("{} needs a switch that reduces, which no rank plays among hosts", one.algorithm),
                         field_of("algorithm"));
    at.push_back(std::move(one));
    tasks.push_back(task_of(q, call, at.back(), *at.back().program));
  }
  const bool steps = !q.trace.empty() || q.compare;
  if (steps && group.hosts)
    return unsupported("ranks on several hosts keep no times of their steps",
                       field_of(q.compare ? "compare" : "trace"));
  tasks.back().record = steps;
  for (const BenchSize& s : at)
    if (s.in_place) tasks.push_back(task_of(q, call, s, *s.in_place));
  context.begin(fmt::format("running {} sizes on {} ranks", sizes.size(), call.ranks));
  BUSBAR_ASSIGN(const auto measured, runtime::run_tasks(tasks, session));
  BenchResult r;
  r.silent = group.hosts && group.hosts->rank() > 0;
  r.collective = collectives::name_of(call.op);
  r.transport = name_of(call.transport);
  r.datatype = q.datatype;
  r.reduction = q.reduction;
  r.inputs_hash = inputs_hash("bench", q, "");
  r.ranks = call.ranks;
  for (const BenchSize& s : at) r.switches = std::max(r.switches, s.program->plan.reducers);
  r.host = host_of(memory, rates);
  for (std::size_t i = 0, joined = at.size(); i < at.size(); ++i)
    r.results.push_back(
        row_of(call, at[i], measured[i], at[i].in_place ? &measured[joined++] : nullptr, tasks[i].check));
  const auto is_wrong = [](const runtime::TaskResult& t) { return t.wrong > 0; };
  r.exit_status = std::any_of(measured.begin(), measured.end(), is_wrong) ? 1 : 0;
  r.median_error_percent = median_error(r.results);
  r.notes = notes_of(r, call.messages.has_value(), group.hosts != nullptr);
  const runtime::TaskResult& last = measured[at.size() - 1];
  if (q.compare) {
    constexpr std::size_t kShown = 3;
    BUSBAR_ASSIGN(const auto host, bench_machine(call, rates, sizes.back()));
    BUSBAR_ASSIGN(r.steps, compared_steps(*at.back().program, sizes.back(), *host, last.steps, kShown));
  }
  if (!q.trace.empty())
    r.files.push_back({q.trace, trace::perfetto_bytes(timeline_of(
                                    *at.back().program, tasks[at.size() - 1].filling.chunk_bytes(), last.steps))});
  BUSBAR_ASSIGN(const BenchMachine machine, bench_host(call, rates, Bytes{rates.points.back().bytes}));
  if (!q.emit_cluster.empty() && !r.silent) r.files.push_back({q.emit_cluster, host_cluster_yaml(rates, machine)});
  return r;
}

}  // namespace

Result<BenchResult> answer(const BenchRequest& q, const Context& context) {
  BUSBAR_ASSIGN(const BenchGroup group, meet_bench_group(q, run_words(q), context));
  BUSBAR_ASSIGN(BenchResult r, run_bench(q, group, context));
  if (group.mpi) BUSBAR_RETURN_IF_ERROR(group.mpi->finish());
  return r;
}

Question bench_question() {
  return make_question<BenchRequest, BenchResult>(
      "bench", "run a collective on this host for real: measured times next to predicted ones, every element checked",
      "  busbar bench all_reduce -e 64M --ranks 2\n"
      "  busbar bench all_gather --ranks 4 --algorithm ring --transport threads -d half\n"
      "  busbar bench all_reduce --ranks 8 --algorithm allreduce.xml -b 1M -e 1M\n"
      "  busbar bench all_reduce --emit-cluster host.yaml\n"
      "  mpirun -n 8 busbar bench all_reduce -e 64M\n",
      75, 3);
}

}  // namespace busbar::questions
