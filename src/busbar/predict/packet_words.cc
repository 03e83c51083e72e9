#include "busbar/predict/packet_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "busbar/base/check.h"
#include "busbar/base/cores.h"
#include "busbar/packet/transport_names.h"
#include "busbar/predict/penalties.h"
#include "busbar/spec/packet_lines.h"

namespace busbar::predict {
namespace {

constexpr std::pair<const char*, packet::PacketBalance> kBalances[] = {{"ecmp", packet::PacketBalance::kEcmp},
                                                                       {"spray", packet::PacketBalance::kSpray},
                                                                       {"adaptive", packet::PacketBalance::kAdaptive},
                                                                       {"flowlet", packet::PacketBalance::kFlowlet}};

constexpr std::string_view kSetting = "packet.", kProfile = "packet=";

bool is_for_packets(const std::string& set) { return set.starts_with(kSetting) || set.starts_with(kProfile); }

/// --set packet=PROFILE, which takes what `packet:` in a file does. `none` also removes the settings before it.
Status add_profile(const std::string& profile, const std::string& catalog_directory,
                   std::vector<packet::PacketSetting>& out) {
  if (profile == "none") out.clear();
  BUSBAR_ASSIGN(YamlDocument document, YamlDocument::parse("{}", ""));
  BUSBAR_RETURN_IF_ERROR(document.set("packet", profile));
  std::string read;
  BUSBAR_ASSIGN(const auto lines,
                spec::read_packet_lines(*document.root().find("packet"), spec::Catalog(catalog_directory), read));
  BUSBAR_ASSIGN(const auto settings, read_packet_settings(lines));
  out.insert(out.end(), settings.begin(), settings.end());
  return {};
}

/// Adds those of --set. Of equal settings the last counts.
Status add_settings(const spec::Overrides& overrides, std::vector<packet::PacketSetting>& out) {
  for (const std::string& set : overrides.set) {
    if (!is_for_packets(set)) continue;
    if (set.starts_with(kProfile)) {
      BUSBAR_RETURN_IF_ERROR(add_profile(set.substr(kProfile.size()), overrides.catalog, out));
      continue;
    }
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos) return invalid(fmt::format("'{}' has no value", set), {"", 0, 0, "--set"});
    const std::string_view all(set);
    const std::string_view key = all.substr(kSetting.size(), equals - kSetting.size());
    BUSBAR_ASSIGN(packet::PacketSetting setting, packet::read_packet_setting(key, all.substr(equals + 1)));
    out.push_back(std::move(setting));
  }
  return {};
}

}  // namespace

std::vector<std::string_view> packet_balances() {
  std::vector<std::string_view> out;
  for (const auto& b : kBalances) out.emplace_back(b.first);
  return out;
}

Result<std::vector<packet::PacketSetting>> read_packet_settings(const std::vector<spec::PacketLine>& lines) {
  std::vector<packet::PacketSetting> out;
  for (const spec::PacketLine& line : lines) {
    BUSBAR_ASSIGN(packet::PacketSetting setting, packet::read_packet_setting(line.key, line.text, line.where));
    out.push_back(std::move(setting));
  }
  return out;
}

spec::Overrides without_packets(spec::Overrides overrides) {
  std::erase_if(overrides.set, is_for_packets);
  return overrides;
}

Result<packet::PacketOptions> packet_options(std::string& transport, std::string& balance, const spec::Cluster& cluster,
                                             const spec::Overrides& overrides) {
  packet::PacketOptions p;
  BUSBAR_ASSIGN(p.settings, read_packet_settings(cluster.packet));
  BUSBAR_RETURN_IF_ERROR(add_settings(overrides, p.settings));
  if (transport.empty()) transport = packet::packet_transports().front().name;
  const packet::PacketTransportName* known = packet::find_packet_transport(transport);
  BUSBAR_CHECK(known != nullptr) << transport;  // the table of flags refuses other words
  p.transport = known->transport;
  if (balance.empty()) balance = balance_of(cluster);
  const auto way =
      std::find_if(std::begin(kBalances), std::end(kBalances), [&](const auto& b) { return balance == b.first; });
  BUSBAR_CHECK(way != std::end(kBalances)) << balance;
  p.balance = way->second;
  p.memory_bytes = memory_of_this_machine();
  p.seed = cluster.seed;
  return p;
}

}  // namespace busbar::predict
