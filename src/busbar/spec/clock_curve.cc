#include "busbar/spec/clock_curve.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/spec/internal/unit_figure.h"

namespace busbar::spec {
namespace {

constexpr double kLeastShare = 0.1;  // GPUs whose limit is near the base run at their lowest clock

class CurveReader {
 public:
  CurveReader(YamlNode root, std::string_view name, std::vector<std::string>& sources)
      : reader_(std::move(root)), name_(name), sources_(sources) {
    reader_.optional("name");
  }
  void watts(const char* key, double& out) { figure(key, &unit_figure, out, "W"); }
  void number(const char* key, double low, double high, double& out) {
    figure(key, &YamlNode::as_number, out, low, high);
  }
  Status finish() { return reader_.finish(); }

 private:
  template <typename F, typename... Args>
  void figure(const char* key, F convert, double& out, Args... args) {
    reader_.required(key);
    reader_.inner(key, [&](MapReader& inner) {
      std::string source, confidence = "high";
      inner.required("value", convert, out, args...);
      inner.required("source", &YamlNode::as_string, source);
      inner.optional("confidence", &YamlNode::as_string, confidence);
      sources_.push_back(fmt::format("clock of {}, {} {:g}: {} (confidence {})", name_, key, out, source, confidence));
    });
  }

  MapReader reader_;
  std::string name_;
  std::vector<std::string>& sources_;
};

}  // namespace

double ClockCurve::share(double watts, double found_watts, bool narrow) const {
  const double power = (watts - base_watts) / std::max(1.0, found_watts - base_watts);
  const double clock = power <= 0 ? 0 : std::pow(power, exponent);
  return std::clamp(clock * held_share * (narrow ? narrow_share : 1), kLeastShare, 1.0);
}

Result<ClockCurve> ClockCurve::load(std::string_view name, const Catalog& catalog, std::vector<std::string>& sources) {
  BUSBAR_ASSIGN(const YamlDocument document, catalog.load("clocks", name));
  CurveReader r(document.root(), name, sources);
  ClockCurve c;
  r.watts("base_power", c.base_watts);
  r.number("exponent", 0.1, 1, c.exponent);
  r.number("held_share", 0.1, 1, c.held_share);
  r.number("narrow_share", 0.1, 1, c.narrow_share);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  c.text = document.text();
  return c;
}

}  // namespace busbar::spec
