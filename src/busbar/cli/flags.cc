#include "busbar/cli/flags.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "busbar/base/quantity.h"

namespace busbar {
namespace {

void add_flag(CLI::App& app, const Flag& flag) {
  CLI::Option* option = std::visit(
      [&](auto* target) -> CLI::Option* {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>)
          return app.add_flag(flag.names, *target, flag.help);
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          return app.add_option(flag.names, *target, flag.help)
              ->expected(1)
              ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
              ->delimiter('\0');
        else
          return app.add_option(flag.names, *target, flag.help);
      },
      flag.target);
  option->group(flag.category);
  if (!flag.value.empty()) option->type_name(flag.value);
}

void add_command(CLI::App& app, const Command& command) {
  CLI::App* sub = app.add_subcommand(command.name, command.summary);
  for (const Positional& p : command.positionals) {
    CLI::Option* o = sub->add_option(p.name, *p.target, p.help);
    if (p.required) o->required();
  }
  for (const Flag& f : command.flags) add_flag(*sub, f);
  sub->footer("Examples:\n" + command.examples);
  sub->allow_extras(false);
}

std::vector<std::string> flag_names(const Command& command) {
  std::vector<std::string> names;
  for (const Flag& f : command.flags)
    for (std::string& name : split_names(f.names)) names.push_back(std::move(name));
  return names;
}

/// "busbar: unknown flag '--enginge'; did you mean '--engine'?" for the first argument nobody knows.
std::string explain_usage(const std::vector<Command>& commands, const std::vector<std::string>& args,
                          const std::string& otherwise) {
  std::vector<std::string> known;
  for (const Command& c : commands) known.push_back(c.name);
  if (args.empty() || args[0].starts_with("-")) return "busbar: " + otherwise + "; try busbar --help\n";
  const auto it = std::find(known.begin(), known.end(), args[0]);
  if (it == known.end()) {
    const std::string guess = nearest(args[0], known);
    return fmt::format("busbar: there is no command '{}'{}; try busbar --help\n", args[0],
                       guess.empty() ? "" : "; did you mean '" + guess + "'?");
  }
  const Command& command = commands[static_cast<std::size_t>(it - known.begin())];
  const auto names = flag_names(command);
  for (std::size_t i = 1; i < args.size(); ++i) {
    const std::string word = args[i].substr(0, args[i].find('='));
    if (!word.starts_with("--") || word == "--help" || std::find(names.begin(), names.end(), word) != names.end())
      continue;
    const std::string guess = nearest(word, names);
    return fmt::format("busbar {}: unknown flag '{}'{}; try busbar {} --help\n", command.name, word,
                       guess.empty() ? "" : "; did you mean '" + guess + "'?", command.name);
  }
  return fmt::format("busbar {}: {}; try busbar {} --help\n", command.name, otherwise, command.name);
}

}  // namespace

std::vector<std::string> split_names(const std::string& names) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    out.push_back(names.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

std::vector<std::string> categories_of(const Command& command) {
  std::vector<std::string> out;
  for (const Flag& f : command.flags)
    if (std::find(out.begin(), out.end(), f.category) == out.end()) out.push_back(f.category);
  return out;
}

std::string usage_of(const Command& command) {
  std::string out = "busbar " + command.name;
  for (const Positional& p : command.positionals) out += p.required ? " " + p.name : " [" + p.name + "]";
  return out + (command.flags.empty() ? "" : " [OPTION]...");
}

Parsed parse_command_line(const std::vector<Command>& commands, const std::vector<std::string>& args,
                          const std::string& version) {
  CLI::App app{"How fast can these GPUs talk, what limits them, and what would change it?", "busbar"};
  app.set_version_flag("--version", version);
  app.footer(
      "First steps:\n  busbar collective dgx-h100 all_reduce\n  busbar train examples/llama3-70b-512xh100.yaml\n"
      "busbar COMMAND --help explains every flag. Exit status: 0 done, 1 a clean no, 2 could not do it.");
  app.require_subcommand(0, 1);
  for (const Command& c : commands) add_command(app, c);
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  Parsed out;
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const auto subs = app.get_subcommands();
    out.print = subs.empty() ? app.help() : subs.front()->help("busbar");
    return out;
  } catch (const CLI::CallForVersion&) {
    out.print = version + "\n";
    return out;
  } catch (const CLI::ParseError& e) {
    out.print = explain_usage(commands, args, e.what());
    out.status = 2;
    return out;
  }
  const auto subs = app.get_subcommands();
  if (subs.empty()) {
    out.print = app.help();
    return out;
  }
  for (const Command& c : commands)
    if (c.name == subs.front()->get_name()) out.command = &c;
  return out;
}

}  // namespace busbar
