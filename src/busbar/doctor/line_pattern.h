// A shape of a line, as the tables of catalog/evidence write it.
//
// Literal text, and captures in braces: {subject}, {value}, {host}, or {-} for text that does not matter. A capture is
// one word without blanks; {value*} may contain blanks; at the end of a pattern, {value*} is the rest of the line.
// {subject:NCCL_} is a word that begins with NCCL_; {value:#} is a sequence of digits. A blank matches any number of
// blanks, at least one. '^' at the beginning: only at the beginning of the line, after its blanks.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/yaml.h"

namespace busbar::doctor {

/// The captured texts; empty where the pattern has no such capture.
struct LineCaptures {
  std::string_view subject, value, host;
};

class LinePattern {
 public:
  static constexpr std::size_t kGram = 4;  ///< bytes
  static Result<LinePattern> read(const YamlNode& node);
  static Result<LinePattern> parse(std::string_view text);

  /// The first match at or after `from`, which moves behind the match.
  bool match(std::string_view line, std::size_t& from, LineCaptures& out) const;
  /// kGram bytes without a blank that every match contains; empty if there are none.
  std::string_view gram() const { return gram_; }
  bool anchored() const { return anchored_; }  ///< matches only at the beginning of a line

 private:
  enum class Target : std::uint8_t { kNone, kSubject, kValue, kHost };
  struct Piece {
    bool capture = false;
    std::string text;  ///< literal, or the beginning of the captured word
    Target target = Target::kNone;
    bool blanks = false;  ///< the capture may contain blanks
    bool digits = false;  ///< and nothing else
  };
  bool match_from(std::string_view line, std::size_t at, std::size_t first, std::size_t& end, LineCaptures& out) const;

  std::vector<Piece> pieces_;
  bool anchored_ = false;
  std::string gram_;
};

}  // namespace busbar::doctor
