// Longer ways than the shortest: Valiant's routing, and adaptive routing if switches of a tier are joined.
#include <algorithm>

#include "busbar/base/random.h"
#include "busbar/routing/internal/router_state.h"

namespace busbar::routing {

/// Appends one shortest way between two switches; a hash picks among equal hops.
void Router::State::walk(std::uint32_t from, std::uint32_t to, std::uint64_t flow, std::vector<topology::LinkId>& way) {
  std::uint32_t x = from;
  for (int left = fabric.distance(from, to); left > 0; --left) {
    std::vector<FabricTable::Hop> nearer;
    for (const FabricTable::Hop& hop : fabric.hops(x))
      if (fabric.nearer(to, hop.to) == left - 1) nearer.push_back(hop);
    const FabricTable::Hop& hop = nearer[mix64(flow ^ mix64(seed ^ x)) % nearer.size()];
    way.push_back(hop.link);
    x = hop.to;
  }
}

/// A detour over each leaf that lies on a way of at most twice the shortest length and crosses no switch twice; at most
/// kMostDetours of them. Inside a group of a dragonfly the leaves are the group's other switches.
Router::State::Ways Router::State::find_detours(std::uint32_t a, std::uint32_t b) {
  constexpr std::size_t kMostDetours = 64;
  const int straight = fabric.distance(a, b);
  std::vector<std::uint32_t> middles;
  for (const std::uint32_t m : fabric.leaves()) {
    if (m == a || m == b || !fabric.joined(a, m)) continue;
    if (fabric.distance(m, a) + fabric.distance(m, b) <= 2 * straight) middles.push_back(m);  // links go both ways
  }
  Ways out;
  const std::size_t ways = std::min(middles.size(), kMostDetours);
  for (std::size_t i = 0; i < ways; ++i) {
    const std::uint32_t m = middles[i * middles.size() / ways];
    std::vector<topology::LinkId> way;
    walk(a, m, mix64(a) ^ m, way);
    walk(m, b, mix64(b) ^ m, way);
    std::vector<topology::DeviceId> met{topology.from(way.front())};
    for (const topology::LinkId l : way) met.push_back(topology.to(l));
    std::sort(met.begin(), met.end());
    if (std::adjacent_find(met.begin(), met.end()) == met.end()) out.push_back(std::move(way));
  }
  return out;
}

/// The same; kept for the next flow between the two switches.
const Router::State::Ways& Router::State::detours(std::uint32_t a, std::uint32_t b) {
  constexpr std::size_t kMostKept = 1 << 14;  // pairs of about 64 ways each: a few hundred MiB at most
  const std::uint64_t pair = std::uint64_t{a} << 32 | b;
  const auto it = known_detours.find(pair);
  if (it != known_detours.end()) return it->second;
  if (known_detours.size() >= kMostKept) known_detours.clear();
  return known_detours.emplace(pair, find_detours(a, b)).first->second;
}

/// The pull of links in series, which add up like conductances.
double Router::State::pull(const std::vector<topology::LinkId>& way, const SplitBias& bias) const {
  double resistance = 0;
  for (const topology::LinkId l : way) resistance += 1 / pull(l, bias);
  return 1 / resistance;
}

/// Valiant's routing: shares over the detours, equal unless biased. From a switch to itself: the straight way. False,
/// with nothing appended, if there is no detour.
bool Router::State::around(topology::DeviceId from, topology::DeviceId to, const SplitBias& bias,
                           std::vector<LinkShare>& out) {
  struct Step {
    std::size_t at;  ///< hops from the start
    LinkShare part;
  };
  std::vector<Step> steps;
  const std::vector<Ports> ports = ports_between(from, to);
  for (const Ports& p : ports) {
    const double share = 1.0 / static_cast<double>(ports.size());
    steps.push_back({0, {p.up, share}});
    steps.push_back({SIZE_MAX, {p.down, share}});
    if (p.a == p.b) continue;
    const Ways& ways = detours(p.a, p.b);
    if (ways.empty()) return false;
    std::vector<double> pulls;
    for (const std::vector<topology::LinkId>& way : ways) pulls.push_back(bias.empty() ? 1 : pull(way, bias));
    const double most = *std::max_element(pulls.begin(), pulls.end());
    double all = 0;
    for (double& p : pulls) all += p = Front::too_weakly(p, most) ? 0 : p;
    for (std::size_t w = 0; w < ways.size(); ++w)
      for (std::size_t i = 0; i < ways[w].size() && pulls[w] > 0; ++i)
        steps.push_back({1 + i, {ways[w][i], share * pulls[w] / all}});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& x, const Step& y) { return x.at < y.at; });
  std::unordered_map<std::uint32_t, std::size_t> places;  // only looked up
  for (const Step& s : steps) {
    const auto [it, fresh] = places.emplace(index(s.part.link), out.size());
    if (fresh)
      out.push_back(s.part);
    else
      out[it->second].share += s.part.share;
  }
  return !steps.empty();
}

/// If switches of the lowest tier are joined directly (dragonflies, tori), adaptive routing with a bias also takes
/// detours. Their part depends on their mean pull against that of the shortest ways, to a power that prefers shorter
/// ways while neither is busy. Source of the rule: UGAL (Kim et al., ISCA 2008) compares the shortest way with one
/// random detour by queue x hops. `out` from `begin` on holds the shortest ways.
void Router::State::take_detours(topology::DeviceId from, topology::DeviceId to, const SplitBias& bias,
                                 std::size_t begin, std::vector<LinkShare>& out) {
  double straight = 0, detour = 0;
  std::size_t count = 0;
  for (const Ports& p : ports_between(from, to)) {
    if (p.a == p.b) continue;
    for (const std::vector<topology::LinkId>& way : detours(p.a, p.b)) detour += pull(way, bias), ++count;
  }
  if (count == 0) return;
  double resistance = 0;  // of the shortest ways: links of one hop in parallel, hops in series
  for (std::size_t i = begin; i < out.size(); ++i) {
    const topology::LinkId l = out[i].link;
    if (topology.from(l) != from && topology.to(l) != to) resistance += out[i].share * out[i].share / pull(l, bias);
  }
  if (resistance == 0) return;
  straight = 1 / resistance;
  const auto steep = [](double x) { return x * x * x * x; };
  const double stay = steep(straight), leave = steep(detour / static_cast<double>(count));
  if (Front::too_weakly(leave, stay)) return;
  const double kept = Front::too_weakly(stay, leave) ? 0 : stay / (stay + leave);
  std::vector<LinkShare> around_it;
  if (!around(from, to, bias, around_it)) return;
  std::unordered_map<std::uint32_t, std::size_t> places;  // only looked up
  for (std::size_t i = begin; i < out.size(); ++i) {
    out[i].share *= kept;
    places.emplace(index(out[i].link), i);
  }
  for (const LinkShare& s : around_it) {
    const auto [it, fresh] = places.emplace(index(s.link), out.size());
    if (fresh) out.push_back({s.link, 0});
    out[it->second].share += (1 - kept) * s.share;
  }
  if (kept == 0) std::erase_if(out, [](const LinkShare& s) { return s.share == 0; });
}

}  // namespace busbar::routing
