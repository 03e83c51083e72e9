// Pages about commands, generated from the table that parses them, so that they are always up to date.
#pragma once

#include <string>
#include <vector>

#include "busbar/cli/flags.h"

namespace busbar {

/// busbar-NAME(1) as source for man. It contains no date, so the same table gives the same bytes.
std::string man_page(const Command& command, const std::string& version);
/// busbar(1): commands, environment, exit status.
std::string man_overview(const std::vector<Command>& commands, const std::string& version);
/// The page of one command in Markdown, for the documentation site.
std::string markdown_page(const Command& command);

}  // namespace busbar
