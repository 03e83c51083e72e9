#include "busbar/routing/pair_spread.h"

#include <algorithm>
#include <cmath>

#include "busbar/base/cores.h"
#include "busbar/routing/internal/hashed_pairs.h"

namespace busbar::routing {
namespace {

constexpr double kWorthThreads = 1 << 17;  // flows, some 10 ms

}  // namespace

PairSpread::PairSpread(const Router& router, std::uint32_t threads)
    : state_(new State{router, *router.state_, threads > 0 ? threads : std::min(kMostIdleCores, idle_cores()),
                       threads > 0 ? 0 : kWorthThreads}) {}
PairSpread::~PairSpread() = default;

/// Whether the flows between two attachments are hashed.
PairSpread::State::Kind PairSpread::State::kind_of(std::uint32_t a, std::uint32_t b) const {
  const Attachment &x = attachments[a], &y = attachments[b];
  if (!x.wide() && !y.wide() && x.switches == y.switches) return Kind::kFixed;
  if (r.policy == topology::RoutingPolicy::kStatic) return Kind::kHashed;
  if (r.policy != topology::RoutingPolicy::kValiant) return Kind::kFixed;
  for (const Router::State::Ports& p : r.ports_between(x.nic, y.nic))  // without a detour: shortest ways
    if (p.a != p.b && r.detours(p.a, p.b).empty()) return Kind::kHashed;
  return Kind::kFixed;
}

PairSpread::State::Way PairSpread::State::find_way(std::uint32_t a, std::uint32_t b) {
  const Attachment &x = attachments[a], &y = attachments[b];
  Way out;
  out.kind = kind_of(a, b);
  out.first = static_cast<std::uint32_t>(pool.size());
  const std::vector<topology::LinkId> up = ports(x.nic), down = ports(y.nic);
  out.up.assign(up.size(), 0.0);
  out.down.assign(down.size(), 0.0);
  if (out.kind == Kind::kHashed) {  // the NIC itself splits
    int best = FabricTable::kFar;
    PairWalk walk(r.topology, r.fabric, 0);
    walk.aim(y.switches, latency_ps);
    double rates = 0;
    for (const std::uint32_t s : x.switches) best = std::min(best, walk.hops(s));
    if (best >= FabricTable::kFar) out.kind = Kind::kNone;
    for (std::size_t p = 0; p < up.size(); ++p)
      if (walk.hops(x.switches[p]) == best)
        rates += out.up[p] = static_cast<double>(per_second(r.topology.link_class(up[p]).wire_rate));
    for (double& share : out.up) share /= rates;
    return out;
  }
  path.clear();
  if (!r.across(x.nic, y.nic, {0, bundled, bias}, path)) {
    out.kind = Kind::kNone;
    return out;
  }
  for (const LinkShare& l : path) {
    const auto is = [&](topology::LinkId cable) { return cable == l.link; };
    const auto first = std::find_if(up.begin(), up.end(), is);
    const auto last =
        std::find_if(down.begin(), down.end(), [&](topology::LinkId cable) { return is(topology::reverse(cable)); });
    if (first != up.end())
      out.up[static_cast<std::size_t>(first - up.begin())] += l.share;
    else if (last != down.end())
      out.down[static_cast<std::size_t>(last - down.begin())] += l.share;
    else
      pool.push_back({l.link, l.share});
  }
  if (bundled) pool.insert(pool.end(), r.hops.begin(), r.hops.end());
  out.count = static_cast<std::uint32_t>(pool.size()) - out.first;
  return out;
}

/// The same; kept for the next call.
PairSpread::State::Way PairSpread::State::way(std::uint32_t a, std::uint32_t b) {
  constexpr std::size_t kMostKept = 1 << 22;  // 64 MiB
  const std::uint64_t pair = std::uint64_t{a} << 32 | b;
  const auto it = ways.find(pair);
  if (it != ways.end()) return it->second;
  if (pool.size() >= kMostKept) ways.clear(), pool.clear();
  return ways.emplace(pair, find_way(a, b)).first->second;
}

/// Latency between all attachments in use, NaN for hashed flows. False: there is no way.
Result<bool> PairSpread::State::find_latencies() {
  constexpr double kUnknown = -1, kMostFlows = 1 << 28;
  constexpr std::size_t kMostWays = 1 << 20, kMostTable = 1 << 24;
  const auto too_many = [](const std::string& what, const char* remedy) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("all pairs would be {}; choose another algorithm, such as bruck{}", what, remedy),
                 {}};
  };
  const std::size_t n = attachments.size();
  if (n * n > kMostTable) return too_many(fmt::format("{} pairs of switches that differ", n * n), "");
  double flows = 0;
  std::size_t split = 0;
  way_ps.assign(n * n, kUnknown);
  between.assign(n * n, Load());
  const auto class_of = [&](CapacityId c) {
    return r.topology.link_class_index(c.is_link() ? c.link() : r.bundles->first(c.number()));
  };
  const auto ps_of = [&](const Way& w, std::uint32_t a, std::uint32_t b) {
    double ps = 0;
    for (std::uint32_t i = w.first; i < w.first + w.count; ++i) ps += pool[i].share * latency_ps[class_of(pool[i].on)];
    const std::vector<topology::LinkId> up = ports(attachments[a].nic), down = ports(attachments[b].nic);
    for (std::size_t p = 0; up.size() > 1 && p < up.size(); ++p) ps += w.up[p] * latency_ps[class_of(up[p])];
    for (std::size_t p = 0; down.size() > 1 && p < down.size(); ++p)
      ps += w.down[p] * latency_ps[class_of(topology::reverse(down[p]))];
    return ps;
  };
  for (std::uint32_t s = 0; s < sources.size(); ++s)
    for (std::uint32_t d = 0; d < sinks.size(); ++d)
      for (std::uint32_t lane = 0; pairs_of(s, d) > 0 && lane < lanes; ++lane) {
        const std::uint32_t a = sources[s].to[sinks[d].far[lane]].attachment, b = sinks[d].by[lane].attachment;
        double& ps = way_ps[a * n + b];
        if (ps == kUnknown) {
          const Way w = way(a, b);
          if (w.kind == Kind::kNone) return false;
          ps = w.kind == Kind::kHashed ? NAN : ps_of(w, a, b);
          if (w.kind == Kind::kFixed && !bundled && ++split > kMostWays)
            return too_many(fmt::format("more than {} ways between switches", kMostWays), "");
        }
        if (std::isnan(ps)) flows += pairs_of(s, d);
        if (flows > kMostFlows)
          return too_many(fmt::format("more than {:.0f} flows, each hashed separately", kMostFlows),
                          ", or a fabric that sprays (--set routing=spray)");
      }
  return true;
}

