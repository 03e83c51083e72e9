#include "busbar/spec/internal/identity.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "busbar/base/text.h"

namespace busbar::spec {

Status read_gpu_identity(const YamlNode& map, topology::DeviceClass& out) {
  MapReader r = sourced(map);
  r.optional("pci_ids");
  r.optional("architecture", &YamlNode::as_string, out.architecture);
  constexpr double kHighest = 100;
  double version = out.compute_capability / 10.0;
  r.optional("compute_capability", &YamlNode::as_number, version, 1, kHighest);
  out.compute_capability = static_cast<int>(std::lround(version * 10));
  return r.finish();
}

Result<ProcessorFile> read_processor(const YamlNode& map) {
  ProcessorFile out;
  MapReader r = sourced(map);
  r.optional("name");
  for (const char* key : {"kind", "cores"}) r.optional(key);
  const YamlNode words = r.required("words");
  r.required("arch", &YamlNode::as_string, out.identity.arch);
  r.optional("vendor", &YamlNode::as_string, out.identity.vendor);
  constexpr std::int64_t kHighest = 1023;
  r.optional("family", &YamlNode::as_int, out.identity.family, 0, kHighest);
  r.optional("model", &YamlNode::as_int, out.identity.model, 0, kHighest);
  out.socket = r.optional("socket");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_RETURN_IF_ERROR(read_items(words, std::mem_fn(&YamlNode::as_string), out.words));
  for (std::string& word : out.words) word = lower(word);
  return out;
}

Result<topology::ProcessorIdentity> find_processor(std::string_view part, Reading& reading) {
  const std::string wanted = lower(part);
  for (const std::string& name : reading.catalog.names("processors")) {
    BUSBAR_ASSIGN(const YamlDocument document, reading.catalog.load("processors", name));
    BUSBAR_ASSIGN(ProcessorFile file, read_processor(document.root()));
    const bool named = std::any_of(file.words.begin(), file.words.end(), [&](const std::string& word) {
      return !word.empty() && wanted.find(word) != std::string::npos;
    });
    if (named) return file.identity;
  }
  return topology::ProcessorIdentity{};
}

}  // namespace busbar::spec
