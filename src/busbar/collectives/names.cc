// Names of collectives: ours and those of nccl-tests.
#include <algorithm>
#include <array>
#include <cctype>

#include "busbar/base/quantity.h"
#include "busbar/collectives/schedule.h"

namespace busbar::collectives {
namespace {

struct Spelling {
  std::string_view name;
  Collective op;
};

/// The first ten are ours.
constexpr std::size_t kOurNames = 10;
constexpr std::array<Spelling, 18> kSpellings{{
    {"all_reduce", Collective::kAllReduce},
    {"all_gather", Collective::kAllGather},
    {"reduce_scatter", Collective::kReduceScatter},
    {"broadcast", Collective::kBroadcast},
    {"reduce", Collective::kReduce},
    {"all_to_all", Collective::kAllToAll},
    {"gather", Collective::kGather},
    {"scatter", Collective::kScatter},
    {"send_recv", Collective::kSendRecv},
    {"all_to_allv", Collective::kAllToAllV},
    {"allreduce", Collective::kAllReduce},
    {"allgather", Collective::kAllGather},
    {"reducescatter", Collective::kReduceScatter},
    {"bcast", Collective::kBroadcast},
    {"alltoall", Collective::kAllToAll},
    {"alltoallv", Collective::kAllToAllV},
    {"sendrecv", Collective::kSendRecv},
    {"send_receive", Collective::kSendRecv},
}};

}  // namespace

const char* name_of(Collective op) {
  for (const Spelling& s : kSpellings)
    if (s.op == op) return s.name.data();
  return "unknown";
}

Result<Collective> parse_collective(std::string_view name) {
  std::string key(name.substr(0, 64));  // longer than any name; limits the message and the search
  for (char& c : key) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (key.ends_with("_perf")) key.resize(key.size() - 5);
  const Spelling* nearest = &kSpellings.front();
  for (const Spelling& s : kSpellings) {
    if (s.name == key) return s.op;
    if (edit_distance(key, s.name) < edit_distance(key, nearest->name)) nearest = &s;
  }
  for (char& c : key)
    if (c < ' ' || c > '~') c = '?';  // the message may go to a terminal
  std::string remedy = std::string("did you mean '") + name_of(nearest->op) + "'?";
  if (edit_distance(key, nearest->name) > std::max<std::size_t>(2, key.size() / 2)) {
    remedy = "there are";
    for (std::size_t i = 0; i < kOurNames; ++i) remedy += (i == 0 ? " " : ", ") + std::string(kSpellings[i].name);
  }
  return invalid("there is no collective '" + key + "'; " + remedy);
}

}  // namespace busbar::collectives
