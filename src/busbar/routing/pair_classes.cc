// Classes of members that are alike to the fabric.
#include <algorithm>
#include <bit>

#include "busbar/routing/internal/pair_spread_state.h"

namespace busbar::routing {

double PairSpread::State::path_ps() const {
  double ps = 0;
  for (const LinkShare& l : path) ps += l.share * latency_ps[r.topology.link_class_index(l.link)];
  return ps;
}

/// The cables of a NIC if all lead to switches; otherwise none.
std::vector<topology::LinkId> PairSpread::State::ports(topology::DeviceId nic) const {
  std::vector<topology::LinkId> out;
  for (const topology::LinkId l : r.topology.out_links(nic)) {
    if (r.topology.block_of(r.topology.to(l)) == r.topology.block_of(nic)) continue;
    if (r.fabric.number(r.topology.to(l)) < 0 || !topology::is_fabric(r.topology.link_class(l).kind)) return {};
    out.push_back(l);
  }
  return out;
}

std::uint32_t PairSpread::State::attach(topology::DeviceId nic) {
  const auto [known, fresh] = attachment_of.try_emplace(index(nic), kNone32);
  if (!fresh) return known->second;
  const std::vector<topology::LinkId> cables = ports(nic);
  if (cables.empty()) return kNone32;
  std::vector<std::uint32_t> key;
  Attachment a{nic, {}};
  for (const topology::LinkId l : cables) {
    a.switches.push_back(static_cast<std::uint32_t>(r.fabric.number(r.topology.to(l))));
    key.push_back(a.switches.back());
    if (cables.size() > 1) {  // shares and latency depend on the cables
      key.push_back(r.topology.link_class_index(l));
      key.push_back(r.topology.link_class_index(topology::reverse(l)));
    }
    for (const topology::LinkId way : {l, topology::reverse(l)})
      if (!bias.empty()) {
        const auto pull = std::bit_cast<std::uint64_t>(r.pull(way, bias));
        key.push_back(static_cast<std::uint32_t>(pull >> 32));
        key.push_back(static_cast<std::uint32_t>(pull));
      }
  }
  const auto next = static_cast<std::uint32_t>(attachments.size());
  known->second = attachment_known.try_emplace(std::move(key), next).first->second;
  if (known->second == next) attachments.push_back(std::move(a));
  return known->second;
}

/// Blocks of the members and attachments of their NICs.
bool PairSpread::State::place(const PairEnds& ends) {
  members = static_cast<std::uint32_t>(ends.gpu.size());
  lanes = static_cast<std::uint32_t>(ends.lane.size());
  std::vector<std::vector<std::uint32_t>> rows;
  std::unordered_map<std::uint32_t, std::uint32_t> number;  // only looked up
  block.resize(members);
  for (std::uint32_t m = 0; m < members; ++m) {
    const auto next = static_cast<std::uint32_t>(rows.size());
    block[m] = number.try_emplace(index(r.topology.block_of(ends.gpu[m])), next).first->second;
    if (block[m] == next) rows.emplace_back();
    rows[block[m]].push_back(m);
  }
  of_block.clear();
  for (const auto& row : rows) {
    of_block.values.insert(of_block.values.end(), row.begin(), row.end());
    of_block.close_row();
  }
  return std::all_of(ends.nic.begin(), ends.nic.end(), [&](topology::DeviceId nic) {
    return nic != kNone<topology::DeviceId> && attach(nic) != kNone32;
  });
}

/// Router::exit_nic and relays depend on the kind of server, the NIC's place in it, and what the NIC is joined to.
bool PairSpread::State::find_fars(const PairEnds& ends) {
  fars.clear();
  far_of.resize(std::size_t{members} * lanes);
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  std::vector<std::uint32_t> key;
  for (std::uint32_t m = 0; m < members; ++m)
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const topology::DeviceId nic = ends.nic[std::size_t{m} * lanes + lane];
      const topology::Block& b = r.block_of(nic);
      key.clear();
      for (const std::uint32_t s : attachments[attach(nic)].switches) key.push_back(r.fabric.island(s));
      std::sort(key.begin(), key.end());
      key.erase(std::unique(key.begin(), key.end()), key.end());
      key.insert(key.end(), {b.template_index, index(nic) - b.first_device, lane});
      const auto next = static_cast<std::uint32_t>(fars.size());
      const std::uint32_t far = known.try_emplace(key, next).first->second;
      if (far == next) fars.push_back({nic, lane, 0});
      ++fars[far].members;
      far_of[std::size_t{m} * lanes + lane] = far;
    }
  own_far.assign(fars.size(), 0);
  return true;
}

