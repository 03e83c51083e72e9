#include "busbar/doctor/compare_bundles.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "busbar/base/text.h"

namespace busbar::doctor {
namespace {

struct ComparedFact {
  const char* fact;
  const char* what;
  bool by_subject = false;     ///< each variable or module for itself; otherwise all parts together
  bool absent_counts = false;  ///< an archive that says nothing about it says "not set"
};
constexpr ComparedFact kCompared[] = {
    {"nccl.version", "release of NCCL"},
    {"driver.version", "driver of the GPUs"},
    {"host.driver", "kernel modules of the GPUs"},
    {"host.module", "module", true},
    {"kernel.release", "kernel"},
    {"nic.firmware", "firmware of NICs"},
    {"host.gpus", "number of GPUs"},
    {"gpu.product", "GPUs"},
    {"host.rdma", "number of RDMA devices"},
    {"hca.name", "NICs that NCCL uses"},
    {"net.chosen", "network that NCCL uses"},
    {"port.state", "states of ports"},
    {"port.rate", "rates of ports (Gb/s)"},
    {"port.layer", "link layers"},
    {"port.mtu", "MTUs"},
    {"pcie.width", "widths of PCIe links"},
    {"pcie.speed", "speeds of PCIe links"},
    {"machine.nic_distance", "distances of GPUs to their NICs"},
    {"pcie.iommu", "IOMMU domains"},
    {"kernel.iommu", "IOMMU"},
    {"kernel.numa", "NUMA balancing"},
    {"cpu.governor", "governor of the processor"},
    {"limit.memlock", "limit of locked memory"},
    {"limit.files", "limit of open files"},
    {"host.device_files", "device files", true},
    {"fabric.state", "state of the NVSwitch fabric"},
    {"mig.mode", "MIG mode"},
    {"channels.nvls", "NVLS channels"},
    {"env", "variable", true, true},
};

/// What the archives say about one thing.
struct Compared {
  std::string what;
  std::map<std::string, std::string> value;  ///< per archive
  std::map<std::string, const Fact*> first;  ///< per archive
};

std::string values_of(const std::vector<const Fact*>& facts, bool by_subject) {
  std::map<std::string, std::size_t> times;
  for (const Fact* f : facts) ++times[f->value];
  std::string out;
  for (const auto& [value, n] : times)
    append_word(out, by_subject || facts.size() == 1 ? value : fmt::format("{} x {}", n, value));
  return out;
}

class Comparison {
 public:
  explicit Comparison(const Evidence& evidence) : evidence_(evidence) {
    for (const EvidenceFile& f : evidence.files())
      if (!f.archive.empty()) archives_.insert(f.archive);
  }
  bool possible() const { return archives_.size() > 1; }

  std::vector<Compared> things() const {
    std::vector<Compared> out;
    for (const ComparedFact& c : kCompared) {
      std::map<std::string, std::map<std::string, std::vector<const Fact*>>> by;  // subject, archive
      for (const std::uint32_t i : evidence_.named(c.fact)) {
        const Fact& f = evidence_.facts()[i];
        if (const std::string& archive = archive_of(f); !archive.empty())
          by[c.by_subject ? f.subject : ""][archive].push_back(&f);
      }
      for (const auto& [subject, facts] : by) {
        Compared thing{subject.empty() ? c.what : fmt::format("{} {}", c.what, subject), {}, {}};
        for (const std::string& archive : archives_) {
          const auto found = facts.find(archive);
          if (found != facts.end()) {
            thing.value[archive] = values_of(found->second, c.by_subject);
            thing.first[archive] = found->second.front();
          } else if (c.absent_counts) {
            thing.value[archive] = "not set";
          }
        }
        out.push_back(std::move(thing));
      }
    }
    return out;
  }

  EvidenceLine line_of(const Fact& f) const {
    return {evidence_.files()[static_cast<std::size_t>(f.file)].name, f.line, f.text};
  }

 private:
  const std::string& archive_of(const Fact& f) const {
    return evidence_.files()[static_cast<std::size_t>(f.file)].archive;
  }

  const Evidence& evidence_;
  std::set<std::string> archives_;
};

/// The value of more than half of the archives; empty without one.
std::optional<std::string> majority(const Compared& thing) {
  std::map<std::string, std::size_t> times;
  for (const auto& [archive, value] : thing.value) ++times[value];
  for (const auto& [value, n] : times)
    if (2 * n > thing.value.size()) return value;
  return std::nullopt;
}

struct Difference {
  std::size_t things = 0;
  std::string text;
  std::vector<EvidenceLine> lines;
  void add(const std::string& said) {
    ++things;
    text += (text.empty() ? "" : "; ") + said;
  }
};

Finding finding_of(const std::string& title, Difference difference) {
  Finding out;
  out.rule = "odd-one-out";
  out.severity = Severity::kWarn;
  out.title = title;
  out.explanation = std::move(difference.text) + ".";
  out.evidence = std::move(difference.lines);
  return out;
}

}  // namespace

std::vector<Finding> compare_bundles(const Evidence& evidence) {
  const Comparison comparison(evidence);
  if (!comparison.possible()) return {};
  std::map<std::string, Difference> odd;
  Difference undecided;
  for (const Compared& thing : comparison.things()) {
    const auto usual = majority(thing);
    std::string all;
    for (const auto& [archive, value] : thing.value) {
      append_word(all, fmt::format("{} ({})", value, archive));
      if (!usual || value == *usual) continue;
      Difference& own = odd[archive];
      own.add(fmt::format("{}: {} instead of {}", thing.what, value, *usual));
      if (const auto f = thing.first.find(archive); f != thing.first.end())
        own.lines.push_back(comparison.line_of(*f->second));
    }
    if (usual) continue;
    undecided.add(fmt::format("{}: {}", thing.what, all));
    for (const auto& [archive, fact] : thing.first) undecided.lines.push_back(comparison.line_of(*fact));
  }
  std::vector<std::pair<std::size_t, Finding>> ranked;
  for (auto& [archive, difference] : odd) {
    const std::size_t n = difference.things;
    Finding f = finding_of(fmt::format("{} differs from most others in {} thing{}", archive, n, n == 1 ? "" : "s"),
                           std::move(difference));
    f.part = archive;
    f.candidates = {{archive, 1}};
    ranked.emplace_back(n, std::move(f));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Finding> out;
  for (auto& [n, finding] : ranked) out.push_back(std::move(finding));
  if (undecided.things > 0)
    out.push_back(finding_of("The bundles differ, and no value is that of most", std::move(undecided)));
  return out;
}

}  // namespace busbar::doctor
