// One layout with batches of many sizes, as a document.
#pragma once

#include <string>

#include "busbar/report/document.h"
#include "busbar/step/batches_run.h"

namespace busbar::views {

/// "192", "960 to 1920", "960 and more", or "nowhere: 98.0 to 99.9 %".
std::string words_of(const step::ClaimRange& r);
report::Document batches_document(const step::BatchesRun& run);

}  // namespace busbar::views
