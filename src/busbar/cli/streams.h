// What people and programs see: standard output and standard error. Nothing that comes from a file or a flag can
// command the terminal.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/report/document.h"

namespace busbar {

/// What was closed when the program began is opened such that no file gets its number: reading ends at once, standard
/// error is dropped, and writing to standard output fails as it would have.
void occupy_standard_streams();

/// Prints on standard output. Returns `status`, or 2, with the reason on standard error, where it takes no more. With
/// `status` 2 something has failed before, and nothing is printed.
int print_out(std::string_view text, int status = 0);

/// A line on standard error behind "busbar: ". Controls and marks that turn text become '?'; of words and quoted text
/// above 200 characters the beginning is shown.
void say(std::string_view line);

/// "busbar: <error>" on stderr; the exit status that its code asks for (1 does not fit, else 2).
int report_error(const Error& error);

/// How standard output shows text: as wide as $COLUMNS or the terminal says (100 where neither does), coloured on a
/// terminal unless $NO_COLOR is set or $TERM is dumb, with more than ASCII where the locale is one of UTF-8.
TextOptions text_options();

}  // namespace busbar
