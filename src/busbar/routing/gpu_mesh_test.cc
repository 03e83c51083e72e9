#include "busbar/routing/gpu_mesh.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "busbar/routing/internal/route_kind.h"
#include "busbar/routing/router.h"
#include "busbar/topology/test_parts.h"

namespace busbar::routing {
namespace {

topology::NodeTemplate gpus(std::uint32_t n) {
  topology::NodeTemplate node;
  for (std::uint32_t i = 0; i < n; ++i) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(i)));
  }
  return node;
}

topology::Topology stamp(topology::NodeTemplate node) {
  topology::TopologyBuilder b;
  b.add_block(b.add_template(std::move(node)));
  return std::move(b).seal();
}

/// Eight V100 in the hybrid cube mesh of the DGX-1V: a pair of numbers is one NVLink 2, the same pair twice is two.
/// GPUs 0-3 and 4-7 share one PCIe switch each; the two switches are joined.
topology::NodeTemplate cube_mesh() {
  topology::NodeTemplate node = gpus(8);
  for (const auto& [a, b] : {std::pair{0u, 3u}, {0u, 4u}, {1u, 2u}, {1u, 5u}, {2u, 3u}, {4u, 7u}, {5u, 6u}, {6u, 7u}}) {
    node.links.push_back({a, b, topology::test_link(topology::LinkKind::kNvlink, 50)});
  }
  for (const auto& [a, b] : {std::pair{0u, 1u}, {0u, 2u}, {1u, 3u}, {2u, 6u}, {3u, 7u}, {4u, 5u}, {4u, 6u}, {5u, 7u}}) {
    node.links.push_back({a, b, topology::test_link(topology::LinkKind::kNvlink, 25)});
  }
  for (std::uint32_t s = 0; s < 2; ++s) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kPcieSwitch, "pcie" + std::to_string(s)));
    for (std::uint32_t g = 0; g < 4; ++g)
      node.links.push_back({4 * s + g, 8 + s, topology::test_link(topology::LinkKind::kPcie, 16)});
  }
  node.links.push_back({8, 9, topology::test_link(topology::LinkKind::kPcie, 16)});
  return node;
}

/// X x Y x Z chips, rings where a dimension is longer than two and `wraps`.
topology::NodeTemplate torus(std::array<std::uint32_t, 3> e, bool wraps) {
  topology::NodeTemplate node = gpus(e[0] * e[1] * e[2]);
  std::uint32_t stride = 1;
  for (const std::uint32_t n : e) {
    for (std::uint32_t i = 0; i < node.devices.size(); ++i) {
      const std::uint32_t at = i / stride % n, next = (at + 1) % n;
      if (n == 1 || (next == 0 && (!wraps || n == 2))) continue;
      node.links.push_back({i, i - at * stride + next * stride, topology::test_link(topology::LinkKind::kIci, 50)});
    }
    stride *= n;
  }
  return node;
}

std::vector<LinkShare> route(const Router& r, topology::DeviceId a, topology::DeviceId b) {
  std::vector<LinkShare> path;
  EXPECT_TRUE(r.spread(a, b, kNone<topology::DeviceId>, kNone<topology::DeviceId>, 0, path).ok());
  return path;
}

/// All that arrives at a device leaves it again, and all of it arrives at the end.
bool mesh_conserves(const topology::Topology& t, topology::DeviceId from, topology::DeviceId to,
                    const std::vector<LinkShare>& path) {
  std::map<topology::DeviceId, double> balance;
  for (const LinkShare& s : path) {
    balance[t.from(s.link)] -= s.share;
    balance[t.to(s.link)] += s.share;
  }
  for (const auto& [d, net] : balance) {
    if (std::abs(net - (d == from ? -1.0 : d == to ? 1.0 : 0.0)) > 1e-9) return false;
  }
  return true;
}

double hops(const std::vector<LinkShare>& path) {
  double sum = 0;
  for (const LinkShare& s : path) sum += s.share;
  return sum;
}

