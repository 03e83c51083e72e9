// What failures cost, as flags, JSON and blocks of a document.
#pragma once

#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/flags.h"
#include "busbar/report/document.h"
#include "busbar/survive/part_loss.h"

namespace busbar {

std::vector<Flag> goodput_flags(GoodputAsk& ask);

/// Adds its keys to `j`.
void add_goodput(const GoodputRun& run, Json& j);
std::vector<DocumentBlock> goodput_blocks(const GoodputRun& run);

Json losses_json(const PartLosses& losses);
std::vector<DocumentBlock> losses_blocks(const PartLosses& losses);

}  // namespace busbar
