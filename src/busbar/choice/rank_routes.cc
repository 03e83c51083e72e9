#include "busbar/choice/internal/rank_routes.h"

#include <algorithm>
#include <cmath>

#include "busbar/routing/flow_name.h"

namespace busbar::choice {
namespace {

bool same_links(std::span<const RankRoutes::Part> a, std::span<const RankRoutes::Part> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.link == y.link; });
}

}  // namespace

/// Reads the routes of one node and numbers its links in order of first use.
class RankRoutes::Reader {
 public:
  Reader(const routing::Router& router, const routing::Placement& placement, bool equal_rates = false)
      : router_(router), placement_(placement), equal_rates_(equal_rates), number_(router.topology().link_count(), 0) {}

  void start_node() {
    for (const std::uint32_t l : met_) number_[l] = 0;
    met_.clear();
  }
  std::uint32_t links() const { return static_cast<std::uint32_t>(met_.size()); }

  std::vector<Part> between(std::uint32_t a, std::uint32_t b, bool keep_fabric = true) {
    std::vector<Part> out;
    if (a == b) return out;
    const topology::DeviceId from = placement_.gpu(a), to = placement_.gpu(b);
    const topology::Topology& t = router_.topology();
    path_.clear();
    const std::uint32_t lanes = t.block_of(from) == t.block_of(to) ? 1 : placement_.nic_channels();
    for (std::uint32_t c = 0; c < lanes; ++c) {
      const topology::DeviceId nic_to = placement_.nic(b, c),
                               nic_from = router_.exit_nic(from, placement_.nic(a, c), nic_to);
      if (!router_.spread(from, to, nic_from, nic_to, routing::flow_name(from, to, c), path_).ok()) return out;
    }
    for (const routing::LinkShare& s : path_) {
      if (!keep_fabric && t.block_of(t.from(s.link)) == kNone<topology::BlockId> &&
          t.block_of(t.to(s.link)) == kNone<topology::BlockId>)
        continue;
      std::uint32_t& k = number_[index(s.link)];
      if (k == 0) {
        met_.push_back(index(s.link));
        k = links();
      }
      const double ps_per_byte = s.share / lanes / (equal_rates_ ? 1 : t.payload_rate(s.link) * 1e-12);
      const auto same = std::find_if(out.begin(), out.end(), [&](const Part& p) { return p.link == k - 1; });
      if (same == out.end())
        out.push_back({k - 1, ps_per_byte});
      else
        same->ps_per_byte += ps_per_byte;
    }
    return out;
  }

 private:
  const routing::Router& router_;
  const routing::Placement& placement_;
  const bool equal_rates_;
  std::vector<std::uint32_t> number_;  ///< per link: 1 + its dense number; 0: not used yet
  std::vector<std::uint32_t> met_;
  std::vector<routing::LinkShare> path_;
};

RankRoutes::RankRoutes(const routing::Router& router, const routing::Placement& placement,
                       const program::CollectiveCall& call, bool equal_rates)
    : ranks_(call.groups.size()) {
  Reader reader(router, placement, equal_rates);
  Rows rows;
  for (std::uint32_t a = 0; a < ranks_; ++a)
    for (std::uint32_t b = 0; b < ranks_; ++b)
      rows.push_back(reader.between(call.groups.actor(0, a), call.groups.actor(0, b)));
  rows.resize(rows.size() + ranks_);
  keep({std::move(rows)});
}

RankRoutes::RankRoutes(const routing::Router& router, const routing::Placement& placement,
                       std::span<const std::vector<std::uint32_t>> nodes, const Shortcuts& shortcuts)
    : ranks_(static_cast<std::uint32_t>(nodes[0].size())) {
  Reader reader(router, placement);
  std::vector<Rows> kinds;
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    reader.start_node();
    const auto& here = nodes[v];
    const auto& next = nodes[(v + 1) % nodes.size()];
    Rows rows;
    for (const std::uint32_t a : here)
      for (const std::uint32_t b : here) rows.push_back(reader.between(a, b));
    for (std::uint32_t l = 0; l < ranks_; ++l) rows.push_back(reader.between(here[l], next[l], false));
    const auto alike = std::find_if(kinds.begin(), kinds.end(), [&](const Rows& k) {
      return std::equal(k.begin(), k.end(), rows.begin(), same_links);
    });
    if (alike == kinds.end() || !shortcuts.take(Shortcut::kEqualNodes)) {
      kinds.push_back(std::move(rows));
      continue;
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t p = 0; p < rows[i].size(); ++p)
        (*alike)[i][p].ps_per_byte = std::max((*alike)[i][p].ps_per_byte, rows[i][p].ps_per_byte);
  }
  keep(kinds);
}

bool RankRoutes::has_equal_rates() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [&](const Part& p) { return std::abs(p.ps_per_byte / parts_.front().ps_per_byte - 1) < 1e-9; });
}

/// Stores, row by row, the loads of all nodes. The links of a node are numbered after those of the previous nodes.
void RankRoutes::keep(const std::vector<Rows>& nodes) {
  std::vector<std::uint32_t> first;
  for (const Rows& rows : nodes) {
    first.push_back(links_);
    for (const auto& row : rows)
      for (const Part& p : row) links_ = std::max(links_, first.back() + p.link + 1);
  }
  begin_.push_back(0);
  for (std::size_t i = 0; i < nodes[0].size(); ++i) {
    const bool everywhere = std::none_of(nodes.begin(), nodes.end(), [&](const Rows& rows) { return rows[i].empty(); });
    for (std::size_t v = 0; everywhere && v < nodes.size(); ++v)
      for (const Part& p : nodes[v][i]) parts_.push_back({first[v] + p.link, p.ps_per_byte});
    begin_.push_back(parts_.size());
  }
}

}  // namespace busbar::choice
