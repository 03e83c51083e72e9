// What is this file, and what does it hold? One table of formats: how to know each, and how to tell what was found.
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
#include "busbar/formats/gzip_stream.h"
#include "busbar/formats/imported.h"
#include "busbar/formats/imported_schedule.h"
#include "busbar/topology/part_figures.h"

namespace busbar {

/// An input to import: its beginning, and the whole when a reader asks for it. What gzip compressed is unpacked while
/// it is read, up to kMostUnpacked bytes. A byte order mark does not count.
class ImportSource {
 public:
  static Result<ImportSource> open(const std::string& path);
  /// For text that is no file. It must outlive the source.
  static ImportSource of_text(std::string_view text, std::string name);

  const std::string& name() const { return name_; }
  std::string_view head() const { return head_; }  ///< at most 64 KiB
  /// The whole; Error kUnsupported above 1 GiB.
  Result<std::string_view> whole();
  /// Line by line, in constant space.
  Result<class LineSource> lines() const;
  /// Byte by byte, in constant space.
  Result<std::unique_ptr<std::istream>> stream() const;
  /// Ok while lines and streams end where the input does; else why they ended before: only seen once they were read.
  Status complete() const;

 private:
  std::string name_, head_, text_;
  std::string_view given_;
  std::optional<Input> input_;  ///< absent: text in memory
  bool marked_ = false;         ///< it begins with a byte order mark
  bool read_ = false;
  std::shared_ptr<GzipFailure> failure_;  ///< only of packed inputs; shared with their streams, which may live longer
};

/// What a file holds, in words and numbers that a person asked for.
struct ImportReport {
  std::string kind;
  Json found = Json::object();
  std::vector<std::string> notes;
  std::vector<UnknownPart> unknown;
  bool refuted = false;  ///< what the file holds was understood and is wrong
};

struct FormatEntry {
  const char* kind;     ///< "nccl-topology"
  const char* summary;  ///< one line
  bool (*matches)(std::string_view head);
  Result<ImportReport> (*read)(ImportSource& source, const PartFigures& figures);
  /// Of kinds that describe one machine; else null.
  Result<ImportedMachine> (*machine)(std::string_view text, const std::string& name, const PartFigures& figures);
  /// Of kinds that hold a schedule, proved; else null.
  Result<ImportedSchedule> (*schedule)(ImportSource& source) = nullptr;
  /// Of kinds that hold messages and work; else null.
  Result<ImportedMessages> (*messages)(ImportSource& source) = nullptr;
  /// Of traces with collectives; else null.
  Result<CommTrace> (*trace)(ImportSource& source) = nullptr;
};
/// In the order in which they are tried.
std::span<const FormatEntry> import_formats();

/// The first format that matches; null where none does.
const FormatEntry* find_format(std::string_view head);

/// The first format that matches, read. `kind`: a name from the table that is taken without looking; empty: look.
/// Error kInvalid lists the kinds where none matches.
Result<ImportReport> import_source(ImportSource& source, const PartFigures& figures, const std::string& kind = {});

}  // namespace busbar
