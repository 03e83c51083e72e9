#include "busbar/cli/streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "busbar/base/output.h"
#include "busbar/base/text.h"
#include "busbar/cli/long_run.h"
#include "busbar/lines/message.h"
#include "busbar/report/plain.h"

namespace busbar::cli {
namespace {

constexpr int kFewestColumns = 40, kMostColumns = 1000;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// 0: unknown.
int columns_of_output() {
  const std::string asked = variable("COLUMNS");
  int columns = 0;
  if (is_number(asked, columns) && columns > 0) return columns;
  winsize size{};
  const bool known = isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known ? size.ws_col : 0;
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = variable(name);
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

void occupy_standard_streams() {
  const int flags[] = {O_RDONLY, O_RDONLY, O_WRONLY};  // writing to a file opened for reading fails
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", flags[fd]);  // gets the lowest free number
}

int print_out(std::string_view text, int status) {
  if (status == 2) return status;
  end_progress();
  const Status done = write_stdout(text);
  return done.ok() ? status : report_error(done.error());
}

void say(std::string_view line) {
  const std::string text = lines::message_line(line);
  clear_progress();
  std::fputs(text.c_str(), stderr);
}

int report_error(const Error& error) {
  say(error.text());
  return lines::status_of(error);
}

report::TextOptions text_options() {
  report::TextOptions text;
  if (const int columns = columns_of_output(); columns >= kFewestColumns)
    text.columns = std::min(columns, kMostColumns);
  text.colour = isatty(STDOUT_FILENO) != 0 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  text.utf8 = locale_is_utf8();
  return text;
}

}  // namespace busbar::cli
