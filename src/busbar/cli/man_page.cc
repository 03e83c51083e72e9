#include "busbar/cli/man_page.h"

#include <fmt/core.h>

#include <algorithm>

namespace busbar {
namespace {

constexpr const char* kEnvironment[][2] = {
    {"BUSBAR_CATALOG", "folder with product data that overrides the built-in data; --catalog overrides it"},
    {"COLUMNS", "width of text, at least 40; absent: the terminal's width, or 100 for a file or pipe"},
    {"NO_COLOR", "if set, no colour on a terminal; also if TERM is dumb"},
    {"LC_ALL, LC_CTYPE, LANG", "bars use block characters if the first of these that is set names UTF-8"}};
constexpr const char* kStatus[][2] = {{"0", "done"},
                                      {"1", "the answer is no: a fault found, does not fit, a target missed"},
                                      {"2", "error: wrong usage or input, or a file that cannot be read or written"},
                                      {"130, 143", "interrupted by Ctrl-C or SIGTERM; the results so far are printed"}};

/// Text for roff: without escapes and requests, and with hyphens that can be copied.
std::string roff(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool first = i == 0 || text[i - 1] == '\n';
    if (first && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  return out;
}

std::string title(const std::string& name, const std::string& version) {
  std::string capitals = name;
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return fmt::format(".TH {} 1 \"\" \"{}\" \"Busbar\"\n", roff(capitals), roff(version));
}

bool repeats(const Flag& f) { return std::holds_alternative<std::vector<std::string>*>(f.target); }

std::string option(const Flag& f) {
  std::string out = ".TP\n";
  const std::vector<std::string> names = split_names(f.names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += (i > 0 ? ", " : "") + fmt::format("\\fB{}\\fR", roff(names[i]));
  }
  if (!f.value.empty()) out += fmt::format(" \\fI{}\\fR", roff(f.value));
  return out + "\n" + roff(help_of(f)) + (repeats(f) ? "; may be given several times" : "") + "\n";
}

template <std::size_t N>
std::string definitions(const char* heading, const char* const (&rows)[N][2]) {
  std::string out = fmt::format(".SH {}\n", heading);
  for (const auto& row : rows) out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(row[0]), roff(row[1]));
  return out;
}

std::string trimmed_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// "`--set` *PATH=VALUE*", without characters that break a table cell.
std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace

std::string man_page(const Command& c, const std::string& version) {
  std::string out = title("busbar-" + c.name, version);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff("busbar-" + c.name), roff(c.summary));
  out += fmt::format(".SH SYNOPSIS\n{}\n", roff(usage_of(c)));
  if (!c.positionals.empty()) out += ".SH ARGUMENTS\n";
  for (const Positional& p : c.positionals) out += fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff(p.name), roff(p.help));
  out += ".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nall of this in short\n";
  for (const std::string& category : categories_of(c)) {
    out += fmt::format(".SS {}\n", roff(category));
    for (const Flag& f : c.flags)
      if (f.category == category) out += option(f);
  }
  out += fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", roff(trimmed_end(c.examples)));
  out += definitions("ENVIRONMENT", kEnvironment) + definitions("EXIT STATUS", kStatus);
  return out + ".SH SEE ALSO\n.BR busbar (1)\n";
}

std::string man_overview(const std::vector<Command>& commands, const std::string& version) {
  std::string out = title("busbar", version);
  out += ".SH NAME\nbusbar \\- how fast GPUs of a machine can talk, what limits them, and what would change it\n";
  out += ".SH SYNOPSIS\n\\fBbusbar\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR]... [\\fIOPTION\\fR]...\n";
  out +=
      ".SH DESCRIPTION\nModels the links a byte crosses in a machine of GPUs, runs collectives and whole training "
      "steps over them, and reports the parts of the time, the link that limits it and the accuracy of the answer. "
      "Needs no GPU, no privilege and no network.\n.PP\nRates are 1e9 bytes per second and direction. Sizes without "
      "unit are "
      "bytes; K, M and G are binary, as in nccl\\-tests.\n.SH COMMANDS\n";
  for (const Command& c : commands) out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(c.name), roff(c.summary));
  out += definitions("ENVIRONMENT", kEnvironment) + definitions("EXIT STATUS", kStatus);
  out += ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < commands.size(); ++i)
    out += fmt::format(".BR {} (1){}\n", roff("busbar-" + commands[i].name), i + 1 < commands.size() ? "," : "");
  return out;
}

std::string markdown_page(const Command& c) {
  std::string out = fmt::format("# busbar {}\n\n{}.\n\n```text\n{}\n```\n", c.name, c.summary, usage_of(c));
  if (!c.positionals.empty()) out += "\n| argument | is |\n|---|---|\n";
  for (const Positional& p : c.positionals) out += fmt::format("| `{}` | {} |\n", p.name, markdown_cell(p.help));
  for (const std::string& category : categories_of(c)) {
    out += fmt::format("\n## {}\n\n| flag | does |\n|---|---|\n", category);
    for (const Flag& f : c.flags) {
      if (f.category != category) continue;
      std::string names;
      for (const std::string& name : split_names(f.names)) names += (names.empty() ? "`" : ", `") + name + "`";
      if (!f.value.empty()) names += " " + markdown_cell(f.value);
      out += fmt::format("| {} | {}{} |\n", names, markdown_cell(help_of(f)), repeats(f) ? "; several times too" : "");
    }
  }
  return out + fmt::format("\n## Examples\n\n```text\n{}\n```\n", trimmed_end(c.examples));
}

}  // namespace busbar
