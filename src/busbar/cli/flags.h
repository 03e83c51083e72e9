// One table per command defines every flag; help, parsing and the tests walk that table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "busbar/base/result.h"

namespace busbar {

/// What is wrong with the value of a flag ("--scale").
inline Error flag_error(const char* flag, std::string message) { return invalid(std::move(message), {"", 0, 0, flag}); }

using FlagTarget = std::variant<bool*, std::string*, std::vector<std::string>*, std::uint32_t*, double*,
                                std::optional<std::int64_t>*, std::optional<std::string>*>;

struct Flag {
  std::string names;     ///< "-b,--minbytes"
  std::string value;     ///< "SIZE", empty for switches; a list takes one for each time the flag is given
  std::string help;      ///< one line, with the default
  std::string category;  ///< "Machine", "Output", ...
  FlagTarget target;
  std::vector<std::string> choices{};  ///< words it takes; empty: any, and completion looks at `value` (FILE, CLUSTER)
  std::string needs{};  ///< changes nothing, and is refused, without this flag ("--scale") or value ("--engine packet")
  std::vector<std::string> useless_with{};  ///< flags with which it changes nothing, and is refused
};

struct Positional {
  std::string name;  ///< "CLUSTER"
  std::string help;
  std::string* target = nullptr;
  bool required = true;
};

struct Command {
  std::string name;      ///< "collective"
  std::string summary;   ///< one line
  std::string examples;  ///< shown below the flags, one per line
  std::vector<Positional> positionals;
  std::vector<Flag> flags;
  std::function<int()> run;  ///< exit status
  /// Where the parser writes, as text, what may decide the result: words and values in the order of the table, without
  /// flags of the categories "Output" and "Files" and those that decide only how long it takes. Null: nowhere.
  std::string* settings = nullptr;
};

/// What the command line asks for: a command to run, or a text to print and leave with.
struct Parsed {
  const Command* command = nullptr;
  std::string print;
  int status = 0;  ///< of printing: 0 help or version, 2 wrong usage (then `print` is for stderr)
};

/// Its help with what it needs: "with --scale: price ...".
std::string help_of(const Flag& flag);
/// "-b", "--minbytes" of "-b,--minbytes".
std::vector<std::string> split_names(const std::string& names);
/// Categories in the order in which they first occur.
std::vector<std::string> categories_of(const Command& command);
/// How the command is typed: "busbar path CLUSTER A B [OPTION]...".
std::string usage_of(const Command& command);

/// Flags and positionals in any order; "--flag VALUE", "--flag=VALUE", "-fVALUE"; "--" ends the flags, "-" is a word.
/// Parses only; touches no file. `args` without the program's name. Numbers are finite and 0 or more, except 64-bit
/// ones. A positional whose target a flag has filled takes no word.
Parsed parse_command_line(const std::vector<Command>& commands, const std::vector<std::string>& args,
                          const std::string& version);

}  // namespace busbar
