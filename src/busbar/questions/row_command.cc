#include "busbar/questions/row_command.h"

#include <algorithm>

#include "busbar/base/shell_line.h"
#include "busbar/base/text.h"
#include "busbar/questions/train_question.h"

namespace busbar::questions {
namespace {

std::string value_text(const Json& value) { return value.is_string() ? value.text() : value.dump(); }

std::string long_name(const Field& f) {
  const std::string names = f.flag_names();
  return names.substr(names.rfind(',') + 1);
}

std::string typed_row(const std::string& typed, const Record& record, const void* request,
                      const plan::ListedLayout& row) {
  std::string out;
  for (const std::string_view word : split_at(typed, ' '))
    if (word != "--json" && word != "--csv") out += (out.empty() ? "" : " ") + std::string(word);
  for (const auto& [name, value] : row.values) {
    const Field& list = *record.list_of(name);
    const std::string flag = long_name(*record.find(name));
    for (const char* between : {" ", "="}) {
      const std::string before = " " + flag + between + value_text(to_json(*list.type, list.at(request)));
      if (const std::size_t at = out.find(before); at != std::string::npos)
        out.replace(at, before.size(), " " + flag + between + value);
    }
  }
  return out;
}

/// Appends the field, unless it has its default.
void add_field(const Field& f, const void* request, const void* defaults, ShellLine& line) {
  const Json value = to_json(*f.type, f.at(request));
  if (value.dump() == to_json(*f.type, f.at(defaults)).dump()) return;
  const std::string flag = long_name(f);
  if (f.word == Field::Word::kOnly) {
    line.add_words(shell_word(value_text(value)));
  } else if (value.is_boolean()) {
    line.add_words(flag);
  } else if (value.is_array()) {
    for (const Json& one : value.values()) line.add(flag.c_str(), value_text(one));
  } else {
    line.add(flag.c_str(), value_text(value));
  }
}

}  // namespace

std::string row_command(const std::string& typed, const Record& record, const void* request,
                        const plan::ListedLayout& row) {
  if (!typed.empty()) return typed_row(typed, record, request, row);
  const TrainRequest defaults;
  ShellLine line("busbar train");
  for (const Field& f : record.fields())
    if (f.values_of.empty() && f.category != "Output") add_field(f, request, &defaults, line);
  for (const auto& [name, value] : row.values) line.add(long_name(*record.find(name)).c_str(), value);
  return line.text();
}

}  // namespace busbar::questions
