// Cells of the matrix of `nvidia-smi topo -m`, a line at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace busbar::formats {

/// The cells without blanks around them and without ANSI escapes, which highlight the header. Between tabs; in a line
/// without a tab, as terminals and issue trackers leave it, words ("CPU Affinity" is one cell).
std::vector<std::string> smi_cells(std::string_view line);

/// Whether a row or column of this name is a GPU ("GPU0") or a NIC ("NIC0", "mlx5_0").
bool is_smi_gpu(std::string_view name);
bool is_smi_nic(std::string_view name);

}  // namespace busbar::formats
