#include "busbar/routing/gpu_mesh.h"

#include <algorithm>
#include <utility>

namespace busbar::routing {
namespace {

using Place = std::array<std::uint32_t, 3>;

Place place_of(const Grid& g, std::uint32_t ordinal) {
  return {ordinal % g.extent[0], ordinal / g.extent[0] % g.extent[1], ordinal / g.extent[0] / g.extent[1]};
}

/// Extents of the box that these places fill in their order, without extents of 1; empty if they fill no box.
std::vector<std::uint32_t> box_of(std::span<const Place> places) {
  std::vector<std::uint32_t> extents;
  std::size_t stride = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    std::vector<std::uint32_t> used;
    for (const Place& p : places) used.push_back(p[d]);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i][d] != used[i / stride % used.size()]) return {};
    if (used.size() > 1) extents.push_back(static_cast<std::uint32_t>(used.size()));
    stride *= used.size();
  }
  return stride == places.size() ? extents : std::vector<std::uint32_t>();
}

std::uint32_t ordinal_of(const Grid& g, const Place& p) { return p[0] + g.extent[0] * (p[1] + g.extent[1] * p[2]); }

}  // namespace

GpuMesh::GpuMesh(const topology::Topology& t, const topology::Block& block) {
  std::vector<std::int32_t> ordinal(block.device_count, -1);
  std::int32_t gpus = 0;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    if (t.kind(static_cast<topology::DeviceId>(block.first_device + p)) == topology::DeviceKind::kGpu)
      ordinal[p] = gpus++;
  }
  ici_ = true;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    if (ordinal[p] < 0) continue;
    for (const topology::LinkId l : t.out_links(static_cast<topology::DeviceId>(block.first_device + p))) {
      const std::uint32_t to = index(t.to(l)) - block.first_device;  // wraps to a large number if outside
      const topology::LinkClass& c = t.link_class(l);
      if (to >= block.device_count || ordinal[to] < 0 || !topology::is_scale_up(c.kind)) continue;
      ici_ = ici_ && c.kind == topology::LinkKind::kIci;
      hops_.values.push_back({static_cast<std::uint32_t>(ordinal[to]), index(l) - block.first_link,
                              static_cast<double>(per_second(c.wire_rate))});
    }
    hops_.close_row();
  }
  if (ici_ && !empty()) find_grid();
  if (ici_ && !grid_) rows_.resize(hops_.rows());
}

void GpuMesh::find_grid() {
  std::size_t pairs = 0;
  std::vector<std::uint32_t> peers;
  for (std::uint32_t i = 0; i < hops_.rows(); ++i) {
    peers.clear();
    for (const Hop& h : hops_.row(i)) peers.push_back(h.to);
    std::sort(peers.begin(), peers.end());
    pairs += static_cast<std::size_t>(std::unique(peers.begin(), peers.end()) - peers.begin());
  }
  const std::uint32_t n = hops_.rows();
  for (std::uint32_t x = 2; x <= n; ++x) {
    for (std::uint32_t y = n / x; n % x == 0 && y >= 1; --y) {  // two dimensions before three of which one is 1
      if (n / x % y != 0) continue;
      grid_ = as_grid({x, y, n / x / y}, pairs);
      if (grid_) return;
    }
  }
}

/// Every link must join neighbours, and the number of joined pairs must be that of such a grid.
std::optional<Grid> GpuMesh::as_grid(std::array<std::uint32_t, 3> extent, std::size_t pairs) const {
  Grid g{extent, {}};
  for (std::uint32_t i = 0; i < hops_.rows(); ++i) {
    const Place a = place_of(g, i);
    for (const Hop& h : hops_.row(i)) {
      const Place b = place_of(g, h.to);
      int changes = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        if (a[d] == b[d]) continue;
        const std::uint32_t far = a[d] > b[d] ? a[d] - b[d] : b[d] - a[d];
        const bool round = far != 1 && far + 1 == extent[d];
        if (far != 1 && !round) return std::nullopt;
        g.wraps[d] = g.wraps[d] || round;
        ++changes;
      }
      if (changes != 1) return std::nullopt;
    }
  }
  std::size_t expected = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::size_t lines = hops_.rows() / extent[d];
    expected += 2 * lines * (extent[d] - 1 + (g.wraps[d] ? 1 : 0));
  }
  return expected == pairs ? std::optional(g) : std::nullopt;
}

double GpuMesh::rate(std::uint32_t from, std::uint32_t to) const {
  double sum = 0;
  for (const Hop& h : hops_.row(from)) sum += h.to == to ? h.rate : 0;
  return sum;
}

/// Several links between two GPUs share by their rates.
void GpuMesh::cross(std::uint32_t from, std::uint32_t to, double share, std::vector<Part>& out) const {
  const double all = rate(from, to);
  for (const Hop& h : hops_.row(from)) {
    if (h.to == to) out.push_back({h.link, share * h.rate / all});
  }
}

bool GpuMesh::route(std::uint32_t from, std::uint32_t to, std::vector<Part>& out) {
  if (empty()) return false;
  if (!ici_) return over_one(from, to, out);
  if (!grid_) return over_many(from, to, out);
  along(*grid_, from, to, out);
  return true;
}

