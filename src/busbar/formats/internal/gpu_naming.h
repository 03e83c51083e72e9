// Finds the products of GPUs that a file does not name.
#pragma once

#include <string>
#include <vector>

#include "busbar/formats/internal/machine_records.h"

namespace busbar::formats::machine_records {

struct GpuNaming {
  std::vector<std::string> notes;  ///< what was assumed
  std::string unnamed;             ///< why no product was found; empty: one was, or none was needed
};

/// Gives every GPU without a known PCI id a product: the user's (figures.given_gpu), or the first whose signature its
/// links match. GPUs that the file lists without links (static topology files of clouds) get the links of such a board;
/// PCIe links without a speed get the speed of the product's slot. Figures without products change nothing. Error
/// kInvalid if the user names an unknown product, or a product for GPUs that the file names.
Result<GpuNaming> name_gpus(Records& records, const topology::PartFigures& figures, const std::string& file);

}  // namespace busbar::formats::machine_records