/// Writes the links from a member to the NIC it sends by into `path`.
bool PairSpread::State::leave(const PairEnds& ends, std::uint32_t member, std::uint32_t far) {
  const std::size_t at = std::size_t{member} * fars.size() + far;
  const topology::Block& b = r.block_of(ends.gpu[member]);
  path.clear();
  return relayed[at] != 0 ? r.blocks.over_owner(b, ends.at[member], exit[at], path)
                          : r.blocks.leave(b, ends.at[member], exit[at], path);
}

bool PairSpread::State::find_sources(const PairEnds& ends) {
  sources.clear();
  source_of.resize(members);
  exit.assign(std::size_t{members} * fars.size(), kNone<topology::DeviceId>);
  relayed.assign(exit.size(), 0);
  std::map<std::vector<std::uint64_t>, std::uint32_t> known;
  std::vector<std::uint64_t> key;
  std::vector<Leg> legs(fars.size());
  bool all = true;
  const auto open = [&](std::uint32_t m, std::uint32_t f) {
    const Far& far = fars[f];
    const std::size_t at = std::size_t{m} * fars.size() + f;
    exit[at] = router.exit_nic(ends.gpu[m], ends.nic[std::size_t{m} * lanes + far.lane], far.nic);
    if (!r.joined(exit[at], far.nic)) {
      exit[at] = r.relay_nic(ends.at[m], far.nic);
      relayed[at] = 1;
      if (exit[at] == kNone<topology::DeviceId>) return false;
    }
    const std::uint32_t attachment = attach(exit[at]);
    if (attachment == kNone32 || !leave(ends, m, f)) return false;
    legs[f] = {attachment, ends.before_ps[m] + path_ps()};
    if (!attachments[attachment].wide()) legs[f].ps += latency_ps[r.topology.link_class_index(ports(exit[at])[0])];
    return true;
  };
  for (std::uint32_t b = 0; b < of_block.rows() && all; ++b)
    for (const std::uint32_t m : of_block.row(b)) {
      legs.assign(fars.size(), Leg());
      for_each_far(b, [&](std::uint32_t f, std::uint32_t) { all = all && open(m, f); });
      if (!all) return false;
      key.clear();
      for (const Leg& leg : legs) key.insert(key.end(), {leg.attachment, std::bit_cast<std::uint64_t>(leg.ps)});
      const auto next = static_cast<std::uint32_t>(sources.size());
      source_of[m] = known.try_emplace(key, next).first->second;
      if (source_of[m] == next) sources.push_back({legs, {}});
      sources[source_of[m]].members.push_back(m);
    }
  return true;
}

bool PairSpread::State::find_sinks(const PairEnds& ends) {
  sinks.clear();
  sink_of.resize(members);
  std::map<std::vector<std::uint64_t>, std::uint32_t> known;
  std::vector<std::uint64_t> key;
  for (std::uint32_t m = 0; m < members; ++m) {
    Sink s;
    key.clear();
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const topology::DeviceId nic = ends.nic[std::size_t{m} * lanes + lane];
      const std::uint32_t attachment = attach(nic);
      path.clear();
      if (!r.blocks.enter(r.block_of(nic), nic, ends.at[m], path)) return false;
      Leg leg{attachment, ends.after_ps[m] + path_ps()};
      if (!attachments[attachment].wide())
        leg.ps += latency_ps[r.topology.link_class_index(topology::reverse(ports(nic)[0]))];
      s.far.push_back(far_of[std::size_t{m} * lanes + lane]);
      s.by.push_back(leg);
      key.insert(key.end(), {s.far.back(), leg.attachment, std::bit_cast<std::uint64_t>(leg.ps)});
    }
    const auto next = static_cast<std::uint32_t>(sinks.size());
    sink_of[m] = known.try_emplace(key, next).first->second;
    if (sink_of[m] == next) sinks.push_back(std::move(s));
    sinks[sink_of[m]].members.push_back(m);
  }
  return true;
}

bool PairSpread::State::classify(const PairEnds& ends) {
  constexpr std::size_t kMostClassPairs = 1 << 26;
  if (!place(ends) || !find_fars(ends) || !find_sources(ends) || !find_sinks(ends)) return false;
  if (sources.size() * sinks.size() > kMostClassPairs) return false;
  neighbours.assign(sources.size() * sinks.size(), 0);
  for (std::uint32_t b = 0; b < of_block.rows(); ++b)
    for (const std::uint32_t x : of_block.row(b))
      for (const std::uint32_t y : of_block.row(b)) ++neighbours[source_of[x] * sinks.size() + sink_of[y]];
  return true;
}

}  // namespace busbar::routing
