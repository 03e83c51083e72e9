#include "busbar/popular/internal/json_path.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/text.h"

namespace busbar::popular {
namespace {

bool is_called(const Json& item, std::string_view name) {
  double number = 0;
  const bool numeric = is_number(name, number);
  return std::any_of(item.members().begin(), item.members().end(), [&](const Json::Member& m) {
    return m.value.is_string() ? m.value.text() == name : numeric && m.value.is_number() && m.value.number() == number;
  });
}

/// The item of `list` with this index, or else with a member of this value; null if there is none.
const Json* item_of(const Json& list, std::string_view which) {
  const std::vector<Json>& items = list.values();
  std::size_t index = 0;
  if (is_number(which, index) && index < items.size()) return &items[index];
  const auto found = std::find_if(items.begin(), items.end(), [&](const Json& i) { return is_called(i, which); });
  return found == items.end() ? nullptr : &*found;
}

Error nowhere(std::string_view path, std::string_view part) {
  return {ErrorCode::kNotFound, fmt::format("'{}' of '{}' leads to no number", part, path), {}};
}

}  // namespace

Result<double> number_at(const Json& document, std::string_view path) {
  const Json* at = &document;
  for (std::string_view rest = path; !rest.empty();) {
    const bool indexed = rest.front() == '[';
    const std::size_t end = indexed ? rest.find(']') : std::min(rest.find_first_of(".["), rest.size());
    if (end == std::string_view::npos) return nowhere(path, rest);
    const std::string_view part = rest.substr(indexed ? 1 : 0, end - (indexed ? 1 : 0));
    rest.remove_prefix(indexed ? end + 1 : end);
    if (rest.starts_with('.')) rest.remove_prefix(1);
    if (indexed && part == "*" && rest.empty() && at->is_array()) return static_cast<double>(at->size());
    if (indexed ? !at->is_array() : !at->contains(part)) return nowhere(path, part);
    at = indexed ? item_of(*at, part) : &(*at)[part];
    if (at == nullptr) return nowhere(path, part);
  }
  if (at->is_boolean()) return at->truth() ? 1.0 : 0.0;
  if (!at->is_number()) return nowhere(path, path);
  return at->number();
}

}  // namespace busbar::popular
