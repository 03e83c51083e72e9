#include "busbar/base/shell_line.h"

#include <string_view>

namespace busbar {

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

void ShellLine::add(const char* flag, const std::string& value, const std::string& without) {
  if (value != without) text_ += std::string(" ") + flag + " " + shell_word(value);
}

void ShellLine::add_all(const char* flag, const std::vector<std::string>& values) {
  for (const std::string& value : values) add(flag, value);
}

}  // namespace busbar
