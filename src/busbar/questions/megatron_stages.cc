#include "busbar/questions/internal/megatron_stages.h"

#include <fmt/core.h>

#include <cctype>

namespace busbar::questions {
namespace {

constexpr std::size_t kMostParts = 65536;

std::string repeated(char part, std::uint32_t n) {
  return n == 0 ? "" : n == 1 ? std::string(1, part) : fmt::format("{}*{}", part, n);
}

/// Without repetitions: "tt|tt|".
class Unfolded {
 public:
  explicit Unfolded(std::string_view text) {
    for (const char c : text)
      if (c != ',' && c != ' ' && c != '\\') text_ += c;  // commas are for readers, \ for a shell
  }

  std::optional<std::string> read() {
    std::optional<std::string> all = sequence();
    return at_ == text_.size() ? all : std::nullopt;
  }

 private:
  std::optional<std::string> sequence() {
    std::string out;
    while (at_ < text_.size() && text_[at_] != ')') {
      const std::optional<std::string> one = part();
      if (!one) return std::nullopt;
      const std::size_t times = repetitions();
      if (times == 0 || out.size() + one->size() * times > kMostParts) return std::nullopt;
      for (std::size_t i = 0; i < times; ++i) out += *one;
    }
    return out;
  }
  std::optional<std::string> part() {
    const char c = text_[at_++];
    if (c != '(') return std::string_view("EtmL|").find(c) < 5 ? std::optional(std::string(1, c)) : std::nullopt;
    if (++depth_ > 8) return std::nullopt;
    const std::optional<std::string> inner = sequence();
    --depth_;
    if (!inner || at_ == text_.size()) return std::nullopt;
    ++at_;
    return inner;
  }
  /// The N of "*N"; 1 without it, 0 for a wrong one.
  std::size_t repetitions() {
    if (at_ == text_.size() || text_[at_] != '*') return 1;
    std::size_t n = 0;
    for (++at_; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; ++at_)
      n = std::min(kMostParts + 1, n * 10 + static_cast<std::size_t>(text_[at_] - '0'));
    return n > kMostParts ? 0 : n;
  }

  std::string text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string stage_words(std::span<const std::uint32_t> chunk_layers, std::uint32_t mtp) {
  std::string s = "E";
  for (std::size_t c = 0; c < chunk_layers.size(); ++c) s += (c > 0 ? "|" : "") + repeated('t', chunk_layers[c]);
  return s + repeated('m', mtp) + "L";
}

std::optional<StageWords> read_stage_words(std::string_view text) {
  const std::optional<std::string> parts = Unfolded(text).read();
  if (!parts || parts->empty()) return std::nullopt;
  StageWords out;
  out.layers.emplace_back();
  const std::size_t last = parts->back() == '|' ? parts->size() - 1 : parts->size();  // a last | ends the last chunk
  const std::size_t last_bar = parts->substr(0, last).rfind('|');
  const std::size_t last_chunk = last_bar == std::string::npos ? 0 : last_bar + 1;
  for (std::size_t i = 0; i < last; ++i) {
    const char c = (*parts)[i];
    if (c == '|') out.layers.emplace_back();
    if (c == 't') ++out.layers.back();
    out.usual_ends =
        out.usual_ends && (c != 'E' || out.layers.size() == 1) && ((c != 'L' && c != 'm') || i >= last_chunk);
  }
  return out;
}

}  // namespace busbar::questions
