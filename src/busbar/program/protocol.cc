#include "busbar/program/protocol.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace busbar::program {

const char* name_of(Protocol protocol) {
  constexpr const char* kNames[] = {"auto", "simple", "ll128", "ll", "symmetric", "symmetric_ll", "copy"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Protocol::kCopy) + 1);
  return kNames[static_cast<std::size_t>(protocol)];
}

Result<Protocol> parse_protocol(std::string_view name) {
  std::string word(name);
  std::transform(word.begin(), word.end(), word.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  for (const Protocol p : {Protocol::kAuto, Protocol::kSimple, Protocol::kLl128, Protocol::kLl})
    if (word == name_of(p)) return p;
  return invalid(fmt::format("there is no protocol '{}'; use auto, simple, ll128 or ll", name));
}

}  // namespace busbar::program
