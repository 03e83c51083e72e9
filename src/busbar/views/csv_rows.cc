#include "busbar/views/csv_rows.h"

#include <map>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/text.h"
#include "busbar/report/plain.h"

namespace busbar::views {
namespace {

struct RowKeys {
  const char* list;
  const char* inner;  ///< a list inside each row whose members become the lines; "" for none
};
constexpr RowKeys kRowKeys[] = {{"results", ""},  {"points", ""},         {"rows", ""},  {"flows", ""},
                                {"channels", ""}, {"layouts", ""},        {"hops", ""},  {"levels", ""},
                                {"claims", ""},   {"entries", "figures"}, {"parts", ""}, {"findings", ""}};

std::string plain(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.text() : value.dump();
}

/// Keeps line breaks; replaces all other characters of a cell that control a terminal.
std::string shown_cell(const std::string& cell) {
  std::string out;
  for (const std::string_view line : split_at(cell, '\n')) out += report::escape_terminal(line, true) + '\n';
  out.pop_back();
  return out;
}

std::string quoted_cell(const std::string& cell) {
  const std::string shown = shown_cell(cell);
  if (shown.find_first_of(",\"\n") == std::string::npos) return shown;
  std::string out = "\"";
  for (const char c : shown) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

bool is_list_of_objects(const Json& value) {
  return value.is_array() && !value.empty() && value.values().front().is_structured();
}

class CsvWriter {
 public:
  void begin_row() { rows_.emplace_back(); }
  void add(const Json& object, const std::string& prefix = {}) {
    for (const auto& [key, value] : object.members()) {
      if (value.is_object())
        add(value, prefix + key + ".");
      else if (value.is_array() && !is_list_of_objects(value))
        set(prefix + key, joined(value));
      else if (!value.is_array())
        set(prefix + key, plain(value));
    }
  }
  std::string text() const {
    std::string out;
    for (std::size_t c = 0; c < columns_.size(); ++c) out += (c > 0 ? "," : "") + quoted_cell(columns_[c]);
    out += "\n";
    for (const auto& row : rows_) {
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (c > 0) out += ",";
        if (c < row.size()) out += quoted_cell(row[c]);
      }
      out += "\n";
    }
    return out;
  }

 private:
  static std::string joined(const Json& list) {
    std::string out;
    for (const Json& value : list.values()) out += (out.empty() ? "" : " ") + plain(value);
    return out;
  }
  void set(const std::string& name, std::string cell) {
    const auto [it, fresh] = places_.try_emplace(name, columns_.size());
    if (fresh) columns_.push_back(name);
    std::vector<std::string>& row = rows_.back();
    if (row.size() <= it->second) row.resize(it->second + 1);
    row[it->second] = std::move(cell);
  }

  std::vector<std::string> columns_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::vector<std::string>> rows_;
};

void add_row(CsvWriter& csv, const Json& row, const char* inner) {
  const Json& lines = row[inner];
  if (!is_list_of_objects(lines)) {
    csv.begin_row();
    csv.add(row);
    return;
  }
  for (const Json& line : lines.values()) {
    csv.begin_row();
    csv.add(row);
    csv.add(line);
  }
}

}  // namespace

const Json* main_list(const Json& data) {
  for (const RowKeys& keys : kRowKeys)
    if (data[keys.list].is_array()) return &data[keys.list];
  return nullptr;
}

std::string csv_of(const Json& data) {
  CsvWriter csv;
  for (const RowKeys& keys : kRowKeys) {
    const Json& list = data[keys.list];
    if (!list.is_array()) continue;
    for (const Json& row : list.values()) add_row(csv, row, keys.inner);
    return csv.text();
  }
  Json one = data;
  one.erase("schema");
  one.erase("run");
  csv.begin_row();
  csv.add(one);
  return csv.text();
}

}  // namespace busbar::views
