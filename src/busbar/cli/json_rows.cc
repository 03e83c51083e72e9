#include "busbar/cli/json_rows.h"

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/cli/long_run.h"

namespace busbar {
namespace {

Status print(const Json& data, const JsonRows& rows) {
  constexpr std::size_t kAtOnce = 60'000;  // characters
  // Only keys of the report itself follow a line break and two spaces.
  const std::string place = "\n  " + Json(rows.key).dump() + ": ";
  const std::string text = data.dump(2);
  const std::size_t at = text.find(place) + place.size();
  std::string out = text.substr(0, at) + "[";
  for (std::size_t i = 0; i < rows.count; ++i) {
    out += i == 0 ? "\n    " : ",\n    ";
    out += rows.row(i).dump();
    if (out.size() < kAtOnce) continue;
    BUSBAR_RETURN_IF_ERROR(write_stdout(out));
    out.clear();
  }
  out += (rows.count > 0 ? "\n  ]" : "]") + text.substr(at + 1) + "\n";
  return write_stdout(out);
}

}  // namespace

Result<int> deliver_rows(const CommonOptions& o, Json data, const JsonRows& rows,
                         const std::function<Document()>& document, int status) {
  if (o.json && !o.csv) {
    data[rows.key] = 0;  // one character
    end_progress();
    BUSBAR_RETURN_IF_ERROR(print(data, rows));
    return o.html.empty() ? status : deliver(o, data, document(), status, Printed::kAlready);
  }
  Json all = Json::array();
  for (std::size_t i = 0; o.csv && i < rows.count; ++i) all.push_back(rows.row(i));
  data[rows.key] = std::move(all);
  return deliver(o, data, document(), status);
}

}  // namespace busbar
