// Which products the GPUs of a file are that does not name them.
#pragma once

#include <string>
#include <vector>

#include "busbar/formats/machine_records.h"

namespace busbar::machine_records {

struct GpuNaming {
  std::vector<std::string> notes;  ///< what was assumed
  std::string unnamed;             ///< why no product was found; empty: one was, or the file says enough
};

/// Gives every GPU without a known PCI id a product: what the user says (figures.given_gpu), else the first of the
/// signature that its links show. GPUs that the file lists without their links (static topology files of clouds) get
/// the links of such a board, and PCIe links without a speed that of the product's slot. Figures without products
/// change nothing. Error kInvalid where the user names a product that is not known, or GPUs that the file names.
Result<GpuNaming> name_gpus(Records& records, const PartFigures& figures, const std::string& file);

}  // namespace busbar::machine_records