TEST(GpuMesh, CubeMeshPassesOnOverOneGpuAndTakesTheWidestWay) {
  const topology::Topology t = stamp(cube_mesh());
  const Router r(t, topology::RoutingPolicy::kStatic);
  std::map<RouteKind, int> kinds;
  for (const topology::DeviceId a : t.gpus()) {
    for (const topology::DeviceId b : t.gpus()) {
      if (a == b) continue;
      const auto path = route(r, a, b);
      EXPECT_TRUE(mesh_conserves(t, a, b, path));
      EXPECT_LE(hops(path), 2.0);
      ++kinds[route_kind(t, path)];
    }
  }
  EXPECT_EQ(kinds[RouteKind::kDirect], 32);   // four neighbours each
  EXPECT_EQ(kinds[RouteKind::kRelayed], 24);  // the other three
  EXPECT_EQ(kinds.size(), 2u);
  const auto path = route(r, t.gpus()[0], t.gpus()[7]);  // over 3 (2 links, then 1) or over 4 (2 and 2)
  EXPECT_EQ(t.to(path.front().link), t.gpus()[4]);
}

TEST(GpuMesh, NvlinkIsNotPassedOnTwiceButLeftForPcie) {
  topology::NodeTemplate node = cube_mesh();
  std::erase_if(node.links, [](const topology::TemplateLink& l) {  // a chain 0-3-7-4 and the PCIe switches
    const std::set<std::uint32_t> ends{l.a, l.b};
    const bool chain = ends == std::set{0u, 3u} || ends == std::set{3u, 7u} || ends == std::set{4u, 7u};
    return l.b < 8 && !chain;
  });
  const topology::Topology t = stamp(node);
  const Router r(t, topology::RoutingPolicy::kStatic);
  EXPECT_EQ(route_kind(t, route(r, t.gpus()[0], t.gpus()[7])), RouteKind::kRelayed);
  EXPECT_EQ(route_kind(t, route(r, t.gpus()[0], t.gpus()[4])), RouteKind::kServer);
}

TEST(GpuMesh, HostsWithScaleUpLinksAreTheLastResort) {
  topology::NodeTemplate node = gpus(2);
  node.devices.push_back(topology::test_device(topology::DeviceKind::kCpu, "cpu0"));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  for (std::uint32_t g = 0; g < 2; ++g) {
    node.links.push_back({g, 2, topology::test_link(topology::LinkKind::kC2c, 225)});
    node.links.push_back({g, 3, topology::test_link(topology::LinkKind::kNvlink, 900)});
  }
  const topology::Topology t = stamp(node);
  const Router r(t, topology::RoutingPolicy::kStatic);
  const auto path = route(r, t.gpus()[0], t.gpus()[1]);
  ASSERT_EQ(path.size(), 2u);
  EXPECT_EQ(t.kind(t.to(path[0].link)), topology::DeviceKind::kNvSwitch);
}

TEST(GpuMesh, FindsTheExtentsOfATorusAndOfAGrid) {
  for (const auto& e : {std::array{16u, 16u, 1u}, {4u, 4u, 8u}, {6u, 2u, 3u}, {5u, 1u, 1u}}) {
    for (const bool wraps : {true, false}) {
      const topology::Topology t = stamp(torus(e, wraps));
      const GpuMesh mesh(t, t.blocks()[0]);
      ASSERT_TRUE(mesh.grid().has_value());
      EXPECT_EQ(mesh.grid()->extent, e);
      for (std::size_t d = 0; d < 3; ++d) EXPECT_EQ(mesh.grid()->wraps[d], wraps && e[d] > 2);
    }
  }
}

TEST(TorusExtents, DescribeTheBoxThatEachGroupFills) {
  const topology::Topology t = stamp(torus({4, 3, 2}, true));
  const auto extents = [&](std::vector<std::uint32_t> ordinals, std::uint32_t size) {
    std::vector<topology::DeviceId> gpus;
    for (const std::uint32_t i : ordinals) gpus.push_back(t.gpus()[i]);
    return torus_extents(t, gpus, size);
  };
  using Extents = std::vector<std::uint32_t>;
  Extents all(24);
  for (std::uint32_t i = 0; i < 24; ++i) all[i] = i;
  EXPECT_EQ(extents(all, 24), (Extents{4, 3, 2}));
  EXPECT_EQ(extents(all, 12), (Extents{4, 3}));                            // one layer each
  EXPECT_EQ(extents(all, 4), (Extents{4}));                                // a line each
  EXPECT_EQ(extents({0, 4, 8, 12, 16, 20}, 6), (Extents{3, 2}));           // across the lines
  EXPECT_EQ(extents({1, 2, 5, 6}, 4), (Extents{2, 2}));                    // inside
  EXPECT_EQ(extents({0, 1, 4, 5, 8, 9, 0, 4, 8, 1, 5, 9}, 6), Extents());  // the second group has another order
  EXPECT_EQ(extents({0, 1, 2, 3, 0, 4, 8, 12}, 4), Extents());             // a line and no box
  EXPECT_EQ(extents({1, 0, 2, 3}, 4), Extents());                          // out of order
  EXPECT_EQ(extents({0, 1, 4}, 3), Extents());                             // no box
  EXPECT_EQ(extents({0}, 1), Extents());
}

