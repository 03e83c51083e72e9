#include "busbar/formats/internal/gpu_naming.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"

namespace busbar::formats::machine_records {
namespace {

using Signature = topology::PartFigures::Signature;
using Joined = topology::PartFigures::Joined;

class Naming {
 public:
  Naming(Records& records, const topology::PartFigures& figures, const std::string& file)
      : all_(records.all), figures_(figures), file_(file) {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].kind == RecordKind::kPci && kind_of(all_[i]) == topology::DeviceKind::kGpu)
        (named_by_file(all_[i]).empty() ? open_ : named_).push_back(i);
  }

  Result<GpuNaming> run() {
    if (figures_.gpus.empty()) return out_;
    BUSBAR_RETURN_IF_ERROR(check_given());
    if (open_.empty()) return out_;
    const topology::PartFigures::Gpu* product = figures_.given_gpu.empty() ? by_signature() : find(figures_.given_gpu);
    if (product == nullptr) {
      if (!generation_known())
        out_.unnamed = fmt::format(
            "the file names neither the product nor the generation of its {} GPUs; say which they are, for example "
            "--gpu h100-sxm ('busbar catalog gpus' lists them)",
            open_.size());
      return out_;
    }
    if (!figures_.given_gpu.empty()) out_.notes.push_back(fmt::format("GPUs are {}, as --gpu says", given()));
    for (const std::size_t i : open_) all_[i].product = product->device_class.part;
    add_links(*product);
    add_speeds(*product);
    return out_;
  }

 private:
  const std::string& given() const { return figures_.given_gpu; }

  std::string named_by_file(const Record& r) const {
    for (const topology::PartFigures::Gpu& g : figures_.gpus)
      if (r.said.pci_id != 0 && std::find(g.pci_ids.begin(), g.pci_ids.end(), r.said.pci_id) != g.pci_ids.end())
        return g.device_class.part;
    return {};
  }

  const topology::PartFigures::Gpu* find(const std::string& name) const {
    for (const topology::PartFigures::Gpu& g : figures_.gpus)
      if (g.device_class.part == name) return &g;
    return nullptr;
  }

  Status check_given() const {
    const Where where{"", 0, 0, "--gpu"};
    if (given().empty()) return {};
    std::vector<std::string> names;
    for (const topology::PartFigures::Gpu& g : figures_.gpus) names.push_back(g.device_class.part);
    if (find(given()) == nullptr) {
      const std::string guess = nearest(given(), names);
      return invalid(fmt::format("there is no GPU '{}' in the catalogue{}; 'busbar catalog gpus' lists them", given(),
                                 guess.empty() ? "" : "; did you mean '" + guess + "'?"),
                     where);
    }
    if (!open_.empty()) return {};
    if (named_.empty()) return {};
    return invalid(fmt::format("{} names its GPUs itself: {}", file_, named_by_file(all_[named_.front()])), where);
  }

  std::size_t root_of(std::size_t i) const {
    while (all_[i].parent != kNoParent) i = all_[i].parent;
    return i;
  }
  const std::string& host_of(std::size_t i) const { return all_[root_of(i)].said.host; }

  /// GPUs of the first GPU's host.
  std::size_t gpus_of_host() const {
    return static_cast<std::size_t>(
        std::count_if(open_.begin(), open_.end(), [&](std::size_t i) { return host_of(i) == host_of(open_.front()); }));
  }

  bool generation_known() const {
    return std::all_of(open_.begin(), open_.end(),
                       [&](std::size_t i) { return all_[i].said.sm > 0 || !all_[i].architecture.empty(); });
  }

  static bool is_switch(const LinkRecord& l) { return l.target_class == 0x068000 || l.target.starts_with("fffffff:"); }

  /// Whether the GPU has these links, and contradicts no figure of the product.
  bool shows(const Record& r, const Signature& s, const topology::PartFigures::Gpu& product) const {
    const LinkRecord::Kind kind =
        s.kind == topology::LinkKind::kXgmi ? LinkRecord::Kind::kXgmi : LinkRecord::Kind::kNvlink;
    std::int64_t lanes = 0;
    bool over_switch = false;
    for (const LinkRecord& l : r.links)
      if (l.kind == kind) lanes += l.count, over_switch |= is_switch(l);
    const topology::DeviceClass& c = product.device_class;
    const bool same_sm = r.said.sm <= 0 || !r.architecture.empty() || r.said.sm == c.compute_capability;
    const bool same_architecture = r.architecture.empty() || r.architecture == c.architecture;
    return lanes == s.lanes && over_switch == (s.joined == Joined::kSwitch) && same_sm && same_architecture;
  }

