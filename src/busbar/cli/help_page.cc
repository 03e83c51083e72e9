#include "busbar/cli/help_page.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/cli/streams.h"
#include "busbar/report/plain.h"

namespace busbar::cli {
namespace {

constexpr std::size_t kIndent = 26;  // column of the explanations

/// `text` in lines of the width that the user has; those after the first begin with `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent) {
  const auto columns = static_cast<std::size_t>(std::clamp(text_options().columns, 40, 100));
  std::string out;
  for (const std::string& line : report::wrap_words(text, columns - indent))
    out += (out.empty() ? "" : std::string(indent, ' ')) + line + "\n";
  return out;
}

/// "  --set PATH=VALUE      change one key ...", with the explanation in a column.
std::string item(const std::string& head, const std::string& text) {
  std::string out = "  " + head;
  if (head.size() + 4 > kIndent)
    out += "\n" + std::string(kIndent, ' ');
  else
    out = report::pad_right(out, kIndent);
  return out + wrapped(text, kIndent);
}

std::string item(const lines::Flag& f) {
  return item(f.names + (f.value.empty() ? "" : " " + f.value), lines::help_of(f));
}

}  // namespace

std::string help_page(const lines::Command& c) {
  std::string out = wrapped(c.summary, 0) + "\n" + wrapped("Usage: " + lines::usage_of(c), 7);
  if (!c.positionals.empty()) out += "\nArguments:\n";
  for (const lines::Positional& p : c.positionals) out += item(p.name, p.help);
  for (const std::string& category : lines::categories_of(c)) {
    out += fmt::format("\n{}:\n", category);
    for (const lines::Flag& f : c.flags)
      if (f.category == category) out += item(f);
  }
  out += "\n  -h,--help               this text\n";
  if (const std::vector<const questions::ForeignFlag*> others = lines::foreign_flags_of(c); !others.empty())
    out +=
        "\n" + wrapped(fmt::format("Flags of Megatron-LM, torchtitan and DeepSpeed work too, such as --{}; the manual "
                                   "page lists them.",
                                   others.front()->name),
                       0);
  return out + fmt::format("\nExamples:\n{}", c.examples);
}

std::string help_overview(const std::vector<lines::Command>& commands) {
  std::string out = wrapped("How fast can these GPUs talk, what limits them, and what would change it?", 0) +
                    "\nUsage: busbar COMMAND [ARGUMENT]... [OPTION]...\n\nCommands:\n";
  for (const lines::Command& c : commands) out += item(c.name, c.summary);
  return out +
         "\nFirst steps:\n  busbar collective dgx-h100 all_reduce\n  busbar train examples/llama3-70b-512xh100.yaml\n"
         "'busbar help COMMAND' explains every flag.\n"
         "'busbar help --schema COMMAND' prints the JSON Schema of its request and its answer.\n"
         "'busbar --version' prints the version.\n"
         "Exit status: 0 done, 1 the answer is no, 2 error; 130 or 143 interrupted, with the results so far.\n";
}

}  // namespace busbar::cli
