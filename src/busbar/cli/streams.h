// Standard output and standard error. Text from a file or a flag never controls the
// terminal.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/report/document.h"

namespace busbar::cli {

/// Opens the standard streams that were closed at the start, so that no file gets their number. Reading then ends at
/// once, standard error is dropped, and writing to standard output fails, as if it were closed.
void occupy_standard_streams();

/// Prints on standard output. Returns `status`; or 2, with the reason on standard error, if writing fails. With
/// `status` 2 an error has occurred before, and nothing is printed.
int print_out(std::string_view text, int status = 0);

/// Prints the message_line() of `line` on standard error.
void say(std::string_view line);

/// Prints "busbar: <error>" on stderr; returns its status.
int report_error(const Error& error);

/// How to print text on standard output: as wide as $COLUMNS or the terminal (100 if both are unknown); in colour on a
/// terminal unless $NO_COLOR is set or $TERM is dumb; with characters beyond ASCII if the locale uses UTF-8.
report::TextOptions text_options();

}  // namespace busbar::cli
