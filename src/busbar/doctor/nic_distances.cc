#include "busbar/doctor/internal/nic_distances.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "busbar/formats/smi_cells.h"

namespace busbar::doctor {
namespace {

/// Nearest first, in the words of the legend. NV is NVLink; SOC is SYS of old drivers.
constexpr std::array<std::string_view, 7> kDistances{"NV", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC"};

bool is_named_device(std::string_view name) { return formats::is_smi_gpu(name) || formats::is_smi_nic(name); }

/// Per device column whether it is a NIC; empty: not a header.
std::vector<bool> columns_of(const std::vector<std::string>& cells) {
  std::vector<bool> out;
  const std::size_t first = !cells.empty() && cells.front().empty() ? 1 : 0;
  for (std::size_t i = first; i < cells.size() && is_named_device(cells[i]); ++i)
    out.push_back(formats::is_smi_nic(cells[i]));
  if (std::find(cells.begin(), cells.end(), "X") != cells.end()) out.clear();
  return out;
}

}  // namespace

std::string NicDistances::said_by(std::string_view line) {
  if (nic_.empty() && line.find("GPU0") == line.npos) return {};
  const std::vector<std::string> cells = formats::smi_cells(line);
  if (cells.empty()) return {};
  if (nic_.empty() || !is_named_device(cells.front()) || cells.size() <= nic_.size()) {
    nic_ = columns_of(cells);
    return {};
  }
  if (!formats::is_smi_gpu(cells.front())) return {};
  const std::string_view nic = nearest(cells, true), gpu = nearest(cells, false);
  if (nic.empty() && gpu.empty()) return {};
  const std::string to_nic = nic.empty() ? "no NIC" : fmt::format("its nearest NIC at distance {}", nic);
  return fmt::format("matrix part {} has {}{}", cells.front(), to_nic,
                     gpu.empty() ? "" : fmt::format(", its nearest GPU at {}", gpu));
}

std::string_view NicDistances::nearest(const std::vector<std::string>& cells, bool nic) const {
  std::size_t best = kDistances.size();
  for (std::size_t i = 0; i < nic_.size(); ++i)
    for (std::size_t d = 0; nic_[i] == nic && d < best; ++d)
      if (cells[i + 1].starts_with(kDistances[d])) best = d;
  return best < kDistances.size() ? kDistances[best] : std::string_view();
}

}  // namespace busbar::doctor
