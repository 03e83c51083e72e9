#include "busbar/program/protocol.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace busbar {

const char* name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::kAuto:
      return "auto";
    case Protocol::kSimple:
      return "simple";
    case Protocol::kLl128:
      return "ll128";
    case Protocol::kLl:
      return "ll";
  }
  return "?";
}

Result<Protocol> parse_protocol(std::string_view name) {
  std::string word(name);
  std::transform(word.begin(), word.end(), word.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  for (const Protocol p : {Protocol::kAuto, Protocol::kSimple, Protocol::kLl128, Protocol::kLl})
    if (word == name_of(p)) return p;
  return invalid(fmt::format("there is no protocol '{}'; use auto, simple, ll128 or ll", name));
}

}  // namespace busbar
