#include "busbar/cli/packet_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace busbar {
namespace {

constexpr std::pair<const char*, PacketTransport> kTransports[] = {
    {"nscc", PacketTransport::kNscc},          {"dcqcn", PacketTransport::kDcqcn},
    {"hpcc", PacketTransport::kHpcc},          {"roce", PacketTransport::kRoce},
    {"swift", PacketTransport::kSwift},        {"ib", PacketTransport::kIb},
    {"tcp-cubic", PacketTransport::kTcpCubic}, {"dctcp", PacketTransport::kDctcp},
    {"credit", PacketTransport::kCredit}};

}  // namespace

std::string transport_words() {
  std::string words;
  for (const auto& t : kTransports) words += fmt::format("{}{}", words.empty() ? "" : ", ", t.first);
  return words;
}

Result<PacketOptions> read_packet_options(std::string& transport, std::string& balance,
                                          std::optional<std::int64_t> seed, const Cluster& cluster) {
  PacketOptions p;
  if (transport.empty()) transport = kTransports[0].first;
  const auto known =
      std::find_if(std::begin(kTransports), std::end(kTransports), [&](const auto& t) { return transport == t.first; });
  if (known == std::end(kTransports)) {
    return invalid(fmt::format("there is no transport '{}'; use one of {}", transport, transport_words()),
                   {"", 0, 0, "--transport"});
  }
  p.transport = known->second;
  if (balance.empty())
    balance = cluster.routing == RoutingPolicy::kSpray      ? "spray"
              : cluster.routing == RoutingPolicy::kAdaptive ? "adaptive"
                                                            : "ecmp";
  if (balance == "ecmp")
    p.balance = PacketBalance::kEcmp;
  else if (balance == "spray")
    p.balance = PacketBalance::kSpray;
  else if (balance == "adaptive")
    p.balance = PacketBalance::kAdaptive;
  else
    return invalid(fmt::format("'{}' is unknown to the packet engine; use ecmp, spray or adaptive", balance),
                   {"", 0, 0, "--lb"});
  if (seed && *seed < 0) return invalid("a seed is 0 or more", {"", 0, 0, "--seed"});
  p.seed = seed ? static_cast<std::uint64_t>(*seed) : cluster.seed;
  return p;
}

}  // namespace busbar
