#include "busbar/cli/command_line.h"

#include <fmt/core.h>

#include "busbar/cli/commands.h"
#include "busbar/cli/streams.h"
#include "busbar/spec/catalog.h"

namespace busbar {
namespace {

/// The command line as a user would type it.
std::string typed_line(const std::vector<std::string>& args) {
  std::string line = "busbar";
  for (const std::string& word : args) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$*?[]{}()<>|&;~#`!") == std::string::npos;
    line += ' ' + (plain ? word : "'" + word + "'");
  }
  return line;
}

/// Without this check, a folder that is no catalogue would silently give answers from other product data.
Result<int> run(const Command& command) {
  for (const Flag& f : command.flags)
    if (f.names == "--catalog") BUSBAR_RETURN_IF_ERROR(Catalog(*std::get<std::string*>(f.target)).check());
  return command.run();
}

}  // namespace

int run_command_line(const std::vector<std::string>& args) {
  const std::string typed = typed_line(args);
  std::vector<Command> commands{
      collective_command(typed), train_command(typed),   plan_command(typed),   topo_command(typed),
      localize_command(typed),   path_command(typed),    flows_command(typed),  catalog_command(typed),
      validate_command(typed),   rings_command(typed),   import_command(typed), expect_command(typed),
      calibrate_command(typed),  claims_command(typed),  cost_command(typed),   doctor_command(typed),
      survive_command(typed),    compare_command(typed), sweep_command(typed)};
  const std::string version = "busbar " BUSBAR_VERSION;
  commands.push_back(man_command(commands, version));
  commands.push_back(completion_command(commands));
  const Parsed parsed = parse_command_line(commands, args, version);
  if (parsed.command) {
    const Result<int> status = run(*parsed.command);
    return status.ok() ? *status : report_error(status.error());
  }
  if (parsed.status == 0) return print_out(parsed.print);
  say(parsed.print);
  return parsed.status;
}

}  // namespace busbar
