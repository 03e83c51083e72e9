// Outputs of p2pBandwidthLatencyTest and perftest: any text may be refused, and what is read are numbers of a machine.
#include <cmath>
#include <string_view>

#include "busbar/accuracy/link_tests.h"
#include "busbar/base/check.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tests = accuracy::read_link_tests(text, "fuzz");
  if (!tests.ok()) {
    BUSBAR_CHECK(!tests.error().message.empty());
    return 0;
  }
  for (const accuracy::LinkTest& test : *tests) {
    BUSBAR_CHECK(std::isfinite(test.value) && test.value >= 0);
    BUSBAR_CHECK((test.kind == accuracy::LinkTest::Kind::kOther) == !test.why.empty());
    for (const std::vector<double>& row : test.pairs) {
      BUSBAR_CHECK(row.size() == test.pairs.size());
      for (const double rate : row) BUSBAR_CHECK(std::isfinite(rate) && rate >= 0);
    }
  }
  return 0;
}
