// Every reader of foreign files on any bytes: refused with a message, or read into a report.
#include "busbar/base/check.h"
#include "busbar/formats/import.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const formats::FormatEntry& f : formats::import_formats()) {
    f.matches(text);
    formats::ImportSource source = formats::ImportSource::of_text(text, "input");
    const auto report = formats::import_source(source, {}, f.kind);
    BUSBAR_CHECK(report.ok() ? report->found.is_object() : !report.error().message.empty()) << f.kind;
  }
  return 0;
}
