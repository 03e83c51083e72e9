// What one GPU did during the steps of a trace of a training run.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "busbar/formats/comm_trace.h"
#include "busbar/formats/import.h"
#include "busbar/program/program.h"

namespace busbar::formats {

/// Kinds of work on a GPU, by the names of kernels.
enum class TracedKind : std::uint8_t { kGemm, kAttention, kOptimizer, kOther, kCollective, kCopy };
constexpr std::size_t kTracedKinds = 6;
const char* name_of(TracedKind k);  ///< "GEMM", "copies"
/// By parts of names that cuBLAS, CUTLASS, rocBLAS, cuDNN, FlashAttention, PyTorch and Apex give their kernels.
TracedKind kind_of_kernel(std::string_view name);

struct TracedKernel {
  double start_us = 0, end_us = 0;
  TracedKind kind = TracedKind::kOther;
  std::uint32_t collective = 0;  ///< kCollective: index into StepTrace::collectives
};
struct TracedStep {
  std::string name;  ///< "ProfilerStep#7"
  double start_us = 0, end_us = 0;
};
struct StepTrace {
  std::uint32_t rank = 0, world_size = 0;     ///< 0: not in the trace
  std::vector<TracedStep> steps;              ///< in order of time, at least one
  std::vector<TracedKernel> kernels;          ///< by start, at least one
  std::vector<TracedCollective> collectives;  ///< that ran on the GPU
  std::vector<std::string> notes;
};

/// Reads a Kineto or Chakra trace, packed by gzip or not. Steps are the marks of torch.profiler ("ProfilerStep#7"),
/// from one to the next; without marks, the whole trace is one step, and a note says so. Errors: another kind of file,
/// a trace without kernels on a GPU, or without times.
Result<StepTrace> read_step_trace(const std::string& path);

/// The mean time of the steps of a trace, cut into parts that sum to it.
struct TracedParts {
  double step_us = 0, shortest_us = 0, longest_us = 0;
  std::array<double, kTracedKinds> busy_us{};  ///< each kind by itself; kernels at the same time count each
  /// Parts of the step. While several kernels run the first of these counts: GEMM, attention, optimizer, other kernels,
  /// collectives in order of OpClass, copies.
  std::array<double, kTracedKinds> alone_us{};
  std::array<double, static_cast<std::size_t>(program::OpClass::kOther) + 1>
      exposed_us{};  ///< of alone_us[kCollective]
  double idle_us = 0;
};
/// `purposes`: one per collective.
TracedParts parts_of_steps(const StepTrace& trace, std::span<const program::OpClass> purposes);

}  // namespace busbar::formats
