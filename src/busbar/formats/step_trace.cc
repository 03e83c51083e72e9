#include "busbar/formats/step_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "busbar/formats/internal/kineto_events.h"

namespace busbar::formats {
namespace {

constexpr std::string_view kStepMark = "ProfilerStep#";

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return text.find(w) != text.npos; });
}

void keep_collective(TracedCollective c, StepTrace& out) {
  out.kernels.push_back({c.start_us, c.start_us + c.duration_us, TracedKind::kCollective,
                         static_cast<std::uint32_t>(out.collectives.size())});
  out.collectives.push_back(std::move(c));
}

/// Marks as the profiler writes them: on the GPU's time line where it has them, else on the host's.
class StepMarks {
 public:
  void take(const KinetoEvent& e) {
    if (!e.name.starts_with(kStepMark)) return;
    if (e.category == "gpu_user_annotation") gpu_.push_back({e.name, e.start_us, e.start_us + e.duration_us});
    if (e.category == "user_annotation") host_.push_back({e.name, e.start_us, e.start_us + e.duration_us});
  }
  /// Each step lasts until the next begins.
  std::vector<TracedStep> steps() const {
    std::vector<TracedStep> out = gpu_.size() >= host_.size() ? gpu_ : host_;
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.start_us < b.start_us; });
    for (std::size_t i = 0; i + 1 < out.size(); ++i) out[i].end_us = out[i + 1].start_us;
    return out;
  }

 private:
  std::vector<TracedStep> gpu_, host_;
};

Result<StepTrace> read_kineto_steps(std::istream& in, const std::string& name) {
  StepTrace out;
  StepMarks marks;
  std::vector<UnknownPart> unknown;
  const auto take = [&](const KinetoEvent& e) {
    marks.take(e);
    if (is_nccl_kernel(e)) {
      keep_collective(collective_of(e, unknown), out);
    } else if (e.is_kernel()) {
      out.kernels.push_back({e.start_us, e.start_us + e.duration_us, kind_of_kernel(e.name)});
    } else if (e.category == "gpu_memcpy" || e.category == "gpu_memset") {
      out.kernels.push_back({e.start_us, e.start_us + e.duration_us, TracedKind::kCopy});
    }
  };
  BUSBAR_ASSIGN(const KinetoHead head, read_kineto_events(in, name, take));
  out.rank = head.rank;
  out.world_size = head.world_size;
  out.steps = marks.steps();
  return out;
}

/// "run.3.et" is the trace of rank 3; 0 without such a number.
std::uint32_t rank_in_name(std::string_view path) {
  const std::size_t end = path.rfind(".et"), dot = end == path.npos ? path.npos : path.rfind('.', end - 1);
  std::uint32_t rank = 0;
  if (end == path.npos || end == 0 || dot == path.npos) return 0;
  const auto [at, code] = std::from_chars(path.data() + dot + 1, path.data() + end, rank);
  return code == std::errc() && at == path.data() + end ? rank : 0;
}

Result<StepTrace> read_chakra_steps(std::istream& in, const std::string& name, bool json) {
  BUSBAR_ASSIGN(const std::vector<TraceNode> nodes, read_chakra_nodes(in, name, json));
  StepTrace out;
  out.rank = rank_in_name(name);
  for (const TraceNode& n : nodes) {
    if (!n.call.on_gpu || n.call.duration_us <= 0) continue;
    if (n.kind == TraceNodeKind::kWork)
      out.kernels.push_back({n.call.start_us, n.call.start_us + n.call.duration_us, kind_of_kernel(n.call.name)});
    else
      keep_collective(n.call, out);
  }
  const bool timed = std::any_of(out.kernels.begin(), out.kernels.end(), [](const auto& k) { return k.start_us > 0; });
  if (!timed && !out.kernels.empty())
    return invalid(
        "its nodes have no start times, so what runs at the same time is not known; link it with a Kineto "
        "trace, or give the Kineto trace",
        {name, 0, 0, ""});
  return out;
}

}  // namespace

const char* name_of(TracedKind k) {
  constexpr const char* kNames[] = {"GEMM", "attention", "optimizer", "other kernels", "collectives", "copies"};
  return kNames[static_cast<std::size_t>(k)];
}

