// Unpacking any bytes gives texts within the limit, as compressed data, as an archive, and as UTF-16.
#include <iterator>
#include <sstream>

#include "busbar/base/archive.h"
#include "busbar/base/check.h"
#include "busbar/base/internal/utf16.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  constexpr std::uint64_t kMost = 1 << 18;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto stream = [&] { return std::make_unique<std::istringstream>(bytes); };
  const auto length = [](std::istream& in) { return std::string(std::istreambuf_iterator<char>(in), {}).size(); };
  const auto failure = std::make_shared<UnpackFailure>();
  BUSBAR_CHECK(length(*unpack(stream(), failure, kMost)) <= kMost);
  ArchiveFiles files(stream(), kMost);
  for (Result<bool> more = files.next(); more.ok() && *more; more = files.next())
    BUSBAR_CHECK(length(*files.content(failure)) <= kMost);
  BUSBAR_CHECK(length(*utf8_of_utf16(stream())) <= 2 * size);
  return 0;
}
