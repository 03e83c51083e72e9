#include "busbar/program/flow_list.h"

namespace busbar {

Csr<std::uint32_t> successors_of(const FlowList& list) {
  const auto n = static_cast<std::uint32_t>(list.flows.size());
  Csr<std::uint32_t> out;
  out.begin.assign(n + 1, 0);
  for (const std::uint32_t before : list.after.values) ++out.begin[before + 1];
  for (std::uint32_t f = 0; f < n; ++f) out.begin[f + 1] += out.begin[f];
  out.values.resize(list.after.values.size());
  std::vector<std::uint32_t> at(out.begin.begin(), out.begin.end() - 1);
  for (std::uint32_t f = 0; f < n; ++f)
    for (const std::uint32_t before : list.after.row(f)) out.values[at[before]++] = f;
  return out;
}

}  // namespace busbar
