// A machine as records: the readers of trees and matrices produce them, and one function turns them into a topology.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/formats/imported.h"
#include "busbar/topology/part_figures.h"

namespace busbar::formats::machine_records {

inline constexpr std::size_t kNoParent = static_cast<std::size_t>(-1);
/// Above any machine, and few enough that each may have its own device or link class.
inline constexpr std::size_t kMostRecords = 1 << 14, kMostLinks = 1 << 15;
inline constexpr std::size_t kMostCpus = 512;  ///< all pairs of CPUs of one host are linked

/// `cpu`, `pci` and `nic` elements in file order; a parent precedes its children.
enum class RecordKind : std::uint8_t { kCpu, kPci };

struct LinkRecord {
  enum class Kind : std::uint8_t { kNvlink, kXgmi, kC2c, kPciLink };
  Kind kind{};
  std::string target;  ///< bus id
  std::int64_t count = 1;
  std::uint32_t target_class = 0;
  std::int64_t MBps = 0;  ///< of one lane: c2c, and others if known; 0: from the parts
  Where where;
};

struct Record {
  RecordKind kind{};
  std::size_t parent = kNoParent;
  std::size_t children = 0;  ///< pci elements below
  ImportedDevice said;
  topology::ProcessorIdentity processor;
  std::string link_speed;
  std::int64_t link_width = 0;
  bool has_gpu = false, has_nic = false;
  std::string architecture;  ///< AMD GPU
  std::string product;       ///< GPU: catalogue name if the PCI id does not give it
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
std::optional<topology::DeviceKind> kind_of(const Record& pci);

/// Devices: one CPU per `cpu` record, linked with all other CPUs of its host; GPUs in the order of rank, then dev; NICs
/// in the order of dev, named after their first port if that is a valid name; one NVSwitch per bus id that links of
/// class 0x068000 name. `name`: the file's name, for messages.
Result<ImportedMachine> build_machine(Records records, const topology::PartFigures& figures, const std::string& name);

}  // namespace busbar::formats::machine_records
