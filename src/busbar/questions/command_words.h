// The words of a command line that stands in a text.
#pragma once

#include <string>
#include <vector>

namespace busbar::questions {

/// Words are separated by spaces; text in single quotes is one word.
std::vector<std::string> command_words(const std::string& command);

}  // namespace busbar::questions
