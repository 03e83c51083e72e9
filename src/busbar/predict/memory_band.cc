#include "busbar/predict/memory_band.h"

#include <fmt/core.h>

#include "busbar/spec/reading.h"

namespace busbar::predict {

Result<Band> memory_band(const spec::Catalog& catalog) {
  constexpr double kMost = 100;
  BUSBAR_ASSIGN(const YamlDocument document, catalog.load("accuracy", "memory"));
  Band out;
  std::int64_t peaks = 0;
  MapReader r = spec::sourced(document.root());
  r.optional("name");
  r.required("low_percent", &YamlNode::as_number, out.low_percent, -kMost, 0);
  r.required("high_percent", &YamlNode::as_number, out.high_percent, 0, kMost);
  r.required("peaks", &YamlNode::as_int, peaks, 1, 1 << 20);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  out.basis = fmt::format("from {} published peaks, see docs/accuracy.md", peaks);
  return out;
}

}  // namespace busbar::predict
