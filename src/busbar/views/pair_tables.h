// Tables of fixed width about each pair of devices of a node, and a picture.
#pragma once

#include <string>
#include <vector>

#include "busbar/questions/pair_figures.h"
#include "busbar/report/document.h"

namespace busbar::views {

std::string hop_text(const questions::HopCounts& counts, std::size_t columns);
/// A row per sender, a column per receiver, in fixed width. What does not fit `columns` follows in further blocks.
std::string pair_text(const std::string& title, const questions::PairFigures& figures,
                      const std::vector<std::vector<double>>& values, std::size_t columns);
/// The same as a picture: a square per pair, the stronger its colour the larger. Up to 24 GPUs with the figures.
report::Drawing draw_pairs(const std::string& title, const questions::PairFigures& figures,
                           const std::vector<std::vector<double>>& values);

}  // namespace busbar::views
