#include "busbar/cli/json_rows.h"

#include <cstdio>

namespace busbar {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& j, int indent) {
  return j.dump(indent, ' ', false, Json::error_handler_t::replace);  // names from files may hold any bytes
}

void print(const Json& data, const JsonRows& rows) {
  constexpr std::size_t kAtOnce = 60'000;                          // characters
  const std::string place = "\n  " + text_of(rows.key, 0) + ": ";  // only keys of the report itself follow a line's end
  const std::string text = text_of(data, 2);
  const std::size_t at = text.find(place) + place.size();
  std::string out = text.substr(0, at) + "[";
  for (std::size_t i = 0; i < rows.count; ++i) {
    out += i == 0 ? "\n    " : ",\n    ";
    out += text_of(rows.row(i), -1);
    if (out.size() < kAtOnce) continue;
    std::fputs(out.c_str(), stdout);
    out.clear();
  }
  out += (rows.count > 0 ? "\n  ]" : "]") + text.substr(at + 1) + "\n";
  std::fputs(out.c_str(), stdout);
}

}  // namespace

int deliver_rows(const CommonOptions& o, Json data, const JsonRows& rows, const std::function<Document()>& document,
                 int status) {
  if (o.json && !o.csv) {
    data[rows.key] = 0;  // one character
    print(data, rows);
    return o.html.empty() ? status : deliver(o, data, document(), status, Printed::kAlready);
  }
  Json::array_t all;
  for (std::size_t i = 0; o.csv && i < rows.count; ++i) all.push_back(rows.row(i));
  data[rows.key] = std::move(all);
  return deliver(o, data, document(), status);
}

}  // namespace busbar