void PairSpread::State::count_pairs(std::uint32_t source, std::uint32_t sink, double low, double high) {
  const Sink& d = sinks[sink];
  answer.latest_ps = std::max(answer.latest_ps, high);
  least_from[sink] = std::min(least_from[sink], low);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const std::uint32_t far = d.far[lane];
    double& to = least_to[source * fars.size() + far];
    to = std::min(to, low);
    Load& x = between[sources[source].to[far].attachment * attachments.size() + d.by[lane].attachment];
    x.least_ps = x.pairs == 0 ? low : std::min(x.least_ps, low);
    x.pairs += pairs_of(source, sink) / lanes;
  }
}

/// Counts the pairs between attachments and walks the hashed ones.
bool PairSpread::State::pair_classes(const PairEnds& ends) {
  const std::size_t n = attachments.size();
  least_to.assign(sources.size() * fars.size(), INFINITY);
  least_from.assign(sinks.size(), INFINITY);
  HashedPairs hashed(*this, ends);
  for (std::uint32_t d = 0; d < sinks.size() && !stops(stop); ++d)
    for (std::uint32_t s = 0; s < sources.size(); ++s) {
      if (pairs_of(s, d) == 0) continue;
      double ps = 0;
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const Leg &out = sources[s].to[sinks[d].far[lane]], &in = sinks[d].by[lane];
        ps += (out.ps + in.ps + way_ps[out.attachment * n + in.attachment]) / lanes;
      }
      if (!std::isnan(ps)) {
        count_pairs(s, d, ps, ps);
      } else if (!hashed.add(s, d)) {
        hashed.finish();
        return false;
      }
    }
  hashed.finish();
  return true;
}

void PairSpread::State::add_ways() {
  const auto n = static_cast<std::uint32_t>(attachments.size());
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b) {
      const Load& x = between[std::size_t{a} * n + b];
      if (x.pairs == 0 || std::isnan(way_ps[std::size_t{a} * n + b])) continue;
      const Way w = way(a, b);
      for (std::uint32_t i = w.first; i < w.first + w.count; ++i) add(pool[i].on, x.pairs * pool[i].share, x.least_ps);
    }
}

/// From the members to their NICs and into the fabric.
void PairSpread::State::add_leaving(const PairEnds& ends) {
  std::vector<std::vector<double>> all(sources.size() * fars.size());  // per port, if there are several
  for (std::uint32_t s = 0; s < sources.size(); ++s)
    for (std::uint32_t d = 0; d < sinks.size(); ++d)
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const std::uint32_t far = sinks[d].far[lane], a = sources[s].to[far].attachment;
        if (a == kNone32 || !attachments[a].wide() || pairs_of(s, d) == 0) continue;
        const Way w = way(a, sinks[d].by[lane].attachment);
        std::vector<double>& sum = all[s * fars.size() + far];
        sum.resize(w.up.size());
        for (std::size_t p = 0; p < w.up.size(); ++p)
          sum[p] += w.up[p] * static_cast<double>(sinks[d].members.size()) / lanes;
      }
  answer.least_out_ps.assign(members, INFINITY);
  for (std::uint32_t m = 0; m < members; ++m)
    for_each_far(block[m], [&](std::uint32_t far, std::uint32_t others) {
      const std::size_t s = source_of[m];
      const Leg& leg = sources[s].to[far];
      const double least = least_to[s * fars.size() + far];
      answer.least_out_ps[m] = std::min(answer.least_out_ps[m], least);
      const double pairs = static_cast<double>(others) / lanes;
      leave(ends, m, far);
      for (const LinkShare& l : path) add(l.link, pairs * l.share, least);
      const std::vector<topology::LinkId> cables = ports(exit[std::size_t{m} * fars.size() + far]);
      if (cables.size() == 1) return add(cables[0], pairs, least);
      std::vector<double> sum = all[s * fars.size() + far];
      for (const std::uint32_t b : of_block.row(block[m])) {
        const Sink& d = sinks[sink_of[b]];
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
          if (d.far[lane] != far || pairs_of(source_of[m], sink_of[b]) == 0) continue;
          const Way w = way(leg.attachment, d.by[lane].attachment);
          for (std::size_t p = 0; p < sum.size(); ++p) sum[p] -= w.up[p] / lanes;
        }
      }
      for (std::size_t p = 0; p < sum.size(); ++p)
        if (sum[p] > 1e-9) add(cables[p], sum[p], least);  // smaller values are rounding errors
    });
}

