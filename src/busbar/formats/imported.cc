#include "busbar/formats/imported.h"

#include <fmt/core.h>

#include <algorithm>

namespace busbar::formats {

void add_unknown(std::vector<UnknownPart>& list, int line, std::string what) {
  for (UnknownPart& u : list) {
    if (u.what != what) continue;
    ++u.count;
    return;
  }
  list.push_back({line, std::move(what), 1});
}

void add_unknown_attributes(std::vector<UnknownPart>& list, const XmlElement& e,
                            std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : e.attributes())
    if (std::find(known.begin(), known.end(), name) == known.end())
      add_unknown(list, e.where().line, fmt::format("attribute {}.{}", e.tag(), name));
}

void add_unknown_keys(std::vector<UnknownPart>& list, const Json& map, const std::string& prefix,
                      std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : map.members())
    if (std::find(known.begin(), known.end(), key) == known.end())
      add_unknown(list, 0, fmt::format("key {}{}", prefix, key));
}

}  // namespace busbar::formats
