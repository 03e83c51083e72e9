#include "busbar/questions/command_words.h"

namespace busbar::questions {

std::vector<std::string> command_words(const std::string& command) {
  std::vector<std::string> out;
  bool quoted = false, open = false;
  for (const char c : command) {
    if (c == '\'') quoted = !quoted;
    const bool ends = c == ' ' && !quoted;
    if (ends || c == '\'') {
      open = open && !ends;
      continue;
    }
    if (!open) out.emplace_back();
    open = true;
    out.back() += c;
  }
  return out;
}

}  // namespace busbar::questions
