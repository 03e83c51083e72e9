// One function per format: reads a file and tells what was found. Part of the work of import.h.
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
Result<ImportReport> report_slurm(ImportSource& source, const PartFigures& figures);

}  // namespace busbar