/// Out of the fabric and from the NICs to the members. Cables chosen by a hash have their loads already.
void PairSpread::State::add_entering(const PairEnds& ends) {
  std::vector<std::vector<double>> all(sinks.size() * lanes);  // per port, if there are several
  const auto each_port = [&](std::uint32_t s, std::uint32_t d, std::uint32_t lane, double pairs,
                             std::vector<double>& sum) {
    const Leg &out = sources[s].to[sinks[d].far[lane]], &in = sinks[d].by[lane];
    if (pairs_of(s, d) == 0 || out.attachment == kNone32) return;
    const Way w = way(out.attachment, in.attachment);
    sum.resize(w.down.size());
    for (std::size_t p = 0; p < w.down.size(); ++p) sum[p] += w.down[p] * pairs / lanes;
  };
  for (std::uint32_t d = 0; d < sinks.size(); ++d)
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      for (std::uint32_t s = 0; attachments[sinks[d].by[lane].attachment].wide() && s < sources.size(); ++s)
        each_port(s, d, lane, static_cast<double>(sources[s].members.size()), all[d * lanes + lane]);
  for (std::uint32_t m = 0; m < members; ++m) {
    const auto own = of_block.row(block[m]);
    const double pairs = static_cast<double>(members - own.size()) / lanes, least = least_from[sink_of[m]];
    answer.least_in_ps.push_back(least);
    for (std::uint32_t lane = 0; pairs > 0 && lane < lanes; ++lane) {
      const topology::DeviceId nic = ends.nic[std::size_t{m} * lanes + lane];
      path.clear();
      r.blocks.enter(r.block_of(nic), nic, ends.at[m], path);
      for (const LinkShare& l : path) add(l.link, pairs * l.share, least);
      const std::vector<topology::LinkId> cables = ports(nic);
      if (cables.size() == 1) {
        add(topology::reverse(cables[0]), pairs, least);
        continue;
      }
      std::vector<double> sum = all[sink_of[m] * lanes + lane];
      for (const std::uint32_t a : own) each_port(source_of[a], sink_of[m], lane, -1, sum);
      for (std::size_t p = 0; p < sum.size(); ++p)
        if (sum[p] > 1e-9) add(topology::reverse(cables[p]), sum[p], least);
    }
  }
}

Result<bool> PairSpread::State::add_all(const PairEnds& ends) {
  const CapacityCounts counts{r.topology.link_count(), 0, bundled ? r.bundles->count() : 0};
  if (load.empty()) load = PerCapacity<Load>(counts, Load());
  answer = {};
  Result<bool> done = classify(ends);
  if (done.ok() && *done) done = find_latencies();
  if (done.ok() && *done) done = pair_classes(ends);
  if (stops(stop)) done = interrupted();
  if (done.ok() && *done) {
    add_ways();
    add_leaving(ends);
    add_entering(ends);
  }
  std::sort(touched.begin(), touched.end());
  for (const CapacityId c : touched) {
    answer.on.push_back({c, load[c].pairs, load[c].least_ps});
    load[c] = {};
  }
  touched.clear();
  return done;
}

Result<const PairLoads*> PairSpread::between_blocks(const PairEnds& ends, std::span<const double> latency_ps,
                                                    bool bundled, const SplitBias& bias, StopFlag stop) {
  State& s = *state_;
  const auto answer = [&]() -> const PairLoads* { return s.possible ? &s.answer : nullptr; };
  const bool same_ways = s.bias == bias && s.bundled == bundled;
  if (s.answered && same_ways && s.asked == ends && std::ranges::equal(s.asked_ps, latency_ps)) return answer();
  if (!same_ways) {
    s.attachments.clear();
    s.attachment_known.clear();
    s.attachment_of.clear();
    s.ways.clear();
    s.pool.clear();
    s.load = {};
  }
  s.bias = bias;
  s.bundled = bundled;
  s.stop = stop;
  s.asked = ends;
  s.asked_ps.assign(latency_ps.begin(), latency_ps.end());
  s.latency_ps = s.asked_ps;
  s.answered = false;
  BUSBAR_ASSIGN(s.possible, s.add_all(ends));
  s.answered = true;
  return answer();
}

}  // namespace busbar::routing
