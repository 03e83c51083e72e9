// One table per command defines every flag. Help, parsing and the tests use this table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/questions/flag_words.h"

namespace busbar::questions {
struct Answer;
struct Context;
}  // namespace busbar::questions

namespace busbar::lines {

/// An error in the value of a flag ("--scale") or of a word ("CLUSTER").
inline Error flag_error(const char* flag, std::string message) { return invalid(std::move(message), {"", 0, 0, flag}); }

using FlagTarget = std::variant<bool*, std::string*, std::vector<std::string>*, std::uint32_t*, double*,
                                std::optional<std::int64_t>*, std::optional<std::string>*>;

struct Flag {
  std::string names;     ///< "-b,--minbytes"
  std::string value;     ///< "SIZE", empty for switches; a flag for a list may be repeated
  std::string help;      ///< one line, with the default
  std::string category;  ///< "Machine", "Output", ...
  FlagTarget target;
  std::vector<std::string> choices{};  ///< allowed words; empty: any, and completion uses `value` (FILE, CLUSTER)
  std::string needs{};  ///< refused without this flag ("--scale") or value ("--engine packet"): it has no effect then
  std::vector<std::string> useless_with{};  ///< refused with these flags, because it then has no effect
  std::string* list = nullptr;              ///< takes "1,2,4" and "1..4" instead of `target`; null: they are refused
};

/// Words for Flag::choices.
template <typename... Words>
std::vector<std::string> one_of(Words... words) {
  return {words...};
}
/// The flag, with these `needs`.
inline Flag with(std::string needs, Flag flag) {
  flag.needs = std::move(needs);
  return flag;
}
/// The flag, with this `useless_with`.
inline Flag without(std::vector<std::string> flags, Flag flag) {
  flag.useless_with = std::move(flags);
  return flag;
}

struct Positional {
  std::string name;  ///< "CLUSTER"
  std::string help;
  std::string* target = nullptr;
  bool required = true;
  std::vector<std::string>* more = nullptr;      ///< takes all further words; only for the last positional
  std::string such_as{};                         ///< how to choose one, for the message that misses it
  std::function<bool(const std::string&)> is{};  ///< whether a word is one beyond doubt: then in any place; null: never
};

struct Command {
  std::string name;      ///< "collective"
  std::string summary;   ///< one line
  std::string examples;  ///< shown below the flags, one per line
  std::vector<Positional> positionals;
  std::vector<Flag> flags;
  void add(std::vector<Flag> more) {
    for (Flag& f : more) flags.push_back(std::move(f));
  }
  std::function<Result<int>()> run;  ///< exit status
  /// The answer without printing; empty: the command is no question.
  std::function<Result<questions::Answer>(const questions::Context&)> answer{};
  /// Flags of old and their names of today, for the message that refuses them.
  std::vector<std::pair<std::string, std::string>> renamed{};
};

/// The meaning of a command line: a command to run, or a text or a help page to print before exit.
struct Parsed {
  const Command* command = nullptr;
  std::string print;
  int status = 0;     ///< for `print`: 0 for the version, 2 for wrong usage (then `print` goes to stderr)
  bool help = false;  ///< print the help of `of`, or of all commands
  const Command* of = nullptr;
};

/// Its help with its requirement: "with --scale: price ...".
std::string help_of(const Flag& flag);
/// Splits "-b,--minbytes" into "-b", "--minbytes".
std::vector<std::string> split_names(const std::string& names);
/// The flags of other programs that a command takes, in the order of their table.
std::vector<const questions::ForeignFlag*> foreign_flags_of(const Command& command);
/// Categories in order of first occurrence.
std::vector<std::string> categories_of(const Command& command);
/// The usage line: "busbar path CLUSTER A B [OPTION]...".
std::string usage_of(const Command& command);

/// Says that there is no command `name`, and which of `known` it may be.
Error no_command(const std::string& name, const std::vector<std::string>& known, const Where& where = {});

/// Flags and positionals in any order; "--flag VALUE", "--flag=VALUE", "-fVALUE"; "--" ends the flags, "-" is a word.
/// Flags of other programs (flag_words.h) count as ours. Only parses; opens no file. `args`: without the program's
/// name. Numbers are finite and >= 0, except 64-bit ones. A positional whose target a flag has filled takes no word.
Parsed parse_command_line(const std::vector<Command>& commands, const std::vector<std::string>& args,
                          const std::string& version);

}  // namespace busbar::lines
