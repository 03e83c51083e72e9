#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/run_files.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/streams.h"
#include "busbar/spec/catalog.h"

namespace {

/// The command line as a user would type it.
std::string typed_line(int argc, char** argv) {
  std::string line = "busbar";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$*?[]{}()<>|&;~#`!") == std::string::npos;
    line += ' ' + (plain ? word : "'" + word + "'");
  }
  return line;
}

/// Without this check, a folder that is no catalogue would silently give answers from other product data.
busbar::Result<int> run(const busbar::Command& command) {
  for (const busbar::Flag& f : command.flags)
    if (f.names == "--catalog") BUSBAR_RETURN_IF_ERROR(busbar::Catalog(*std::get<std::string*>(f.target)).check());
  return command.run();
}

[[noreturn]] void give_up_for_memory() {
  constexpr std::string_view kWhy =
      "busbar: not enough memory; ask for fewer GPUs, sizes or flows, or allow more (ulimit -v)\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kWhy.data(), kWhy.size());  // allocates no memory
  std::_Exit(2);  // without destructors: threads may wait for each other
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is not an error: remaining output is dropped
  busbar::leave_on_signals();
  std::set_new_handler(give_up_for_memory);
  busbar::occupy_standard_streams();
  const busbar::RunFiles files;
  const std::string typed = typed_line(argc, argv);
  std::vector<busbar::Command> commands{
      busbar::collective_command(typed), busbar::train_command(typed),    busbar::plan_command(typed),
      busbar::topo_command(typed),       busbar::localize_command(typed), busbar::path_command(typed),
      busbar::flows_command(typed),      busbar::catalog_command(typed),  busbar::validate_command(typed),
      busbar::rings_command(typed),      busbar::import_command(typed),   busbar::expect_command(typed),
      busbar::calibrate_command(typed),  busbar::claims_command(typed),   busbar::cost_command(typed),
      busbar::doctor_command(typed),     busbar::survive_command(typed),  busbar::compare_command(typed)};
  const std::string version = "busbar " BUSBAR_VERSION;
  commands.push_back(busbar::man_command(commands, version));
  commands.push_back(busbar::completion_command(commands));
  const busbar::Parsed parsed =
      busbar::parse_command_line(commands, std::vector<std::string>(argv + 1, argv + argc), version);
  if (parsed.command) {
    const busbar::Result<int> status = run(*parsed.command);
    return status.ok() ? *status : busbar::report_error(status.error());
  }
  if (parsed.status == 0) return busbar::print_out(parsed.print);
  busbar::say(parsed.print);
  return parsed.status;
}
