#include <algorithm>

#include "busbar/formats/comm_trace.h"
#include "busbar/formats/internal/kineto_events.h"

namespace busbar::formats {

std::optional<collectives::Collective> collective_in(std::string_view name) {
  struct Word {
    std::string_view word;
    collectives::Collective op;
  };
  static constexpr Word kWords[] = {
      {"allreduce", collectives::Collective::kAllReduce}, {"reducescatter", collectives::Collective::kReduceScatter},
      {"allgather", collectives::Collective::kAllGather}, {"broadcast", collectives::Collective::kBroadcast},
      {"alltoall", collectives::Collective::kAllToAll},   {"reduce", collectives::Collective::kReduce},
      {"gather", collectives::Collective::kGather},       {"scatter", collectives::Collective::kScatter}};
  std::string key;
  for (const char c : name.substr(0, name.find('(')))
    if (c != '_') key += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  for (const Word& w : kWords)
    if (key.find(w.word) != key.npos) return w.op;
  return std::nullopt;
}

bool looks_like_kineto(std::string_view head) {
  const std::size_t at = head.find_first_not_of(" \t\r\n");
  return at != head.npos && head[at] == '{' &&
         (head.find("\"traceEvents\"") != head.npos || head.find("\"schemaVersion\"") != head.npos ||
          head.find("\"deviceProperties\"") != head.npos);
}

Result<CommTrace> read_kineto(std::istream& in, const std::string& name) {
  CommTrace out;
  const auto take = [&](const KinetoEvent& e) {
    ++out.events;
    if (!e.category.empty()) ++out.kinds[e.category];
    const bool call = (e.category == "user_annotation" || e.category == "cpu_op") && e.name.starts_with("nccl:");
    if (call || is_nccl_kernel(e)) out.collectives.push_back(collective_of(e, out.unknown));
  };
  BUSBAR_ASSIGN(const KinetoHead head, read_kineto_events(in, name, take));
  out.version = head.version;
  out.rank = head.rank;
  out.world_size = head.world_size;
  // Sizes are listed with the kernels, or in older traces with the calls.
  const bool sized = std::any_of(out.collectives.begin(), out.collectives.end(),
                                 [](const TracedCollective& c) { return c.on_gpu && c.bytes > 0; });
  if (sized) {
    std::erase_if(out.collectives, [](const TracedCollective& c) { return !c.on_gpu; });
  } else if (!out.collectives.empty()) {
    out.notes.push_back("kernels have no sizes: their calls are listed too, without a duration");
  }
  for (TracedCollective& c : out.collectives)
    if (c.ranks == 0) c.ranks = out.world_size;
  return out;
}

}  // namespace busbar::formats
