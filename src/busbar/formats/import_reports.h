// One function per format: reads a file and reports its content. Part of the work of import.h.
#pragma once

#include "busbar/formats/import.h"

namespace busbar {

Result<ImportReport> report_nccl_topo(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_nccl_graph(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_hwloc(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_perf_json(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_perf_table(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_nccl_log(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_rocm_smi(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_nvidia_smi(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_iblinkinfo(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_ibnetdiscover(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_msccl(ImportSource& source, const PartFigures& figures);
Result<ImportedSchedule> schedule_of_msccl(ImportSource& source);
Result<ImportReport> report_mscclpp(ImportSource& source, const PartFigures& figures);
Result<ImportedSchedule> schedule_of_mscclpp(ImportSource& source);
Result<ImportReport> report_goal(ImportSource& source, const PartFigures& figures);
Result<ImportedMessages> messages_of_goal(ImportSource& source);
Result<ImportReport> report_chakra(ImportSource& source, const PartFigures& figures);
Result<CommTrace> trace_of_chakra(ImportSource& source);
Result<ImportReport> report_chakra_json(ImportSource& source, const PartFigures& figures);
Result<CommTrace> trace_of_chakra_json(ImportSource& source);
Result<ImportReport> report_comm_groups(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_kineto(ImportSource& source, const PartFigures& figures);
Result<CommTrace> trace_of_kineto(ImportSource& source);
Result<ImportReport> report_astra_network(ImportSource& source, const PartFigures& figures);
Result<ImportedMachine> read_astra_machine(std::string_view text, const std::string& name, const PartFigures& figures);
Result<ImportReport> report_ns3_topology(ImportSource& source, const PartFigures& figures);
Result<ImportedMachine> read_ns3_machine(std::string_view text, const std::string& name, const PartFigures& figures);
Result<ImportReport> report_astra_system(ImportSource& source, const PartFigures& figures);
Result<ImportReport> report_slurm(ImportSource& source, const PartFigures& figures);

}  // namespace busbar
