#include "busbar/cli/perf_csv.h"

#include <fmt/core.h>

#include "busbar/base/json.h"

namespace busbar {
namespace {

/// Quoted if it contains a comma, a quote or a line break; empty for null.
std::string cell(const Json& v) {
  if (v.is_null()) return {};
  if (!v.is_string()) return v.dump();
  const std::string& s = v.text();
  if (s.find_first_of(",\"\r\n") == s.npos) return s;
  std::string out = "\"";
  for (const char c : s) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string perf_csv(const Json& tables) {
  std::string out = "collective,gpus,size_bytes,count,type,op,root,in_place,time_us,algbw_GBps,busbw_GBps,wrong\n";
  for (const Json& t : tables.values())
    for (const Json& r : t["rows"].values())
      for (const bool in_place : {false, true}) {
        const Json& m = r[in_place ? "in_place" : "out_of_place"];
        if (m.is_null()) continue;
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", cell(t["collective"]), cell(t["ranks"]),
                           cell(r["size_bytes"]), cell(r["count"]), cell(r["type"]), cell(r["op"]), cell(r["root"]),
                           in_place ? "yes" : "no", cell(m["time_us"]), cell(m["algbw_GBps"]), cell(m["busbw_GBps"]),
                           cell(m["wrong"]));
      }
  return out;
}

}  // namespace busbar
