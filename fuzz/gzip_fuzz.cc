// Unpacking any bytes gives a text within the limit.
#include <iterator>
#include <sstream>

#include "busbar/base/check.h"
#include "busbar/formats/gzip_stream.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  constexpr std::uint64_t kMost = 1 << 20;
  auto failure = std::make_shared<UnpackFailure>();
  auto packed = std::make_unique<std::istringstream>(std::string(reinterpret_cast<const char*>(data), size));
  const auto in = unpack_gzip(std::move(packed), failure, kMost);
  const std::string text{std::istreambuf_iterator<char>(*in), {}};
  BUSBAR_CHECK(text.size() <= kMost);
  return 0;
}
