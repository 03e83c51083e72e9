// Finds what must not be shown in a line: tokens, passwords and keys.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace busbar::doctor {

struct TextSpan {
  std::size_t begin = 0, end = 0;
};

/// Ascending and without overlap:
///   values of variables, flags and keys whose names speak of secrets: "HF_TOKEN=x" anywhere in a line, "--api-key x",
///   "password: x", "\"token\": \"x\""; serial numbers; lists of nodes
///   words that begin as tokens do: hf_, sk-, ghp_, AKIA, xox, eyJ and others; the word after "Bearer"
///   user and password of a URL; words of 32 and more hexadecimal or mixed letters and digits
/// More than secrets may be found ("max_tokens=5").
std::vector<TextSpan> secrets_in(std::string_view line);

/// Follows the lines of a text: private keys and certificates in PEM cover several.
class PemBlocks {
 public:
  /// Whether the line is within a block; its first and last line are.
  bool covers(std::string_view line);

 private:
  int left_ = 0;  ///< lines that may still be of the block
};

}  // namespace busbar::doctor
