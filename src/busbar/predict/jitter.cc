#include "busbar/predict/jitter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/topology/cable_index.h"

namespace busbar::predict {

Result<std::vector<lowering::LinkDelay>> parse_jitter(const std::vector<std::string>& texts,
                                                      const topology::Topology& topology) {
  std::vector<lowering::LinkDelay> out;
  if (texts.empty()) return out;
  const Where where{"", 0, 0, "--jitter"};
  const topology::CableIndex cables(topology);
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('='), x = text.find("%x", equals == std::string::npos ? 0 : equals);
    const auto wrong = [&](const std::string& why) {
      return invalid(fmt::format("'{}': {}; write SELECTOR=PERCENT%xDELAY, for example node3.nic2=1%x50us", text, why),
                     where);
    };
    if (equals == std::string::npos || x == std::string::npos)
      return wrong("the share of messages and the delay are missing");
    double percent = 0;
    const std::string_view share = std::string_view(text).substr(0, x).substr(equals + 1);
    if (!is_number(share, percent) || !(percent > 0 && percent <= 100))
      return wrong("the share must be a number above 0 and at most 100");
    const Result<Duration> delay = parse_duration(std::string_view(text).substr(x + 2));
    if (!delay.ok()) return wrong(delay.error().message);
    Result<std::vector<topology::LinkId>> links = cables.select(std::string_view(text).substr(0, equals));
    if (!links.ok()) {
      links.error().where = where;
      return links.error();
    }
    for (const topology::LinkId l : *links)
      for (const topology::LinkId way : {l, topology::reverse(l)}) out.push_back({way, percent / 100, *delay});
  }
  return out;
}

JitterEffect jitter_effect(Duration without, Duration expected, const std::vector<lowering::LinkDelay>& delays) {
  JitterEffect out;
  out.p99 = out.without = without;
  Duration longest;
  for (const lowering::LinkDelay& d : delays) longest = std::max(longest, d.delay);
  if (longest <= Duration() || expected <= without) return out;
  const double mean = static_cast<double>((expected - without).in_ps()) / static_cast<double>(longest.in_ps());
  out.expected_hits = mean;
  out.calls_hit_percent = 100 * -std::expm1(-mean);
  double hits = 0;
  if (mean < 500) {  // exp(-mean) is not 0 yet
    double term = std::exp(-mean), sum = term;
    while (sum < 0.99) sum += term *= mean / ++hits;
  } else {
    constexpr double kNormal99 = 2.3263;  // 99 % quantile of the standard normal distribution
    hits = std::ceil(mean + kNormal99 * std::sqrt(mean));
  }
  out.p99 = without + duration_from_ps(hits * static_cast<double>(longest.in_ps()));
  return out;
}

std::string jitter_to_text(const JitterEffect& e, Duration expected) {
  return fmt::format(
      "Jitter: {} us expected instead of {} us; {} % of calls are delayed, {} times on average, and 99 of 100 take no "
      "more than {} us.",
      format_number(expected.in_us(), 4), format_number(e.without.in_us(), 4), format_number(e.calls_hit_percent),
      format_number(e.expected_hits), format_number(e.p99.in_us(), 4));
}

}  // namespace busbar::predict
