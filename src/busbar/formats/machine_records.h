// A machine as records: what readers of trees and matrices find, and the one way from there to a topology.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/formats/imported.h"
#include "busbar/topology/part_figures.h"

namespace busbar::machine_records {

inline constexpr std::size_t kNoParent = static_cast<std::size_t>(-1);
/// Far beyond any machine, and few enough that each may have a device or link class of its own.
inline constexpr std::size_t kMostRecords = 1 << 14, kMostLinks = 1 << 15;
inline constexpr std::size_t kMostCpus = 512;  ///< all pairs of one host are joined

/// `cpu`, `pci` and `nic` elements in file order; a parent stands before its children.
enum class RecordKind : std::uint8_t { kCpu, kPci };

struct LinkRecord {
  enum class Kind : std::uint8_t { kNvlink, kXgmi, kC2c, kPciLink };
  Kind kind{};
  std::string target;  ///< bus id
  std::int64_t count = 1;
  std::uint32_t target_class = 0;
  std::int64_t MBps = 0;  ///< of one lane: c2c, and others where it is known; 0: by the parts
  Where where;
};

struct Record {
  RecordKind kind{};
  std::size_t parent = kNoParent;
  std::size_t children = 0;  ///< pci elements below
  ImportedDevice said;
  ProcessorIdentity processor;
  std::string link_speed;
  std::int64_t link_width = 0;
  bool has_gpu = false, has_nic = false;
  std::string architecture;  ///< AMD GPU
  std::string product;       ///< GPU: catalogue name where the PCI id does not tell it
  std::vector<LinkRecord> links;
  std::vector<ImportedPort> ports;
  Where where;
};

struct Records {
  int version = 0;
  std::vector<Record> all;
  std::vector<UnknownPart> unknown;
};

/// Source: NCCL 2.30.7, src/graph/topo.cc; base classes from the PCI Code and ID Assignment Specification (0x12:
/// processing accelerators, as RCCL's files have AMD's).
std::optional<DeviceKind> kind_of(const Record& pci);

/// Devices: one CPU per `cpu` record, joined with all others of its host; GPUs in the order of rank, then dev; NICs in
/// the order of dev, called as their first port where that is a word; one NVSwitch per bus id that links of class
/// 0x068000 name. `name`: of the file, for messages.
Result<ImportedMachine> build_machine(Records records, const PartFigures& figures, const std::string& name);

}  // namespace busbar::machine_records