TracedKind kind_of_kernel(std::string_view name) {
  std::string low(name);
  std::transform(low.begin(), low.end(), low.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  if (has_any(low, {"flash", "fmha", "sdpa", "attention", "attn"})) return TracedKind::kAttention;
  if (has_any(low, {"gemm", "cutlass", "cijk_", "nvjet", "xmma", "matmul", "gemv", "splitkreduce"}))
    return TracedKind::kGemm;
  if (has_any(low, {"adam", "sgd", "lamb", "adagrad"})) return TracedKind::kOptimizer;
  return TracedKind::kOther;
}

Result<StepTrace> read_step_trace(const std::string& path) {
  BUSBAR_ASSIGN(ImportSource source, ImportSource::open(path));
  const std::string_view head = source.head();
  const bool kineto = looks_like_kineto(head), chakra = looks_like_chakra(head), json = looks_like_chakra_json(head);
  if (!kineto && !chakra && !json)
    return invalid("is neither a Kineto trace (torch.profiler, export_chrome_trace) nor a Chakra trace",
                   {path, 0, 0, ""});
  BUSBAR_ASSIGN(const std::unique_ptr<std::istream> in, source.stream());
  Result<StepTrace> read = kineto ? read_kineto_steps(*in, path) : read_chakra_steps(*in, path, json);
  BUSBAR_RETURN_IF_ERROR(source.complete());  // explains a reader's error about a text that ends early
  BUSBAR_ASSIGN(StepTrace out, std::move(read));
  if (out.kernels.empty())
    return invalid("has no kernels of a GPU; record the GPU too (torch.profiler: ProfilerActivity.CUDA)",
                   {path, 0, 0, ""});
  std::sort(out.kernels.begin(), out.kernels.end(),
            [](const TracedKernel& a, const TracedKernel& b) { return a.start_us < b.start_us; });
  if (out.steps.empty()) {
    double end = 0;
    for (const TracedKernel& k : out.kernels) end = std::max(end, k.end_us);
    out.steps.push_back({"whole trace", out.kernels.front().start_us, end});
    out.notes.push_back("the trace has no marks of steps (prof.step()): all of it is taken as one step");
  }
  return out;
}

namespace {

/// Cuts the time line at every start and end of a kernel.
class Cutter {
 public:
  Cutter(const StepTrace& trace, std::span<const program::OpClass> purposes) : trace_(trace), purposes_(purposes) {
    for (std::uint32_t k = 0; k < trace.kernels.size(); ++k) {
      edges_.push_back({trace.kernels[k].start_us, k, true});
      edges_.push_back({trace.kernels[k].end_us, k, false});
    }
    std::sort(edges_.begin(), edges_.end(), [](const KernelEdge& a, const KernelEdge& b) { return a.at_us < b.at_us; });
  }
  /// Adds what ran in [from, to).
  void add(double from, double to, TracedParts& out) {
    running_.fill(0);
    exposed_.fill(0);
    double now = from;
    for (const KernelEdge& e : edges_) {
      const double at = std::clamp(e.at_us, from, to);
      count(at - now, out);
      now = std::max(now, at);
      step(e);
    }
    count(to - now, out);
  }

 private:
  struct KernelEdge {
    double at_us = 0;
    std::uint32_t kernel = 0;
    bool begins = false;
  };
  void step(const KernelEdge& e) {
    const TracedKernel& k = trace_.kernels[e.kernel];
    const int change = e.begins ? 1 : -1;
    running_[static_cast<std::size_t>(k.kind)] += change;
    if (k.kind == TracedKind::kCollective) exposed_[static_cast<std::size_t>(purposes_[k.collective])] += change;
  }
  void count(double us, TracedParts& out) const {
    if (us <= 0) return;
    bool taken = false;
    for (std::size_t k = 0; k < kTracedKinds; ++k) {
      if (running_[k] <= 0) continue;
      out.busy_us[k] += us * running_[k];
      if (taken) continue;
      taken = true;
      out.alone_us[k] += us;
      if (static_cast<TracedKind>(k) != TracedKind::kCollective) continue;
      const auto first = std::find_if(exposed_.begin(), exposed_.end(), [](int n) { return n > 0; });
      out.exposed_us[static_cast<std::size_t>(first - exposed_.begin())] += us;
    }
    if (!taken) out.idle_us += us;
  }

  const StepTrace& trace_;
  std::span<const program::OpClass> purposes_;
  std::vector<KernelEdge> edges_;
  std::array<int, kTracedKinds> running_{};
  std::array<int, static_cast<std::size_t>(program::OpClass::kOther) + 1> exposed_{};
};

}  // namespace

TracedParts parts_of_steps(const StepTrace& trace, std::span<const program::OpClass> purposes) {
  TracedParts out;
  Cutter cutter(trace, purposes);
  out.shortest_us = trace.steps.front().end_us - trace.steps.front().start_us;
  for (const TracedStep& s : trace.steps) {
    const double length = s.end_us - s.start_us;
    out.step_us += length;
    out.shortest_us = std::min(out.shortest_us, length);
    out.longest_us = std::max(out.longest_us, length);
    cutter.add(s.start_us, s.end_us, out);
  }
  const auto n = static_cast<double>(trace.steps.size());
  for (double* sum : {&out.step_us, &out.idle_us}) *sum /= n;
  for (auto* sums : {&out.busy_us, &out.alone_us})
    for (double& sum : *sums) sum /= n;
  for (double& sum : out.exposed_us) sum /= n;
  return out;
}

}  // namespace busbar::formats
