// One function per format: reads a file and reports its content. Part of the work of import.h.
#pragma once

#include "busbar/formats/import.h"

namespace busbar::formats {

struct NcclLog;

/// The report of a file that holds a machine.
ImportReport report_of(ImportedMachine machine);
ImportReport report_of(CommTrace trace);

Result<ImportReport> report_nccl_graph(ImportSource& source);
Result<ImportReport> report_perf_json(ImportSource& source);
Result<ImportReport> report_perf_csv(ImportSource& source);
Result<ImportReport> report_perf_table(ImportSource& source);
Result<ImportReport> report_nccl_log(ImportSource& source);
ImportReport report_of(NcclLog log);
Result<ImportReport> report_iblinkinfo(ImportSource& source);
Result<ImportReport> report_ibnetdiscover(ImportSource& source);
Result<ImportReport> report_msccl(ImportSource& source);
Result<ImportedSchedule> schedule_of_msccl(ImportSource& source);
Result<ImportReport> report_mscclpp(ImportSource& source);
Result<ImportedSchedule> schedule_of_mscclpp(ImportSource& source);
Result<ImportReport> report_goal(ImportSource& source);
Result<ImportedMessages> messages_of_goal(ImportSource& source);
Result<ImportReport> report_comm_groups(ImportSource& source);
Result<ImportReport> report_nccl_tuner(ImportSource& source);
Result<ImportReport> report_astra_network(ImportSource& source);
Result<ImportedMachine> read_astra_machine(std::string_view text, const std::string& name,
                                           const topology::PartFigures& figures);
Result<ImportReport> report_ns3_topology(ImportSource& source);
Result<ImportedMachine> read_ns3_machine(std::string_view text, const std::string& name,
                                         const topology::PartFigures& figures);
Result<ImportReport> report_astra_system(ImportSource& source);
Result<ImportReport> report_slurm(ImportSource& source);

}  // namespace busbar::formats
