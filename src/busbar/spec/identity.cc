#include "busbar/spec/identity.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace busbar {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

}  // namespace

Status read_gpu_identity(const YamlNode& map, DeviceClass& out) {
  MapReader r(map);
  accept_provenance(r);
  r.optional("pci_ids");
  r.optional("architecture", &YamlNode::as_string, out.architecture);
  const auto capability = r.optional("compute_capability");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (!capability) return {};
  constexpr double kHighest = 100;
  BUSBAR_ASSIGN(const double version, capability->as_number(1, kHighest));
  out.compute_capability = static_cast<int>(std::lround(version * 10));
  return {};
}

Result<ProcessorFile> read_processor(const YamlNode& map) {
  ProcessorFile out;
  MapReader r(map);
  accept_provenance(r);
  r.optional("name");
  for (const char* key : {"kind", "cores"}) r.optional(key);
  const YamlNode words = r.required("words");
  r.required("arch", &YamlNode::as_string, out.identity.arch);
  r.optional("vendor", &YamlNode::as_string, out.identity.vendor);
  const auto family = r.optional("family"), model = r.optional("model");
  out.socket = r.optional("socket");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  constexpr std::int64_t kHighest = 1023;
  if (family) {
    BUSBAR_ASSIGN(const std::int64_t n, family->as_int(0, kHighest));
    out.identity.family = static_cast<int>(n);
  }
  if (model) {
    BUSBAR_ASSIGN(const std::int64_t n, model->as_int(0, kHighest));
    out.identity.model = static_cast<int>(n);
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    BUSBAR_ASSIGN(std::string word, words.item(i).as_string());
    out.words.push_back(lower(word));
  }
  return out;
}

Result<ProcessorIdentity> find_processor(std::string_view part, Reading& reading) {
  const std::string wanted = lower(part);
  for (const std::string& name : reading.catalog.names("processors")) {
    BUSBAR_ASSIGN(const YamlDocument document, reading.catalog.load("processors", name));
    BUSBAR_ASSIGN(ProcessorFile file, read_processor(document.root()));
    const bool named = std::any_of(file.words.begin(), file.words.end(), [&](const std::string& word) {
      return !word.empty() && wanted.find(word) != std::string::npos;
    });
    if (named) return file.identity;
  }
  return ProcessorIdentity{};
}

}  // namespace busbar
