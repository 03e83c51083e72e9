// The elements of a topology file as records, checked one by one. Part of nccl_topo_xml_reader's work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/xml.h"
#include "busbar/formats/imported.h"

namespace busbar::nccl_topo_xml {

inline constexpr std::size_t kNoParent = static_cast<std::size_t>(-1);

/// `cpu`, `pci` and `nic` elements in file order; a parent stands before its children.
enum class RecordKind : std::uint8_t { kCpu, kPci };

struct LinkRecord {
  enum class Kind : std::uint8_t { kNvlink, kXgmi, kC2c, kPciLink };
  Kind kind{};
  std::string target;  ///< bus id
  std::int64_t count = 1;
  std::uint32_t target_class = 0;
  std::int64_t MBps = 0;  ///< c2c
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
  std::vector<LinkRecord> links;
  std::vector<ImportedPort> ports;
  Where where;
};

struct Records {
  int version = 0;
  std::vector<Record> all;
  std::vector<UnknownPart> unknown;
};

/// Error kInvalid for values that contradict their meaning and for bus ids that occur twice.
Result<Records> read_records(const XmlElement& system);

}  // namespace busbar::nccl_topo_xml
