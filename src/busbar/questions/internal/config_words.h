// Keys of a configuration in YAML while they become flags of a program.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "busbar/base/yaml.h"
#include "busbar/formats/launch_script.h"

namespace busbar::questions {

/// Values by their dotted names: "model.hidden_size".
using Scalars = std::map<std::string, formats::ScriptWord>;

/// The scalars below a map. A value that refers to another, and "???", are not known.
void add_scalars(const YamlNode& map, const std::string& prefix, Scalars& out);

/// Lists of words, as recompute_modules, with blanks between the words.
void add_lists(const YamlNode& map, const std::string& prefix, Scalars& out);

bool is_true(const std::string& value);
/// Whether a value says as much as none: null, false, 0, -1.
bool is_nothing(const std::string& value);

/// Empty, and line 0, without the key.
std::string text_of(const Scalars& of, std::string_view key);
int line_of(const Scalars& of, std::string_view key);

/// A key, and the flag that takes what the key takes.
struct ConfigKey {
  std::string_view key, flag;
};

/// The flags so far.
struct FlagWords {
  formats::ScriptCommand out;
  void add(std::string_view flag, int line) { out.push_back({"--" + std::string(flag), line, "", 0}); }
  void add_with(std::string_view flag, const std::string& word, int line);
  /// The flag with the key's value, unless that is nothing.
  void value(std::string_view flag, const Scalars& of, std::string_view key);
};

}  // namespace busbar::questions
