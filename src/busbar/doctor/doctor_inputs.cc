#include "busbar/doctor/doctor_inputs.h"

#include <cstdlib>
#include <iterator>
#include <set>

#include "busbar/base/output.h"
#include "busbar/doctor/bundle.h"
#include "busbar/doctor/internal/used_lines.h"
#include "busbar/host/describe_host.h"
#include "busbar/host/hwloc_library.h"
#include "busbar/host/node_xml.h"
#include "busbar/host/pci_devices.h"

namespace busbar::doctor {
namespace {

std::string live_name(const host::HostFiles& files, const DoctorInputs& o) {
  return files.is_this_host() ? "this host" : o.root;
}

/// What a maintainer asks for and no input states.
std::vector<std::string> missing_kinds(const Evidence& evidence, const FactTables& tables) {
  std::set<std::string> seen;
  for (const EvidenceFile& f : evidence.files()) seen.insert(f.kinds.begin(), f.kinds.end());
  std::vector<std::string> out;
  for (const FactTable& t : tables.tables())
    for (const char* const asked : {"nccl-log", "nvidia-smi-topo", "infiniband", "lspci", "environment"})
      if (t.name == asked && !seen.contains(t.name)) out.push_back(t.title + ": " + t.ask);
  return out;
}

}  // namespace

Status read_live(const DoctorInputs& o, const FactTables& tables, Evidence& evidence) {
  if (!o.live) return {};
  const host::HostFiles files(o.root);
  if (!files.exists("/sys") || !files.exists("/proc"))
    return invalid("needs a folder that holds the folders sys and proc of a host", {o.root, 0, 0, "--root"});
  const std::string text = host::describe_host(files);
  formats::LineSource lines = formats::LineSource::of_text(text, live_name(files, o));
  tables.read(lines, evidence);
  return {};
}

Status write_bundle(const DoctorInputs& o, const std::vector<std::string>& files, const Evidence& evidence,
                    const FactTables& tables) {
  if (o.bundle.empty()) return {};
  std::vector<BundleFile> contents;
  std::vector<std::string> hosts, users;
  if (o.live) {
    const host::HostFiles host(o.root);
    contents.push_back({"host.txt", host::describe_host(host), {}});
    if (host::has_gpu(host)) contents.push_back({"topology.xml", host::node_xml(host), {}});
    if (std::string xml = host.is_this_host() ? host::hwloc_xml_of_host() : ""; !xml.empty())
      contents.push_back({"hwloc.xml", std::move(xml), {}});
    hosts.push_back(host.line("/proc/sys/kernel/hostname"));
    if (const char* const user = std::getenv("USER"); user != nullptr) users.emplace_back(user);
  }
  for (const std::string& name : files) {
    if (name == "-") return invalid("can be read only once; write it to a file first", {"-", 0, 0, "--bundle"});
    BUSBAR_ASSIGN(std::vector<BundleFile> texts, read_for_bundle(name));
    for (BundleFile& file : texts)
      if (!o.full) file.text = used_lines(file.text, file.name, tables);
    std::move(texts.begin(), texts.end(), std::back_inserter(contents));
  }
  if (contents.empty())
    return invalid("a described machine has no files; name logs, or add --live", {"", 0, 0, "bundle"});
  const bool packed = o.bundle.ends_with(".gz") || o.bundle.ends_with(".tgz");
  return write_file(o.bundle, pack_bundle(std::move(contents), hosts, users, missing_kinds(evidence, tables), packed));
}

}  // namespace busbar::doctor
