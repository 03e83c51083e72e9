#include "busbar/cli/penalties.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/spec/reading.h"

namespace busbar {
namespace {

using BySize = std::array<SizePenalty, 4>;
constexpr const char* kClassKeys[] = {"below_30kB", "below_300kB", "below_3MB", "above"};

Result<BySize> read_classes(const YamlNode& node) {
  BySize out;
  MapReader classes(node);
  for (std::size_t c = 0; c < out.size(); ++c) {
    MapReader r(classes.required(kClassKeys[c]));
    r.required("mean", &YamlNode::as_number, out[c].mean, 0.01, 1000);
    r.required("p50", &YamlNode::as_number, out[c].p50, 0.01, 1000);
    r.required("p99", &YamlNode::as_number, out[c].p99, 0.01, 1000);
    BUSBAR_RETURN_IF_ERROR(r.finish());
  }
  BUSBAR_RETURN_IF_ERROR(classes.finish());
  return out;
}

BySize between(const BySize& a, const BySize& b, double part) {
  BySize out;
  for (std::size_t c = 0; c < out.size(); ++c)
    out[c] = {a[c].mean + part * (b[c].mean - a[c].mean), a[c].p50 + part * (b[c].p50 - a[c].p50),
              a[c].p99 + part * (b[c].p99 - a[c].p99)};
  return out;
}

}  // namespace

const SizePenalty& Penalties::of(double bytes) const {
  constexpr std::array<double, 3> kLimits{30e3, 300e3, 3e6};  // of kClassKeys
  std::size_t c = 0;
  while (c < kLimits.size() && bytes >= kLimits[c]) ++c;
  return by_size[c];
}

Result<Penalties> load_penalties(const std::string& transport, const std::string& balance, double load,
                                 const std::string& catalog_directory) {
  BUSBAR_ASSIGN(const YamlDocument document, Catalog(catalog_directory).load("penalties", transport + "-" + balance));
  MapReader r = sourced(document.root());
  std::string words;
  r.optional("name", &YamlNode::as_string, words);
  const YamlNode loads = r.required("loads");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  Penalties out{transport, balance, load, {}};
  double before = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    double at = 0;
    if (!is_number(loads.key(i), at)) return invalid("a load is a number, for example 0.4", loads.key_where(i));
    BUSBAR_ASSIGN(const BySize here, read_classes(loads.item(i)));
    out.by_size = i == 0 ? here : between(out.by_size, here, std::clamp((load - before) / (at - before), 0.0, 1.0));
    before = at;
    if (load <= at) break;
  }
  return out;
}

std::string name_of(const Penalties& p) {
  return fmt::format("{} over {} at a load of {}", p.transport, p.balance, format_number(p.load, 2));
}

Json to_json(const Penalties& p) {
  Json classes = Json::array();
  for (const SizePenalty& c : p.by_size) classes.push_back({{"mean", c.mean}, {"p50", c.p50}, {"p99", c.p99}});
  return {{"transport", p.transport},
          {"lb", p.balance},
          {"load", p.load},
          {"by_size", std::move(classes)},
          {"source", fmt::format("catalog penalties/{}-{}", p.transport, p.balance)}};
}

}  // namespace busbar
