// Dumps of the flight recorder and archives: any bytes give lines, files, or an error with its place.
#include <iterator>
#include <sstream>

#include "busbar/base/check.h"
#include "busbar/formats/flight_recorder.h"
#include "busbar/formats/tar_archive.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<std::string> lines = flight_recorder_lines(bytes, "nccl_trace_rank_0");
  BUSBAR_CHECK(lines.ok() || !lines.error().message.empty());
  std::istringstream in{std::string(bytes)};
  TarReader tar(in, "a.tar");
  for (Result<bool> more = tar.next(); more.ok() && *more; more = tar.next()) {
    const auto content = tar.content();
    const std::string text{std::istreambuf_iterator<char>(*content), {}};
    BUSBAR_CHECK(text.size() <= size);
  }
  return 0;
}
