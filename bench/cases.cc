#include "cases.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace busbar::bench {
namespace {

using nlohmann::json;

std::optional<double> number(const json& entry, const char* key) {
  return entry.at(key).is_null() ? std::nullopt : std::optional<double>(entry.at(key).get<double>());
}

Case read_case(const json& entry) {
  Case c;
  c.name = entry.at("name").get<std::string>();
  c.command = entry.at("command").get<std::vector<std::string>>();
  c.result = entry.at("result").get<std::string>();
  c.result_ms = entry.at("result_ms").get<double>();
  c.closed_form_ms = number(entry, "closed_form_ms");
  c.target_cpu_s = number(entry, "target_cpu_s");
  c.target_peak_mib = number(entry, "target_peak_mib");
  for (const json& peer : entry.at("peers")) {
    c.peers.push_back({peer.at("name").get<std::string>(), peer.at("cpu_s").get<double>(),
                       peer.at("peak_mib").get<double>(), peer.at("predicted_ms").get<double>()});
  }
  return c;
}

}  // namespace

CaseFile load_cases(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be read; start bench/run from the repository");
  const json document = json::parse(in);
  CaseFile file;
  file.peers_source = document.at("peers_source").get<std::string>();
  for (const json& entry : document.at("cases")) file.cases.push_back(read_case(entry));
  return file;
}

}  // namespace busbar::bench
