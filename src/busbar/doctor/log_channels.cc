#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "busbar/doctor/internal/logged_job.h"

namespace busbar::doctor {
namespace {

constexpr const char* kOtherNode =
    "the node of the log has another PCIe tree or numbers its GPUs or NICs in another order than the described one";

constexpr const char* kForCollectives = "channels for collectives";

void compare_count(LogComparison& out, const std::string& what, int logged, std::uint32_t expected,
                   const std::function<void(LogDifference&)>& explain) {
  if (logged < 0) return;
  if (static_cast<std::uint32_t>(logged) == expected) {
    out.agrees.push_back(fmt::format("{} {}", logged, what));
    return;
  }
  LogDifference d{what, std::to_string(logged), std::to_string(expected), {}, {}, {}};
  explain(d);
  out.differences.push_back(std::move(d));
}

void compare_coll_channels(const LoggedJob& job, int channels, LogComparison& out) {
  const formats::LoggedCommunicator& said = *job.said;
  compare_count(out, kForCollectives, channels, job.comm.channels, [&](LogDifference& d) {
    const bool fewer = static_cast<std::uint32_t>(channels) < job.comm.channels;
    d.cause = fewer ? "a limit that the log does not show (ncclConfig maxCTAs, a framework), slower links or fewer NICs"
                    : "a minimum that the log does not show (ncclConfig minCTAs), faster links or more NICs";
    nccl::NcclComm logged = job.comm;
    logged.channels = static_cast<std::uint32_t>(channels);
    if (said.nvls_channels >= 0) logged.nvls_channels = static_cast<std::uint32_t>(said.nvls_channels);
    price_channels(job, d, logged,
                   {fmt::format("NCCL_MIN_NCHANNELS={}", channels), fmt::format("NCCL_MAX_NCHANNELS={}", channels)});
  });
}

/// Channels that are as few as the log's own settings allow: a difference from what NCCL takes without these settings.
/// False if no setting limits them.
bool compare_with_no_limit(const LoggedJob& job, int logged, LogComparison& out) {
  if (logged < 0 || static_cast<std::uint32_t>(logged) != job.comm.channels) return false;
  LoggedJob free = job;
  std::vector<std::string> limits;
  std::erase_if(free.options.policy.env, [&](const std::string& v) {
    const bool limit = v.starts_with("NCCL_MAX_NCHANNELS=") || v.starts_with("NCCL_MAX_CTAS=");
    if (limit) limits.push_back(v);
    return limit;
  });
  nccl::NcclSettings settings = job.comm.settings;
  settings.max_channels = 0;
  auto comm = comm_of_job(job, settings);
  if (limits.empty() || !comm.ok() || comm->channels <= job.comm.channels) return false;
  free.comm = *std::move(comm);
  LogDifference d{kForCollectives, std::to_string(logged), {}, limits.back() + " in the log", {}, {}};
  d.expected = fmt::format("{} without {}", free.comm.channels, limits.back());
  price_channels(free, d, job.comm, limits);
  out.differences.push_back(std::move(d));
  return true;
}

void compare_counts(const LoggedJob& job, LogComparison& out) {
  const formats::LoggedCommunicator& said = *job.said;
  int channels = said.coll_channels;
  if (channels < 0 && !said.rings.empty()) channels = said.rings.rbegin()->first + 1;
  if (!compare_with_no_limit(job, channels, out)) compare_coll_channels(job, channels, out);
  compare_count(out, "channels for NVLS", said.nvls_channels, job.comm.nvls_channels, [&](LogDifference& d) {
    if (said.nvls_channels == 0) {
      d.cause = "the fabric manager offers no multicast, MIG or a container hides GPUs, or the driver is too old";
      price(job, d, {"NCCL_NVLS_ENABLE=0"});
    } else if (job.comm.nvls_channels > 0) {
      d.cause = "a limit or minimum that the log does not show";
      nccl::NcclComm logged = job.comm;
      logged.nvls_channels = static_cast<std::uint32_t>(said.nvls_channels);
      price_channels(job, d, logged, {fmt::format("NCCL_NVLS_NCHANNELS={}", said.nvls_channels)});
    } else {
      d.cause = "the described machine has no NVLS: another GPU or no switch";
      d.cost_of = "not predicted: describe the machine with it";
    }
  });
  const auto of_sends = [](LogDifference& d) {
    d.cause = "NCCL_MIN_P2P_NCHANNELS, NCCL_MAX_P2P_NCHANNELS, or another path between the GPUs";
    d.cost_of = "not predicted: collectives by rings and trees do not use them";
  };
  compare_count(out, "channels for sends", said.p2p_channels, job.comm.p2p_channels, of_sends);
  compare_count(out, "channels for sends per peer", said.p2p_channels_per_peer, job.comm.p2p_channels_per_peer,
                of_sends);
}

std::string words_of_order(const std::vector<std::uint32_t>& order) {
  constexpr std::size_t kMost = 32;
  std::string out;
  for (std::size_t i = 0; i < order.size() && i < kMost; ++i) out += (i == 0 ? "" : " ") + std::to_string(order[i]);
  return order.size() > kMost ? out + " ..." : out;
}

std::vector<std::uint32_t> node_of_rank(const nccl::NcclComm& comm) {
  std::vector<std::uint32_t> out(comm.ranks);
  for (std::uint32_t n = 0; n < comm.node_count(); ++n)
    for (const std::uint32_t rank : comm.nodes[n].ranks) out[rank] = n;
  return out;
}

/// The ranks that send to another node, per node.
std::set<std::uint32_t> ends_of(const std::vector<std::uint32_t>& order, const std::vector<std::uint32_t>& node) {
  std::set<std::uint32_t> out;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (node[order[i]] != node[order[(i + 1) % order.size()]]) out.insert(order[i]);
  return out;
}

void compare_rings(const LoggedJob& job, LogComparison& out) {
  std::size_t same = 0, all = 0;
  std::optional<LogDifference> first;
  for (const auto& [channel, ranks] : job.said->rings) {
    const std::vector<std::uint32_t> logged(ranks.begin(), ranks.end());
    const bool whole = logged.size() == job.comm.ranks &&
                       std::all_of(logged.begin(), logged.end(), [&](std::uint32_t r) { return r < job.comm.ranks; });
    if (!whole || channel < 0 || static_cast<std::uint32_t>(channel) >= job.comm.channels) continue;
    const std::vector<std::uint32_t> expected = nccl::nccl_ring(job.comm, static_cast<std::uint32_t>(channel)).order;
    ++all;
    same += logged == expected;
    if (logged != expected && !first)
      first = LogDifference{
          {}, fmt::format("channel {}: {}", channel, words_of_order(logged)), words_of_order(expected), {}, {}, {}};
  }
  if (same > 0) out.agrees.push_back(fmt::format("{} of {} rings", same, all));
  if (!first) return;
  first->what = fmt::format("rings: {} of {} differ", all - same, all);
  first->cause = kOtherNode;
  price_rings(job, *first);
  out.differences.push_back(std::move(*first));
}

bool same_tree(const formats::LoggedTree& logged, const nccl::NcclTree& tree, std::uint32_t rank) {
  std::multiset<int> a, b;
  for (const int child : logged.down)
    if (child >= 0) a.insert(child);
  for (const std::int32_t child : tree.down[rank])
    if (child >= 0) b.insert(child);
  return a == b && logged.up == tree.up[rank];
}

std::string words_of_tree(const formats::LoggedTree& t, int rank) {
  return fmt::format("{}/{}/{}->{}->{}", t.down[0], t.down[1], t.down[2], rank, t.up);
}

void compare_trees(const LoggedJob& job, LogComparison& out) {
  std::size_t same = 0, all = 0;
  std::optional<LogDifference> first;
  for (std::uint32_t c = 0; c < job.comm.channels; ++c) {
    const nccl::NcclTree tree = nccl::nccl_tree(job.comm, c);
    for (const auto& [rank, member] : job.said->members) {
      if (c >= member.trees.size() || static_cast<std::uint32_t>(rank) >= job.comm.ranks) continue;
      const auto r = static_cast<std::uint32_t>(rank);
      ++all;
      if (same_tree(member.trees[c], tree, r)) {
        ++same;
      } else if (!first) {
        const formats::LoggedTree ours{{tree.down[r][0], tree.down[r][1], tree.down[r][2]}, tree.up[r]};
        first = LogDifference{{},
                              fmt::format("channel {}: {}", c, words_of_tree(member.trees[c], rank)),
                              words_of_tree(ours, rank),
                              {},
                              {},
                              {}};
      }
    }
  }
  if (same > 0) out.agrees.push_back(fmt::format("{} of {} places in trees", same, all));
  if (!first) return;
  first->what = fmt::format("trees: {} of {} places differ", all - same, all);
  first->cause = kOtherNode;
  price_trees(job, *first);
  out.differences.push_back(std::move(*first));
}

struct ChannelNic {
  std::uint32_t node = 0;
  int channel = 0;
  std::set<int> logged;
  std::uint32_t expected = 0;
};

/// The NIC by which each ring leaves each node.
std::vector<ChannelNic> nics_of_rings(const LoggedJob& job) {
  const std::vector<std::uint32_t> node = node_of_rank(job.comm);
  std::vector<ChannelNic> out;
  for (const auto& [channel, order] : job.said->rings) {
    if (channel < 0 || static_cast<std::uint32_t>(channel) >= job.comm.channels) continue;
    const nccl::NcclRing ring = nccl::nccl_ring(job.comm, static_cast<std::uint32_t>(channel));
    if (order.size() != job.comm.ranks || ring.ports.empty()) continue;
    for (const std::uint32_t r : ends_of({order.begin(), order.end()}, node)) {
      ChannelNic nic{node[r], channel, {}, ring.ports[node[r]].out.net};
      if (const auto member = job.said->members.find(static_cast<int>(r)); member != job.said->members.end())
        for (const formats::LoggedNic& s : member->second.sends)
          if (s.channel == channel) nic.logged.insert(s.device);
      if (!nic.logged.empty()) out.push_back(std::move(nic));
    }
  }
  return out;
}

/// (node, network device of the model) -> the NIC of the log that stands for it. The log may number NICs in another
/// order, so it is the one in all sends of the channels that the model sends there.
std::map<std::pair<std::uint32_t, std::uint32_t>, int> logged_numbers(const std::vector<ChannelNic>& nics) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<int>> common;
  for (const ChannelNic& n : nics) {
    const auto [at, fresh] = common.try_emplace({n.node, n.expected}, n.logged);
    if (!fresh) std::erase_if(at->second, [&](int device) { return !n.logged.contains(device); });
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> out;
  while (!common.empty()) {  // the one with the fewest possible NICs first
    const auto at = std::min_element(common.begin(), common.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const auto [place, devices] = *at;
    common.erase(at);
    if (devices.empty()) continue;
    out.emplace(place, *devices.begin());
    for (auto& [other, left] : common)
      if (other.first == place.first) left.erase(*devices.begin());
  }
  return out;
}

void compare_channel_nics(const LoggedJob& job, LogComparison& out) {
  const std::vector<ChannelNic> nics = nics_of_rings(job);
  const auto number = logged_numbers(nics);
  std::size_t same = 0;
  std::optional<LogDifference> first;
  for (const ChannelNic& n : nics) {
    const auto at = number.find({n.node, n.expected});
    const bool agrees = at != number.end() && n.logged.contains(at->second);
    same += agrees;
    if (agrees || first) continue;
    first = LogDifference{{},
                          fmt::format("channel {} leaves node {} by NIC {}", n.channel, n.node, *n.logged.begin()),
                          at == number.end() ? "by a NIC of its own" : fmt::format("by NIC {}", at->second),
                          kOtherNode,
                          {},
                          "not predicted: the number of NICs in use decides, and it is compared above"};
  }
  if (same > 0) out.agrees.push_back(fmt::format("NICs of {} of {} ends of rings", same, nics.size()));
  if (!first) return;
  first->what = fmt::format("NICs of channels: {} of {} differ", nics.size() - same, nics.size());
  out.differences.push_back(std::move(*first));
}

}  // namespace

void compare_channels(const LoggedJob& job, LogComparison& out) {
  compare_counts(job, out);
  compare_rings(job, out);
  compare_channel_nics(job, out);
  compare_trees(job, out);
}

}  // namespace busbar::doctor
