// Which format a file has, and what it contains. One table of formats: how to recognise each, and how to report it.
//
// A new format is one row of the table in import.cc and a function that reads and describes it.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/input.h"
#include "busbar/base/json.h"
#include "busbar/base/result.h"
#include "busbar/formats/comm_trace.h"
#include "busbar/formats/imported.h"
#include "busbar/formats/imported_schedule.h"
#include "busbar/topology/part_figures.h"

namespace busbar::formats {

/// An input to import: its beginning, and the whole on request. A byte order mark is skipped.
class ImportSource {
 public:
  static Result<ImportSource> open(const std::string& path);
  static Result<ImportSource> of_input(Input input);
  /// For text in memory, which must outlive the source.
  static ImportSource of_text(std::string_view text, std::string name);

  const std::string& name() const { return name_; }
  const std::string& archive() const;              ///< that holds the file; empty: none
  std::string_view head() const { return head_; }  ///< at most 64 KiB
  /// The whole text; Error kUnsupported above 1 GiB.
  Result<std::string_view> whole();
  /// Line by line, in constant space.
  Result<class LineSource> lines() const;
  /// Byte by byte, in constant space.
  Result<std::unique_ptr<std::istream>> stream() const;
  /// Call after reading. Ok if lines and streams ended where the input does; otherwise why they ended before.
  Status complete() const;

 private:
  std::string name_, head_, text_;
  std::string_view given_;
  std::optional<Input> input_;  ///< absent for text in memory
  bool marked_ = false;         ///< it begins with a byte order mark
  bool read_ = false;
};

/// The content of a file, as labels and values to print.
struct ImportReport {
  std::string kind;
  Json found = Json::object();
  std::vector<std::string> notes;
  std::vector<UnknownPart> unknown;
  bool refuted = false;  ///< the content was understood and is wrong
};

struct FormatEntry {
  const char* kind;     ///< "nccl-topology"
  const char* summary;  ///< one line
  bool (*matches)(std::string_view head);
  /// Null for kinds that are reported as the machine or the trace that they hold.
  Result<ImportReport> (*read)(ImportSource& source);
  /// For kinds that describe one machine; otherwise null.
  Result<ImportedMachine> (*machine)(std::string_view text, const std::string& name,
                                     const topology::PartFigures& figures);
  /// For kinds that hold a schedule, which is proved; otherwise null.
  Result<ImportedSchedule> (*schedule)(ImportSource& source) = nullptr;
  /// For kinds that hold messages and work; otherwise null.
  Result<ImportedMessages> (*messages)(ImportSource& source) = nullptr;
  /// For traces with collectives; otherwise null.
  Result<CommTrace> (*trace)(std::istream& in, const std::string& name) = nullptr;
};
/// In the order in which they are tried.
std::span<const FormatEntry> import_formats();

/// The first format that matches, with or without what launchers and loggers put before each line; null if none does.
const FormatEntry* find_format(std::string_view head);

/// Precondition: the format is that of a trace.
Result<CommTrace> read_trace(const FormatEntry& format, ImportSource& source);

/// Reads the source in the first format that matches. `kind`: the name of a format to use without a check; empty:
/// detect. Error kInvalid lists the kinds if none matches.
Result<ImportReport> import_source(ImportSource& source, const topology::PartFigures& figures,
                                   const std::string& kind = {});

}  // namespace busbar::formats
