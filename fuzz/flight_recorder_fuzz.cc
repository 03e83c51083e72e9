// Dumps of the flight recorder: any bytes give lines, or an error with its place.
#include "busbar/base/check.h"
#include "busbar/formats/flight_recorder.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<std::string> lines = formats::flight_recorder_lines(bytes, "nccl_trace_rank_0");
  BUSBAR_CHECK(lines.ok() || !lines.error().message.empty());
  return 0;
}