  const topology::PartFigures::Gpu* by_signature() {
    for (const Signature& s : figures_.signatures)
      for (const std::string& name : s.products) {
        const topology::PartFigures::Gpu* product = find(name);
        const bool fits = product != nullptr && s.gpus == gpus_of_host() &&
                          std::all_of(open_.begin(), open_.end(), [&](auto i) { return shows(all_[i], s, *product); });
        if (!fits) continue;
        std::string others;
        for (const std::string& other : s.products)
          if (other != name) append_word(others, other);
        out_.notes.push_back(fmt::format("{} GPUs with {} {} lanes each are taken as {}{}", s.gpus, s.lanes,
                                         busbar::topology::name_of(s.kind), name,
                                         others.empty() ? "" : "; if they are " + others + ", say so with --gpu"));
        return product;
      }
    return nullptr;
  }

  /// Adds NVLinks that NCCL would find on the live machine, if the file does not list them.
  void add_links(const topology::PartFigures::Gpu& product) {
    std::vector<std::size_t> bare;
    for (const std::size_t i : open_)
      if (!all_[i].has_gpu) bare.push_back(i);
    if (bare.empty()) return;
    const std::size_t n = gpus_of_host();
    const std::string& name = product.device_class.part;
    const auto board = std::find_if(figures_.signatures.begin(), figures_.signatures.end(), [&](const Signature& s) {
      return s.gpus == n && std::find(s.products.begin(), s.products.end(), name) != s.products.end();
    });
    const bool none = !product.lane || n < 2;
    if (!none && (board == figures_.signatures.end() || board->joined == Joined::kCube)) {
      out_.unnamed = fmt::format(
          "the file does not say how {} links join its {} {}; take a preset of such a board ('busbar catalog nodes')",
          busbar::topology::name_of(product.lane->kind), n, name);
      return;
    }
    for (const std::size_t i : bare) {
      all_[i].has_gpu = true;
      if (!none) add_links_of(i, bare, *board, product.device_class);
    }
    if (!none)
      out_.notes.push_back(fmt::format("{} lanes of {} as a board of {} {} has them", board->lanes,
                                       busbar::topology::name_of(board->kind), n, name));
  }

  void add_links_of(std::size_t gpu, const std::vector<std::size_t>& all, const Signature& board,
                    const topology::DeviceClass& product) {
    LinkRecord l;
    l.kind = board.kind == topology::LinkKind::kXgmi ? LinkRecord::Kind::kXgmi : LinkRecord::Kind::kNvlink;
    l.where = all_[gpu].where;
    if (product.architecture.empty()) all_[gpu].said.sm = product.compute_capability;
    if (board.joined == Joined::kSwitch) {
      l.target = "ffff:00:00.0";
      l.target_class = 0x068000;
      l.count = board.lanes;
      all_[gpu].links.push_back(std::move(l));
      return;
    }
    l.count = board.lanes / static_cast<std::int64_t>(board.gpus - 1);
    l.target_class = 0x030200;
    for (const std::size_t peer : all) {
      if (peer == gpu || host_of(peer) != host_of(gpu)) continue;
      l.target = all_[peer].said.bus_id;
      all_[gpu].links.push_back(l);
    }
  }

  void add_speeds(const topology::PartFigures::Gpu& product) {
    constexpr double kGTps[] = {2.5, 5, 8, 16, 32, 64, 128};  // of each generation, PCI-SIG
    if (product.host_pcie < 1 || product.host_pcie > static_cast<int>(std::size(kGTps))) return;
    const double GTps = kGTps[product.host_pcie - 1];
    bool any = false;
    for (Record& r : all_)
      if (r.kind == RecordKind::kPci && r.link_speed.empty() && !r.said.bus_id.empty()) {
        r.link_speed = fmt::format("{} GT/s PCIe", GTps);
        any = true;
      }
    if (any)
      out_.notes.push_back(fmt::format("PCIe links of unknown speed count as PCIe {}, the slot of {}",
                                       product.host_pcie, product.device_class.part));
  }

  std::vector<Record>& all_;
  const topology::PartFigures& figures_;
  const std::string& file_;
  std::vector<std::size_t> open_, named_;  ///< GPUs whose product the file does not name, and the other GPUs
  GpuNaming out_;
};

}  // namespace

Result<GpuNaming> name_gpus(Records& records, const topology::PartFigures& figures, const std::string& file) {
  return Naming(records, figures, file).run();
}

}  // namespace busbar::formats::machine_records
