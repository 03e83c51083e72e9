// Pages about commands, made from the same table that parses them, so that they cannot grow stale.
#pragma once

#include <string>
#include <vector>

#include "busbar/cli/flags.h"

namespace busbar {

/// busbar-NAME(1) as source for man. No date in it: the same table gives the same bytes.
std::string man_page(const Command& command, const std::string& version);
/// busbar(1): what there is, environment, exit status.
std::string man_overview(const std::vector<Command>& commands, const std::string& version);
/// The page of one command in Markdown, for the documentation site.
std::string markdown_page(const Command& command);

}  // namespace busbar
