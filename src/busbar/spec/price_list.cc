#include "busbar/spec/price_list.h"

#include <fmt/core.h>

#include <array>
#include <cctype>

#include "busbar/base/quantity.h"
#include "busbar/spec/internal/cabling_file.h"
#include "busbar/spec/reading.h"

namespace busbar::spec {
namespace {

constexpr double kDearest = 1e10;  // $: more than any product
constexpr std::array<const char*, 6> kFolders{"servers", "gpus", "nics", "switches", "optics", "cables"};

/// "Tomahawk 5" and "tomahawk5" are one product.
std::string spelling(std::string_view part) {
  std::string out;
  for (const char c : part)
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string word_of(const YamlNode& map, std::string_view key) {
  const auto word = map.kind() == YamlNode::Kind::kMap ? map.find(key) : std::nullopt;
  return word ? word->scalar() : "";
}

/// 42000 or {low: 36000, high: 50000}.
Result<PriceRange> read_price(const YamlNode& node) {
  PriceRange out;
  if (node.kind() != YamlNode::Kind::kMap) {
    BUSBAR_ASSIGN(out.low, node.as_number(0, kDearest));
    out.high = out.low;
    return out;
  }
  MapReader r = sourced(node);
  r.required("low", &YamlNode::as_number, out.low, 0, kDearest);
  r.required("high", &YamlNode::as_number, out.high, 0, kDearest);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (out.high < out.low)
    return node.error(fmt::format("low: {:g} is above high: {:g}; the lower price comes first", out.low, out.high));
  return out;
}

Status read_cost(const YamlNode& map, PartCost& out) {
  if (const auto price = map.find("price_usd")) {
    BUSBAR_ASSIGN(out.usd, read_price(*price));
    out.source = word_of(*price, "source");
    out.confidence = word_of(*price, "confidence");
    if (out.source.empty()) out.source = price->where().prefix();
  }
  if (const auto power = map.find("power")) {
    const auto value = power->kind() == YamlNode::Kind::kMap ? power->find("value") : std::nullopt;
    BUSBAR_ASSIGN(out.power_w, as_power(value ? *value : *power));
  }
  out.sold_as_cable = out.sold_as_cable || word_of(map, "sold_as") == "cable";
  return {};
}

/// Refuses folders and keys that would have no effect.
Status check_own(const YamlNode& root) {
  MapReader folders(root);
  for (const char* folder : kFolders) {
    const auto parts = folders.optional(folder);
    if (!parts) continue;
    if (parts->kind() != YamlNode::Kind::kMap) return parts->error("expected products: {qm9700: {price_usd: 42000}}");
    for (std::size_t i = 0; i < parts->size(); ++i) {
      MapReader keys = sourced(parts->item(i));
      keys.optional("price_usd");
      keys.optional("power");
      BUSBAR_RETURN_IF_ERROR(keys.finish());
      PartCost unused;
      BUSBAR_RETURN_IF_ERROR(read_cost(parts->item(i), unused));
    }
  }
  return folders.finish();
}

}  // namespace

Result<PriceList> PriceList::open(Catalog catalog, const std::string& file) {
  PriceList out(std::move(catalog));
  if (file.empty()) return out;
  BUSBAR_ASSIGN(const YamlDocument own, YamlDocument::load(file));
  BUSBAR_RETURN_IF_ERROR(check_own(own.root()));
  out.own_ = own.root();
  out.text_ = own.text();
  return out;
}

Result<PartCost> PriceList::find(const std::string& folder, std::string_view part) const {
  PartCost out;
  const std::string wanted = spelling(part);
  for (const std::string& name : catalog_.names(folder)) {
    if (spelling(name) != wanted) continue;
    BUSBAR_ASSIGN(const YamlDocument file, catalog_.load(folder, name));
    BUSBAR_RETURN_IF_ERROR(read_cost(file.root(), out));
  }
  const auto own = own_ ? own_->find(folder) : std::nullopt;
  for (std::size_t i = 0; own && i < own->size(); ++i)
    if (spelling(own->key(i)) == wanted) BUSBAR_RETURN_IF_ERROR(read_cost(own->item(i), out));
  return out;
}

}  // namespace busbar::spec
