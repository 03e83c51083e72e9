// Numbers with units: any text may be refused, and accepted text satisfies the guarantees.
#include <string_view>

#include "busbar/base/check.h"
#include "busbar/base/quantity.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto rate = parse_rate(text); rate.ok()) {
    BUSBAR_CHECK(static_cast<std::uint64_t>(*rate) > 0);
  }
  if (const auto time = parse_duration(text); time.ok()) {
    BUSBAR_CHECK(time->in_ps() >= 0);
  }
  const auto in_file = parse_size(text);
  const auto on_command_line = parse_cli_size(text);
  // With "iB" written out, both must mean the same.
  if (in_file.ok() && on_command_line.ok() && text.find("iB") != std::string_view::npos) {
    BUSBAR_CHECK(*in_file == *on_command_line);
  }
  return 0;
}
