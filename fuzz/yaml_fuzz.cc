// The YAML reader: every node of an accepted document has a place and answers every query.
#include <string>
#include <string_view>

#include "busbar/base/check.h"
#include "busbar/base/yaml.h"
#include "fuzz.h"

namespace {

using busbar::YamlNode;

void walk(const YamlNode& node, int depth) {
  BUSBAR_CHECK(depth <= 70) << "accepted at depth " << depth;
  (void)node.where().prefix();
  (void)node.as_string();
  (void)node.as_bool();
  (void)node.as_rate();
  (void)node.as_size();
  (void)node.as_duration();
  if (const auto n = node.as_int(-5, 1'000'000); n.ok()) {
    BUSBAR_CHECK(*n >= -5 && *n <= 1'000'000) << *n;
  }
  if (const auto x = node.as_number(0, 1); x.ok()) {
    BUSBAR_CHECK(*x >= 0 && *x <= 1) << *x;
  }
  const bool map = node.kind() == YamlNode::Kind::kMap;
  for (std::size_t i = 0; i < node.size(); ++i) {
    BUSBAR_CHECK(!map || node.find(node.key(i)).has_value()) << node.key(i);
    walk(node.item(i), depth + 1);
  }
}

}  // namespace

// The first line that begins with "#set " is PATH=VALUE for YamlDocument::set.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto document = busbar::YamlDocument::parse(text, "fuzz.yaml");
  if (!document.ok()) {
    BUSBAR_CHECK(!document.error().message.empty());
    return 0;
  }
  walk(document->root(), 0);
  const std::size_t at = text.find("#set ");
  if (at == std::string::npos) return 0;
  const std::string line = text.substr(at + 5, text.find('\n', at) - at - 5);
  const std::size_t equals = line.find('=');
  if (equals == std::string::npos) return 0;
  if (document->set(line.substr(0, equals), line.substr(equals + 1)).ok()) walk(document->root(), 0);
  return 0;
}
