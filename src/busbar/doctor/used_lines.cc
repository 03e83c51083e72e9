#include "busbar/doctor/internal/used_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "busbar/base/text.h"
#include "busbar/formats/import.h"
#include "busbar/formats/lines.h"

namespace busbar::doctor {
namespace {

/// Words of tables of nccl-tests and perftest and of the matrix of nvidia-smi.
constexpr std::array<std::string_view, 57> kTableWords{"float",
                                                       "half",
                                                       "double",
                                                       "bfloat16",
                                                       "int8",
                                                       "uint8",
                                                       "int32",
                                                       "uint32",
                                                       "int64",
                                                       "uint64",
                                                       "sum",
                                                       "prod",
                                                       "max",
                                                       "min",
                                                       "avg",
                                                       "all",
                                                       "none",
                                                       "N/A",
                                                       "X",
                                                       "SYS",
                                                       "NODE",
                                                       "PHB",
                                                       "PXB",
                                                       "PIX",
                                                       "CPU",
                                                       "Affinity",
                                                       "NUMA",
                                                       "GPU",
                                                       "ID",
                                                       "(B)",
                                                       "(us)",
                                                       "(GB/s)",
                                                       "(elements)",
                                                       "size",
                                                       "count",
                                                       "type",
                                                       "redop",
                                                       "root",
                                                       "time",
                                                       "algbw",
                                                       "busbw",
                                                       "#wrong",
                                                       "#",
                                                       "in-place",
                                                       "error",
                                                       "#bytes",
                                                       "#iterations",
                                                       "BW",
                                                       "out-of-place",
                                                       "peak[Gb/sec]",
                                                       "average[Gb/sec]",
                                                       "MsgRate[Mpps]",
                                                       "peak[MB/sec]",
                                                       "average[MB/sec]",
                                                       "ms",
                                                       "GB/s",
                                                       "us"};
constexpr std::array<std::string_view, 4> kNumbered{"GPU", "NIC", "NV", "mlx5_"};

/// Beginnings of lines of nccl-tests, without blanks.
constexpr std::array<std::string_view, 9> kTestLines{"#nThread",     "#Usingdevices", "#Rank",
                                                     "#Outofbounds", "#Avgbus",       "#size",
                                                     "#Collective",  "#out-of-p",     "#ncclversion"};

bool is_numeric(std::string_view word) {
  return word.find_first_not_of("0123456789abcdefx.,+-:%") == word.npos &&
         word.find_first_of("0123456789") != word.npos && (word[0] < 'a' || word[0] > 'z');
}

bool is_table_word(std::string_view word) {
  if (std::find(kTableWords.begin(), kTableWords.end(), word) != kTableWords.end() || is_numeric(word)) return true;
  return std::any_of(kNumbered.begin(), kNumbered.end(), [&](std::string_view name) {
    return word.starts_with(name) && word.size() > name.size() &&
           word.find_first_not_of("0123456789", name.size()) == word.npos;
  });
}

bool is_table_row(std::string_view line) {
  formats::LineCursor words(line);
  for (words.blanks(); !words.at_end(); words.blanks())
    if (!is_table_word(words.word())) return false;
  return true;
}

bool is_test_line(std::string_view line) {
  if (!line.starts_with('#')) return false;
  std::string packed;
  for (const char c : line.substr(0, 32))
    if (c != ' ' && c != '\t') packed += c;
  return std::any_of(kTestLines.begin(), kTestLines.end(), [&](auto begin) { return packed.starts_with(begin); });
}

bool is_of_nccl(std::string_view line) {
  return line.find(" NCCL INFO ") != line.npos || line.find(" NCCL WARN ") != line.npos ||
         line.find(" NCCL ERROR ") != line.npos || line.starts_with("NCCL version ");
}

/// XML of NCCL or hwloc, or a list of a network.
bool is_description(std::string_view text) {
  constexpr std::size_t kHead = 64 << 10;
  constexpr std::array<std::string_view, 5> kKinds{"nccl-topology", "nccl-graph", "hwloc", "ibnetdiscover",
                                                   "iblinkinfo"};
  const formats::FormatEntry* const format = formats::find_format(text.substr(0, kHead));
  return format != nullptr && std::find(kKinds.begin(), kKinds.end(), std::string_view(format->kind)) != kKinds.end();
}

bool is_line_of_description(std::string_view line) {
  constexpr std::array<std::string_view, 9> kBeginnings{
      "<", "[", "vendid=", "devid=", "sysimgguid=", "0x", "CA:", "Switch", "switchguid="};
  return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view begin) { return formats::trimmed(line).starts_with(begin); }) ||
         formats::trimmed(line).starts_with("caguid=") || formats::trimmed(line).starts_with("Ca\t");
}

class UsedLines {
 public:
  UsedLines(const Evidence& evidence, bool description, std::string& out)
      : evidence_(evidence), description_(description), out_(out) {}

  void take(const LineUse& use) {
    const bool of_nccl = is_of_nccl(use.line);
    if (!use.used && !of_nccl && !is_table_row(use.line) && !is_test_line(use.line) &&
        !(description_ && is_line_of_description(use.line))) {
      ++left_out_;
      return;
    }
    end_gap();
    out_ += use.prefix;
    const std::string variables = of_nccl ? "" : variables_of(use);
    out_ += variables.empty() ? std::string(use.line) : variables;
    out_ += '\n';
  }
  void end_gap() {
    if (left_out_ > 0) out_ += fmt::format("(left out: {})\n", left_out_);
    left_out_ = 0;
  }

 private:
  /// "A=1 B=2" if the line states nothing else.
  std::string variables_of(const LineUse& use) const {
    std::string out;
    for (const std::uint32_t i : use.facts) {
      if (i == Evidence::kDropped) continue;
      const Fact& f = evidence_.facts()[i];
      if (f.name != "env") return {};
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", f.subject, f.value);
    }
    return out;
  }

  const Evidence& evidence_;
  bool description_;
  std::string& out_;
  std::size_t left_out_ = 0;
};

}  // namespace

std::string used_lines(const std::string& text, const std::string& name, const FactTables& tables) {
  std::string out;
  Evidence evidence;
  UsedLines used(evidence, is_description(text), out);
  formats::LineSource lines = formats::LineSource::of_text(text, name);
  tables.read(lines, evidence, nullptr, [&](const LineUse& use) { used.take(use); });
  used.end_gap();
  return out;
}

}  // namespace busbar::doctor
