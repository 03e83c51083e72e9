#include "busbar/cli/command_line.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/cli/commands.h"
#include "busbar/cli/help_page.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/question_command.h"
#include "busbar/cli/streams.h"
#include "busbar/lines/ask_line.h"

namespace busbar::cli {
namespace {

Result<int> run(const lines::Command& command) {
  BUSBAR_RETURN_IF_ERROR(lines::check_catalog(command));
  return command.run();
}

/// All commands, in the order of help: questions by their places, the other by the place stated here.
std::vector<lines::Command> commands_of(const std::string& typed) {
  std::vector<std::pair<int, lines::Command>> placed{{200, explore_command(typed)}};
  for (const questions::Question& q : questions::all_questions())
    placed.emplace_back(q.place, question_command(q, typed));
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<lines::Command> out;
  for (auto& [place, command] : placed) out.push_back(std::move(command));
  return out;
}

/// What "help --schema [COMMAND]" prints.
Result<std::string> schema_help(std::vector<std::string> words) {
  std::erase(words, "--schema");
  if (words.size() == 1) return Json(questions::question_names()).dump(2) + '\n';
  if (words.size() > 2) return invalid("names several commands; ask for one after another", {"", 0, 0, "--schema"});
  BUSBAR_ASSIGN(const questions::Question* const question, questions::question_named(words[1], {"", 0, 0, "--schema"}));
  return questions::schemas_of(*question).dump(2) + '\n';
}

bool asks_for_schema(const std::vector<std::string>& words) {
  return !words.empty() && words[0] == "help" && std::find(words.begin(), words.end(), "--schema") != words.end();
}

}  // namespace

int run_command_line(const std::vector<std::string>& args) {
  if (asks_for_schema(args)) {
    const Result<std::string> schema = schema_help(args);
    return schema.ok() ? print_out(*schema) : report_error(schema.error());
  }
  std::vector<lines::Command> commands = commands_of(lines::typed_line(args));
  const std::string version = "busbar " BUSBAR_VERSION;
  commands.push_back(man_command(commands, version));
  commands.push_back(completion_command(commands));
  const lines::Parsed parsed = lines::parse_command_line(commands, args, version);
  if (parsed.command) {
    show_when_late("'" + parsed.command->name + "' is at work");
    const Result<int> status = run(*parsed.command);
    if (status.ok()) return *status;
    if (LongRun::last_signal() == 0) return report_error(status.error());
    say("interrupted before there was a result");
    return 128 + LongRun::last_signal();
  }
  if (parsed.help) return print_out(parsed.of != nullptr ? help_page(*parsed.of) : help_overview(commands));
  if (parsed.status == 0) return print_out(parsed.print);
  say(parsed.print);
  return parsed.status;
}

}  // namespace busbar::cli