TEST(TorusExtents, ThereAreNoneAcrossPodsAndWithoutATorus) {
  topology::TopologyBuilder b;
  const auto pod = b.add_template(torus({4, 4, 1}, true));
  b.add_block(pod);
  b.add_block(pod);
  const topology::Topology two = std::move(b).seal();
  EXPECT_EQ(torus_extents(two, two.gpus(), 16), (std::vector<std::uint32_t>{4, 4}));
  EXPECT_TRUE(torus_extents(two, two.gpus(), 32).empty());
  const topology::Topology mesh = stamp(cube_mesh());
  EXPECT_TRUE(torus_extents(mesh, mesh.gpus(), 8).empty());
}

RC_GTEST_PROP(GpuMesh, TorusRoutesAreShortestAndLoadAllLinksAlike, ()) {
  const auto extent = [] { return rc::gen::element(1u, 2u, 3u, 4u, 5u, 6u); };
  const std::array e{*rc::gen::element(2u, 3u, 4u, 6u), *extent(), *extent()};
  const topology::Topology t = stamp(torus(e, true));
  const Router r(t, topology::RoutingPolicy::kStatic);
  std::map<topology::LinkId, double> load;
  for (const topology::DeviceId a : t.gpus()) {
    for (const topology::DeviceId b : t.gpus()) {
      if (a == b) continue;
      const auto path = route(r, a, b);
      RC_ASSERT(mesh_conserves(t, a, b, path));
      double shortest = 0;
      for (std::uint32_t stride = 1, d = 0; d < 3; stride *= e[d++]) {
        const std::uint32_t x = index(a) / stride % e[d], y = index(b) / stride % e[d];
        const std::uint32_t up = (y + e[d] - x) % e[d];
        shortest += std::min(up, e[d] - up);
      }
      RC_ASSERT(std::abs(hops(path) - shortest) < 1e-9);
      for (const LinkShare& s : path) load[s.link] += s.share;
    }
  }
  // All-to-all over a torus loads every link of a dimension equally: in both directions, everywhere.
  for (std::uint32_t stride = 1, d = 0; d < 3; stride *= e[d++]) {
    double least = 1e18, most = 0;
    for (const auto& [l, bytes] : load) {
      const std::uint32_t x = index(t.from(l)) / stride % e[d], y = index(t.to(l)) / stride % e[d];
      if (x == y) continue;
      least = std::min(least, bytes);
      most = std::max(most, bytes);
    }
    RC_ASSERT(most == 0 || most - least < 1e-6);
  }
}

TEST(GpuMesh, ATorusWithALostLinkStillReachesEverybody) {
  topology::TopologyBuilder b;
  b.add_block(b.add_template(torus({4, 4, 4}, true)));
  b.fail(topology::LinkId{10});
  const topology::Topology t = std::move(b).seal();
  EXPECT_FALSE(GpuMesh(t, t.blocks()[0]).grid().has_value());
  const Router r(t, topology::RoutingPolicy::kStatic);
  for (const topology::DeviceId x : t.gpus()) {
    for (const topology::DeviceId y : t.gpus()) {
      if (x == y) continue;
      const auto path = route(r, x, y);
      ASSERT_TRUE(mesh_conserves(t, x, y, path));
      for (const LinkShare& s : path) EXPECT_FALSE(t.failed(s.link));
      EXPECT_LE(hops(path), 7 + 1e-9);  // the lost cable costs one more hop at most, plus parity
    }
  }
}

TEST(GpuMesh, RoutesInAPodOf9216ChipsWithoutTables) {
  const topology::Topology t = stamp(torus({16, 24, 24}, true));
  const Router r(t, topology::RoutingPolicy::kStatic);
  const std::uint32_t n = static_cast<std::uint32_t>(t.gpus().size());
  for (std::uint32_t i = 0; i < n; ++i) {
    const topology::DeviceId a = t.gpus()[i], b = t.gpus()[(i * 5279ull + 17) % n];
    if (a != b) ASSERT_TRUE(mesh_conserves(t, a, b, route(r, a, b)));
  }
}

}  // namespace
}  // namespace busbar::routing
