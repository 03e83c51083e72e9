#include "busbar/nccl/internal/rccl_tables.h"

#include <algorithm>
#include <bit>

namespace busbar::nccl {
namespace {

// Steps over xGMI, steps over the network, shares for up to two nodes, shares for more; then tenths by size, from 64 B
// to 4 GiB. X: 1, D: 2, H: 5.5, S: 0.15.
// clang-format off: one row of the table per entry
constexpr RcclConstants kRows[] = {
    {.tree = {{.8f, 1.4f, 2.5f},
              {11.8f, 18.2f, 20.8f},
              {.04f, .22f, .91f},
              {.04f, .22f, .95f},
              {"121193412421332221111111111", "13X15X9XXX31455443322222222", "2X117241134368XXXX988888999"}},
     .ring = {{.8f, 2.2f, 3.6f},
              {9.5f, 19.8f, 15.1f},
              {.04f, .34f, 1},
              {.04f, .34f, 1},
              {"111112423531553221111111111", "1111111113XXXXXX87544333333", "X82XX3X112215X88X9XXXXXXXXX"}}},
    {.tree = {{1.5f, 1.5f, 4.5f},
              {33, 33, 15.8f},
              {.12f, 1, .99f},
              {.15f, 1, .42f},
              {"5476XX541546XXXXX8654432111", "5476XX541546XXXXX8654432111", "1111134516XXX657XXXXXXX7533"}},
     .ring = {{1.5f, 1.5f, 4.5f},
              {5.1f, 5.1f, 68.8f},
              {.12f, 1, 1},
              {.20f, 1, 1},
              {"X5XX67XX2X97XXX998876553211", "X5XX67XX2X97XXX998876553211", "3X311137X21111111112359XXXX"}}},
    {.tree = {{1.5f, 1.5f, 4.5f},
              {27.9f, 27.9f, 15.8f},
              {.07f, 1, .99f},
              {.07f, 1, .42f},
              {"1433245116778X9765432222222", "1433245116778X9765432222222", "X1111235169879XXXXXXX799XXX"}},
     .ring = {{1.5f, 1.5f, 4.5f},
              {12.1f, 12.1f, 68.8f},
              {.08f, 1, 1},
              {.08f, 1, 1},
              {"1XXXXXXX4XXXX76543221111111", "1XXXXXXX4XXXX76543221111111", "11111111X221111124569XXXXXX"}}},
    {.tree = {{.8f, 0, 2.5f},
              {12.5f, 0, 22.4f},
              {.20f, 0, 1.75f},
              {.20f, 0, .96f},
              {"111111XX2X9X646433333222222", "000000000000000000000000000", "XXXXXX1112X8XXXXXXXXX878977"}},
     .ring = {{.8f, 0, 3.6f},
              {9.5f, 0, 19.8f},
              {.20f, 0, 1},
              {.20f, 0, 1},
              {"111113121442237543333222222", "000000000000000000000000000", "11111115X13111222347XXXXXXX"}}},
    {.tree = {{.8f, 1.4f, 2.5f},
              {32.2f, 34.4f, 47.6f},
              {.16f, 1.09f, 1.61f},
              {.16f, 1.09f, 1.08f},
              {"11111111X112465111111111111", "1111111112112X5222222222222", "XXXXXXXX843311XX75656656667"}},
     .ring = {{.8f, 2.2f, 3.6f},
              {35.4f, 87.8f, 209.2f},
              {.15f, .41f, 1},
              {.15f, .41f, 1},
              {"111111111112213111211111111", "45544442213XX785XXXXX985433", "111111111XX8517244679XXXXXX"}}},
    {.tree = {{.9f, .9f, 2.3f},
              {10.5f, 10.5f, 25},
              {.06f, .06f, .11f},
              {.06f, .06f, .59f},
              {"111111XXXXX6X9XX11111111111", "111111XXXXX6X9XX11111111111", "1111111111111117XXXXX775666"}},
     .ring = {{.8f, .8f, 2.1f},
              {9.5f, 9.5f, 320},
              {.08f, .08f, 1},
              {.08f, .08f, 1},
              {"11111111111X2X4412211111111", "11111111111X2X4412211111111", "111111111111111111111172XXX"}}},
    {.tree = {{.9f, .9f, 2.3f},
              {10.5f, 10.5f, 25},
              {.06f, .06f, .11f},
              {.06f, .06f, .59f},
              {"111111XXXXX6X9XX11111111111", "111111XXXXX6X9XXXXXDDX19911", "1111111111111117X111117S616"}},
     .ring = {{.8f, .8f, 2.1f},
              {9.5f, 9.5f, 320},
              {.08f, .08f, 1},
              {.08f, .08f, 1},
              {"11111111111X2X4412211111111", "11111111111X2X44121111H11XX", "1111111111111111111191X16XX"}}},
    {.tree = {{.8f, 1.4f, 2.5f},
              {11.8f, 18.2f, 20.8f},
              {.051f, .22f, .64f},
              {.051f, .22f, .64f},
              {"121193412421332221111111111", "13X15X9XXX31455443322222222", "2X117241134368XXXX988888999"}},
     .ring = {{.8f, 2.2f, 3.6f},
              {9.5f, 19.8f, 15.1f},
              {.74f, .34f, 1},
              {.74f, .34f, 1},
              {"111112423531553221111111111", "1111111113XXXXXX87544333333", "X82XX3X112215X88X9XXXXXXXXX"}}},
};
// clang-format on

float tenths(char c) {
  switch (c) {
    case 'X':
      return 1;
    case 'D':
      return 2;
    case 'H':
      return 5.5f;
    case 'S':
      return .15f;
    default:
      return static_cast<float>(c - '0') / 10;
  }
}

}  // namespace

const RcclConstants& rccl_constants(int row) { return kRows[row]; }

int rccl_row(std::string_view target) {
  if (target.starts_with("gfx94")) return 5;
  if (target.starts_with("gfx95")) return 6;
  return target.starts_with("gfx12") ? 7 : 0;
}

float rccl_share(const RcclSteps& steps, NcclProtocol protocol, std::uint64_t bytes) {
  const std::string_view row = steps.by_size[static_cast<std::size_t>(protocol)];
  const int q = std::bit_width(bytes >> 6) - 1;
  return tenths(row[static_cast<std::size_t>(std::clamp(q, 0, static_cast<int>(row.size()) - 1))]);
}

}  // namespace busbar::nccl
