#include "busbar/cli/command_line.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/streams.h"
#include "busbar/spec/catalog.h"

namespace busbar {
namespace {

/// Without this check, a folder that is no catalogue would silently give answers from other product data.
Result<int> run(const Command& command) {
  for (const Flag& f : command.flags)
    if (f.names == "--catalog") BUSBAR_RETURN_IF_ERROR(Catalog(*std::get<std::string*>(f.target)).check());
  return command.run();
}

std::vector<Command> commands_of(const std::string& typed) {
  return {collective_command(typed), train_command(typed),   plan_command(typed),   topo_command(typed),
          localize_command(typed),   path_command(typed),    flows_command(typed),  catalog_command(typed),
          validate_command(typed),   rings_command(typed),   import_command(typed), expect_command(typed),
          calibrate_command(typed),  claims_command(typed),  cost_command(typed),   doctor_command(typed),
          survive_command(typed),    compare_command(typed), sweep_command(typed),  explore_command(typed),
          new_cluster_command(typed)};
}

}  // namespace

std::string typed_line(const std::vector<std::string>& args) {
  std::string line = "busbar";
  for (const std::string& word : args) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$*?[]{}()<>|&;~#`!") == std::string::npos;
    line += ' ' + (plain ? word : "'" + word + "'");
  }
  return line;
}

int run_command_line(const std::vector<std::string>& args) {
  std::vector<Command> commands = commands_of(typed_line(args));
  const std::string version = "busbar " BUSBAR_VERSION;
  commands.push_back(man_command(commands, version));
  commands.push_back(completion_command(commands));
  const Parsed parsed = parse_command_line(commands, args, version);
  if (parsed.command) {
    LongRun::forget_signal();
    show_when_late("'" + parsed.command->name + "' is at work");
    const Result<int> status = run(*parsed.command);
    if (status.ok()) return *status;
    if (LongRun::last_signal() == 0) return report_error(status.error());
    say("interrupted before there was a result");
    return 128 + LongRun::last_signal();
  }
  if (parsed.status == 0) return print_out(parsed.print);
  say(parsed.print);
  return parsed.status;
}

Status check_command(const std::string& name, const Where& where) {
  std::vector<std::string> known;
  for (const Command& c : commands_of("")) known.push_back(c.name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  const std::string guess = nearest(name, known);
  return invalid(
      fmt::format("there is no command '{}'{}", name, guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess)),
      where);
}

}  // namespace busbar
