#include "busbar/questions/nccl_tests_request.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace busbar::questions {

std::uint32_t NcclTestsRequest::ranks() const {
  if (gpus == 0 && threads == 0) return 0;
  const std::uint64_t all = std::uint64_t{std::max(1u, gpus)} * std::max(1u, threads);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(all, std::numeric_limits<std::uint32_t>::max()));
}

/// Source: NVIDIA NCCL 2.30.7, src/include/device.h, ncclNvlsSupported(); an average is a sum of scaled values there.
bool NcclTestsRequest::switches_may_reduce(collectives::Collective op) const {
  if (op != collectives::Collective::kAllReduce && op != collectives::Collective::kReduceScatter &&
      op != collectives::Collective::kReduce)
    return true;
  const auto is_one_of = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return datatype == name; });
  };
  if (is_one_of({"float", "double"})) return reduction == "sum";
  if (is_one_of({"int32", "uint32", "int64", "uint64", "half", "bfloat16"}))
    return reduction == "sum" || reduction == "min" || reduction == "max";
  return false;
}

nccl::NcclElements NcclTestsRequest::elements() const {
  constexpr std::pair<const char*, std::uint32_t> kBytes[] = {{"int8", 1},   {"uint8", 1},  {"f8e4m3", 1},
                                                              {"f8e5m2", 1}, {"half", 2},   {"bfloat16", 2},
                                                              {"int64", 8},  {"uint64", 8}, {"double", 8}};
  nccl::NcclElements out{4, false};
  for (const auto& [name, bytes] : kBytes)
    if (datatype == name) out.bytes = bytes;
  const bool floating = datatype == "float" || datatype == "half" || datatype == "bfloat16" || datatype == "f8e4m3" ||
                        datatype == "f8e5m2";
  out.symmetric_sums = floating && (reduction == "sum" || reduction == "avg");
  return out;
}

/// Source: nccl-tests 2.17, src/common.cu.
const Record& record_of(const NcclTestsRequest*) {
  using T = NcclTestsRequest;
  const auto field = [](Field f, const char* flag, const char* value) {
    return std::move(f).of("As in nccl-tests").spelled(flag).takes(value);
  };
  const auto accepted = [&](const char* name, std::uint32_t T::*member, const char* flag) {
    return field({name, member, "", "accepted, without effect"}, flag, "N");
  };
  static const Record record(
      "flags of nccl-tests",
      {field({"gpus", &T::gpus, "", "use the first N GPUs of all nodes together; with -t T the first T x N"},
             "-g,--gpus,--ngpus", "N"),
       field({"nthreads", &T::threads, "", "threads per process, each with -g GPUs (1 if only -t is given)"},
             "-t,--nthreads", "T"),
       field(
           Field("datatype", &T::datatype, "", "element type (default float); NVLink switches cannot reduce every type")
               .among({"int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16",
                       "f8e4m3", "f8e5m2"}),
           "-d,--datatype", "TYPE"),
       field(Field("op", &T::reduction, "", "reduction (default sum); NVLink switches cannot do every reduction")
                 .among({"sum", "prod", "min", "max", "avg", "mulsum"}),
             "-o,--op", "OP"),
       field({"cudagraph", &T::cudagraph, "", "above 0: same as --launch graph"}, "-G,--cudagraph", "N"),
       accepted("iters", &T::iters, "-n,--iters"), accepted("warmup_iters", &T::warmup_iters, "-w,--warmup_iters"),
       accepted("check", &T::check, "-c,--check"), accepted("parallel_init", &T::parallel_init, "-p,--parallel_init"),
       accepted("agg_iters", &T::agg_iters, "-m,--agg_iters"), accepted("blocking", &T::blocking, "-z,--blocking"),
       accepted("average", &T::average, "-a,--average"),
       field({"local_register", &T::local_register, "", "1, 2: same as --register local, symmetric"},
             "-R,--local_register", "N")});
  return record;
}

}  // namespace busbar::questions
