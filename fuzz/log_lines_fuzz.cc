// Lines of any bytes without their prefixes: nothing but what the text holds, and every part of a prefix in its line.
#include "busbar/base/check.h"
#include "busbar/formats/lines.h"
#include "fuzz.h"

namespace {

using namespace busbar;

void check_prefix(std::string_view line, const formats::LinePrefix& prefix) {
  BUSBAR_CHECK(prefix.length <= line.size());
  const std::string_view text = line.substr(0, prefix.length);
  const auto inside = [&](std::string_view part) {
    return part.empty() || (part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size());
  };
  BUSBAR_CHECK(inside(prefix.time) && inside(prefix.stream) && inside(prefix.host)) << line;
  for (const std::string_view label : prefix.labels) BUSBAR_CHECK(inside(label)) << line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const formats::LabelStyles& styles : {formats::LabelStyles(), formats::LabelStyles{true, true, true, true}})
    check_prefix(text.substr(0, text.find('\n')), formats::prefix_of(text.substr(0, text.find('\n')), styles));
  formats::LineSource source = formats::LineSource::of_text(text, "input");
  source.skip_prefixes();
  std::size_t read = 0;
  for (std::string_view line; source.next(line);) read += line.size();
  BUSBAR_CHECK(read <= size);
  return 0;
}
