#include "busbar/formats/smi_cells.h"

#include "busbar/base/text.h"
#include "busbar/formats/lines.h"

namespace busbar::formats {
namespace {

std::string without_escapes(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
    } else {
      out += line[i];
    }
  }
  return out;
}

std::vector<std::string> cell_words(std::string_view line) {
  std::vector<std::string> out;
  for (const std::string_view word : split_at(line, ' ')) {
    if (trimmed(word).empty()) continue;
    const bool second = word == "Affinity" && !out.empty() && (out.back() == "CPU" || out.back() == "NUMA");
    if (second)
      out.back() += " Affinity";
    else
      out.emplace_back(trimmed(word));
  }
  return out;
}

bool is_numbered(std::string_view name, std::string_view stem) {
  int number = 0;
  return name.starts_with(stem) && is_number(name.substr(stem.size()), number) && number >= 0;
}

}  // namespace

std::vector<std::string> smi_cells(std::string_view line) {
  const std::string plain = without_escapes(line);
  if (plain.find('\t') == plain.npos) return cell_words(plain);
  std::vector<std::string> out;
  for (const std::string_view cell : split_at(plain, '\t')) out.emplace_back(trimmed(cell));
  return out;
}

bool is_smi_gpu(std::string_view name) { return is_numbered(name, "GPU"); }

bool is_smi_nic(std::string_view name) {
  return is_numbered(name, "NIC") || name.starts_with("mlx") || name.starts_with("bnxt");
}

}  // namespace busbar::formats