/// The widest way over one GPU. Among equally wide ones: the same for both directions, different for different pairs.
bool GpuMesh::over_one(std::uint32_t from, std::uint32_t to, std::vector<Part>& out) const {
  if (rate(from, to) > 0) {
    cross(from, to, 1, out);
    return true;
  }
  std::vector<std::uint32_t> widest;
  double most = 0;
  for (const Hop& h : hops_.row(from)) {
    const double wide = std::min(rate(from, h.to), rate(h.to, to));
    if (wide <= 0 || wide < most) continue;
    if (wide > most) widest.clear();
    most = wide;
    widest.push_back(h.to);
  }
  if (widest.empty()) return false;
  std::sort(widest.begin(), widest.end());
  widest.erase(std::unique(widest.begin(), widest.end()), widest.end());
  const std::uint32_t by = widest[(from + to) % widest.size()];
  cross(from, by, 1, out);
  cross(by, to, 1, out);
  return true;
}

/// First x, then y, then z, in the shorter direction; half in each direction if both are equally long.
void GpuMesh::along(const Grid& g, std::uint32_t from, std::uint32_t to, std::vector<Part>& out) const {
  Place at = place_of(g, from);
  const Place end = place_of(g, to);
  for (std::size_t d = 0; d < 3; ++d) {
    const std::uint32_t n = g.extent[d], up = (end[d] + n - at[d]) % n, down = n - up;
    if (up == 0) continue;
    const bool both = g.wraps[d] && up == down;
    const bool rising = g.wraps[d] ? up <= down : end[d] > at[d];
    const auto walk = [&](bool rises, std::uint32_t steps, double share) {
      Place p = at;
      for (std::uint32_t s = 0; s < steps; ++s) {
        Place next = p;
        next[d] = (p[d] + (rises ? 1 : n - 1)) % n;
        cross(ordinal_of(g, p), ordinal_of(g, next), share, out);
        p = next;
      }
    };
    walk(rising, rising ? up : down, both ? 0.5 : 1);
    if (both) walk(false, down, 0.5);
    at[d] = end[d];
  }
}

const std::vector<std::uint8_t>& GpuMesh::row(std::uint32_t to) {
  std::vector<std::uint8_t>& row = rows_[to];
  if (!row.empty()) return row;
  row.assign(hops_.rows(), kFar);
  row[to] = 0;
  std::vector<std::uint32_t> queue{to};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const auto next = static_cast<std::uint8_t>(row[queue[head]] + 1);
    if (next == kFar) continue;
    for (const Hop& h : hops_.row(queue[head])) {
      if (row[h.to] != kFar) continue;
      row[h.to] = next;
      queue.push_back(h.to);
    }
  }
  return row;
}

/// All shortest ways; each chip forwards in proportion to the rates of its links.
bool GpuMesh::over_many(std::uint32_t from, std::uint32_t to, std::vector<Part>& out) {
  const auto& hops = row(to);
  if (hops[from] == kFar) return false;
  std::vector<std::pair<std::uint32_t, double>> front{{from, 1.0}}, next;
  for (int left = hops[from]; left > 0; --left) {
    next.clear();
    for (const auto& [at, share] : front) {
      double all = 0;
      for (const Hop& h : hops_.row(at)) all += hops[h.to] == left - 1 ? h.rate : 0;
      for (const Hop& h : hops_.row(at)) {
        if (hops[h.to] != left - 1) continue;
        const double part = share * h.rate / all;
        out.push_back({h.link, part});
        const auto known = std::find_if(next.begin(), next.end(), [&](const auto& f) { return f.first == h.to; });
        if (known == next.end())
          next.emplace_back(h.to, part);
        else
          known->second += part;
      }
    }
    std::swap(front, next);
  }
  return true;
}

std::vector<std::uint32_t> torus_extents(const topology::Topology& t, std::span<const topology::DeviceId> gpus,
                                         std::uint32_t size) {
  std::vector<std::uint32_t> extents, ordinal;
  std::optional<Grid> grid;
  topology::BlockId home = kNone<topology::BlockId>;
  std::vector<Place> places(size);
  for (std::size_t first = 0; first < gpus.size(); first += size) {
    const auto group = gpus.subspan(first, size);
    const topology::BlockId block = t.block_of(group[0]);
    if (block == kNone<topology::BlockId> || t.block_of(group.back()) != block) return {};
    const topology::Block& b = t.blocks()[index(block)];
    if (block != home) {
      home = block;
      grid = GpuMesh(t, b).grid();
      ordinal.assign(b.device_count, 0);
      for (std::uint32_t p = 0, next = 0; p < b.device_count; ++p)
        if (t.kind(static_cast<topology::DeviceId>(b.first_device + p)) == topology::DeviceKind::kGpu)
          ordinal[p] = next++;
    }
    if (!grid) return {};
    for (std::uint32_t m = 0; m < size; ++m) {
      if (t.block_of(group[m]) != home) return {};
      places[m] = place_of(*grid, ordinal[index(group[m]) - b.first_device]);
    }
    std::vector<std::uint32_t> own = box_of(places);
    if (own.empty() || (first > 0 && own != extents)) return {};
    extents = std::move(own);
  }
  return extents;
}

}  // namespace busbar::routing
