#include "busbar/formats/import_set.h"

#include "busbar/formats/internal/import_reports.h"
#include "busbar/formats/lines.h"
#include "busbar/formats/nccl_log.h"

namespace busbar::formats {
namespace {

/// Whether lines of NCCL stand in it: in a log, or between the rows of a table.
bool may_hold_nccl_lines(const ImportReport& report) {
  return report.kind == "nccl-log" || report.kind == "nccl-tests";
}

Result<ImportReport> read_of_set(Input input, const topology::PartFigures& figures, const std::string& kind,
                                 NcclLogs& logs) {
  BUSBAR_ASSIGN(ImportSource source, ImportSource::of_input(std::move(input)));
  BUSBAR_ASSIGN(ImportReport report, import_source(source, figures, kind));
  if (may_hold_nccl_lines(report)) {
    BUSBAR_ASSIGN(LineSource lines, source.lines());
    logs.add(lines);
  }
  return report;
}

}  // namespace

ImportSet import_set(Result<std::optional<Input>> file, InputFiles rest, const topology::PartFigures& figures,
                     const std::string& kind) {
  ImportSet out;
  const std::unique_ptr<NcclLogs> logs = NcclLogs::make();
  for (; !file.ok() || *file; file = rest.next()) {
    const std::string name = file.ok() ? (*file)->name() : file.error().where.file;
    Result<ImportReport> report =
        file.ok() ? read_of_set(std::move(**file), figures, kind, *logs) : Result<ImportReport>(file.error());
    out.files.push_back(
        {name, report.ok() ? std::move(*report) : ImportReport(), report.ok() ? "" : report.error().message});
  }
  if (Result<NcclLog> log = logs->take(""); log.ok()) {
    out.log = report_of(std::move(*log));
    out.log->kind = "nccl-log";
  }
  return out;
}

}  // namespace busbar::formats
