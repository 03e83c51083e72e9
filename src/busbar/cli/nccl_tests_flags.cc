#include "busbar/cli/nccl_tests_flags.h"

#include <algorithm>
#include <limits>

namespace busbar {

std::uint32_t NcclTestsFlags::ranks() const {
  if (gpus == 0 && threads == 0) return 0;
  const std::uint64_t all = std::uint64_t{std::max(1u, gpus)} * std::max(1u, threads);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(all, std::numeric_limits<std::uint32_t>::max()));
}

/// Source: NVIDIA NCCL 2.30.7, src/include/device.h, ncclNvlsSupported(); an average is a sum of scaled values there.
bool NcclTestsFlags::switches_may_reduce(Collective op) const {
  if (op != Collective::kAllReduce && op != Collective::kReduceScatter && op != Collective::kReduce) return true;
  const auto is_one_of = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return datatype == name; });
  };
  if (is_one_of({"float", "double"})) return reduction == "sum";
  if (is_one_of({"int32", "uint32", "int64", "uint64", "half", "bfloat16"}))
    return reduction == "sum" || reduction == "min" || reduction == "max";
  return false;
}

/// Source: nccl-tests 2.17, src/common.cu.
std::vector<Flag> nccl_tests_flags(NcclTestsFlags& f) {
  constexpr const char* kCategory = "As in nccl-tests";
  std::vector<Flag> flags{
      {"-g,--gpus,--ngpus", "N", "use the first N GPUs of all nodes together; with -t T the first T x N", kCategory,
       &f.gpus},
      {"-t,--nthreads", "T", "threads per process, each with -g GPUs (1 if only -t is given)", kCategory, &f.threads},
      {"-d,--datatype", "TYPE", "element type (default float); NVLink switches cannot reduce every type", kCategory,
       &f.datatype,
       one_of("int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16", "f8e4m3",
              "f8e5m2")},
      {"-o,--op", "OP", "reduction (default sum); NVLink switches cannot do every reduction", kCategory, &f.reduction,
       one_of("sum", "prod", "min", "max", "avg", "mulsum")},
      {"-G,--cudagraph", "N", "above 0: same as --launch graph", kCategory, &f.graph}};
  const std::pair<const char*, std::uint32_t*> accepted[] = {
      {"-n,--iters", &f.iterations},     {"-w,--warmup_iters", &f.warmups},
      {"-c,--check", &f.check},          {"-p,--parallel_init", &f.parallel_init},
      {"-m,--agg_iters", &f.aggregated}, {"-z,--blocking", &f.blocking},
      {"-a,--average", &f.average},      {"-R,--local_register", &f.registered}};
  for (const auto& [names, target] : accepted)
    flags.push_back({names, "N", "accepted, without effect", kCategory, target});
  return flags;
}

}  // namespace busbar
