#include "busbar/nccl/internal/tuning_tables.h"

#include <algorithm>

namespace busbar::nccl {
namespace {

constexpr std::size_t at(NcclAlgorithm a) { return static_cast<std::size_t>(a); }

constexpr NcclConstants kNow{
    .base = {{{6.8f, 14, 8.4f}, {6.6f, 14, 8.4f}, {}, {}, {}, {}, {8, 8, 8}}},
    .nvlink = {{{.6f, 1.25f, 4}, {.6f, 1.9f, 3.4f}, {0, 0, 3.7f}, {0, 0, 2.8f}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}}},
    .pcie = {{{1, 1.9f, 4}, {1, 2.5f, 5.7f}, {0, 0, 3.7f}, {0, 0, 2.8f}, {}, {}, {0, 0, 4}}},
    .net = {{{5, 8.5f, 14}, {2.7f, 4, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9f}, {0, 0, 14}}},
    .ll_most = {{{39, 39, 20.4f}, {87.7f, 22.5f, 19}, {141, 45, 35}, {282, 90, 70}}},
    .ring_ll128_channel = {{{20, 20, 20}, {20, 20, 20}, {36.7f, 36.7f, 36.7f}, {40, 40, 40}}},
    .tree_ll128_channel = {{{20, 20, 20}, {20, 20, 20}, {36.7f, 36.7f, 29}, {55.6f, 31.67f, 20}}},
    .tree_channel = {{{26.5f, 18.5f, 10}, {24, 23.6f, 17.8f}, {38.7f, 41.4f, 36}, {70, 42.8f, 24}}},
    .nvls_tree_channel = {{{26.5f, 18.5f, 10}, {24, 23.6f, 17.8f}, {0, 57.7f, 45.5f}, {0, 96, 80}}},
    .nvls_efficiency = {0, 0, .85f, .74f},
};

NcclRow doubled(const NcclRow& r) { return {2 * r[0], 2 * r[1], 2 * r[2]}; }

/// Before 2.28, a Blackwell channel counted as two channels of Hopper (2.26.2, src/graph/tuning.cc).
void before_2_28(NcclConstants& c) {
  c.net[at(NcclAlgorithm::kNvlsTree)][2] = 14;
  c.ring_ll128_channel[3] = doubled(c.ring_ll128_channel[2]);
  c.tree_ll128_channel[3] = doubled(c.tree_ll128_channel[2]);
  c.tree_channel[3] = doubled(c.tree_channel[2]);
  c.nvls_tree_channel[3] = doubled(c.nvls_tree_channel[2]);
}

/// Up to 2.22, cc 90 was the newest, and one step of a tree corresponded to a chunk of 256 KiB.
void before_2_23(NcclConstants& c, NcclVersion v) {
  c.base[at(NcclAlgorithm::kTree)][2] = 0;
  c.nvlink[at(NcclAlgorithm::kTree)][2] = c.pcie[at(NcclAlgorithm::kTree)][2] = c.net[at(NcclAlgorithm::kTree)][2] = 28;
  if (v >= NcclVersion{2, 22}) return;
  c.ll_most[2] = c.ll_most[1];
  c.nvlink[at(NcclAlgorithm::kNvls)][2] = c.nvlink[at(NcclAlgorithm::kNvlsTree)][2] = 23;
  if (v >= NcclVersion{2, 19}) return;
  c.net[at(NcclAlgorithm::kNvlsTree)][2] = 19;
  c.nvlink[at(NcclAlgorithm::kCollnetDirect)][2] = 8;
  c.net[at(NcclAlgorithm::kCollnetDirect)][2] = 10.7f;
}

}  // namespace

NcclConstants nccl_constants(NcclVersion v) {
  NcclConstants c = kNow;
  if (v < NcclVersion{2, 28}) before_2_28(c);
  if (v < NcclVersion{2, 23}) before_2_23(c, v);
  return c;
}

NcclTablePlace place_in_tables(const NcclComm& comm) {
  const int cc = comm.least_capability;
  std::size_t generation = cc >= 100 ? 3 : cc >= 90 ? 2 : cc >= 80 ? 1 : 0;
  if (comm.settings.version < NcclVersion{2, 25}) generation = std::min<std::size_t>(generation, 2);  // no Blackwell
  return {generation, std::min(comm.node_count(), 3u) - 1};
}

float tree_correction(NcclProtocol protocol, int q) {
  static constexpr float kShare[3][24] = {
      {1, 1, 1, 1, .9f, .8f, .7f, .7f, .7f, .7f, .6f, .5f, .4f, .4f, .5f, .6f, .7f, .8f, .9f, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, .9f, .8f, .8f, .8f, .7f, .6f, .6f, .6f, .6f, .6f, .6f, .8f, .9f, .9f, .9f, .9f, 1, 1, 1},
      {.9f, .9f, .9f, .9f, .9f, .9f, .9f, .8f, .7f, .6f, .6f, .5f,
       .5f, .5f, .5f, .6f, .7f, .8f, .7f, .7f, .8f, .9f, .9f, .9f}};
  return kShare[static_cast<std::size_t>(protocol)][q];
}

}  // namespace busbar::nccl
