// Builds link classes from the data of a file and the caller's figures; remembers assumptions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/topology/part_figures.h"

namespace busbar::formats {

class PartLinks {
 public:
  explicit PartLinks(const topology::PartFigures& figures) : figures_(figures) {}

  /// By PCI id; otherwise only the generation: compute capability x 10 (-1: none) or AMD architecture.
  topology::DeviceClass gpu(std::uint32_t pci_id, int compute_capability, const std::string& architecture);
  topology::DeviceClass product(const std::string& name) const;  ///< pre: figures have it
  /// One lane of the GPU's scale-up link: of its product, or of the first product of its generation. MBps: the wire
  /// rate in the file, 0 if absent.
  topology::LinkClass scale_up_lane(const topology::DeviceClass& gpu, topology::LinkKind kind, std::int64_t MBps = 0);
  topology::LinkClass times(topology::LinkClass lane, std::int64_t lanes) const;
  /// E.g. "16.0 GT/s PCIe" and a width. NCCL counts an unknown speed as 8 GT/s and an unknown width as 16.
  topology::LinkClass pcie(std::string_view speed, std::int64_t width);
  /// Between two sockets with this processor; for unknown ones, the slowest known link.
  topology::LinkClass socket(const topology::ProcessorIdentity& processor);
  topology::LinkClass c2c(std::int64_t MBps, std::int64_t lanes) const;
  topology::LinkClass cable(bool infiniband, std::int64_t Mbps) const;
  /// A link that no wire limits: NCCL counts 5000 GB/s.
  topology::LinkClass without_wire(const char* part) const;

  const std::vector<std::string>& notes() const { return notes_; }
  /// Why a rate had to be assumed; empty: no rate was.
  const std::string& unnamed() const { return unnamed_; }

 private:
  void note(std::string text);
  const topology::PartFigures& figures_;
  std::vector<std::string> notes_;
  std::string unnamed_;
};

}  // namespace busbar::formats
