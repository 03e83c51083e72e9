#include "busbar/nccl/environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/nccl/registered.h"

namespace busbar::nccl {
namespace {

using Value = std::string_view;

Result<std::uint64_t> whole(Value text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t n = 0;
  if (!is_number(text, n) || n < least || n > most)
    return invalid(fmt::format("'{}' is not a whole number from {} to {}", text, least, most));
  return n;
}

/// Accepts 0 or 1. NCCL also takes other numbers for 1, but a user who writes one has mistaken the variable.
Status to_flag(Value text, bool& out) {
  BUSBAR_ASSIGN(const std::uint64_t n, whole(text, 0, 1));
  out = n != 0;
  return {};
}
Status to_opposite(Value text, bool& out) {
  BUSBAR_RETURN_IF_ERROR(to_flag(text, out));
  out = !out;
  return {};
}
Status to_count(Value text, std::uint64_t most, std::uint32_t& out) {
  BUSBAR_ASSIGN(const std::uint64_t n, whole(text, 1, most));
  out = static_cast<std::uint32_t>(n);
  return {};
}
Status to_bytes(Value text, std::uint64_t& out) {
  constexpr std::uint64_t kLeast = 1024, kMost = std::uint64_t{1} << 32;
  BUSBAR_ASSIGN(out, whole(text, kLeast, kMost));
  return {};
}

/// A path type by name, or by the number that the first releases used.
Result<topology::PathType> level(Value text, std::initializer_list<topology::PathType> names) {
  constexpr topology::PathType kNumbers[] = {topology::PathType::kLoc, topology::PathType::kPix,
                                             topology::PathType::kPxb, topology::PathType::kPhb,
                                             topology::PathType::kSys};
  if (const auto n = whole(text, 0, std::size(kNumbers) - 1); n.ok()) return kNumbers[*n];
  std::string list;
  for (const topology::PathType t : names) {
    if (lower(text) == lower(topology::name_of(t))) return t;
    append_word(list, topology::name_of(t));
  }
  return invalid(fmt::format("'{}' is not a path type; use one of {}", text, list));
}

Status to_level(Value text, std::optional<topology::PathType>& out) {
  BUSBAR_ASSIGN(out, level(text, {topology::PathType::kLoc, topology::PathType::kNvl, topology::PathType::kNvb,
                                  topology::PathType::kC2c, topology::PathType::kPix, topology::PathType::kPxb,
                                  topology::PathType::kP2c, topology::PathType::kPxn, topology::PathType::kPhb,
                                  topology::PathType::kSys}));
  return {};
}

Status to_network(Value text, NcclSettings& s) {
  const std::string name = lower(text);
  s.sockets = name == "socket";
  if (s.sockets || name == "ib") return {};
  return Error{
      ErrorCode::kUnsupported,
      fmt::format("'{}' is not IB or Socket; set other plugins for the machine: --set fabric.transport=efa", text),
      {}};
}

// Lists as in NCCL_ALGO and NCCL_PROTO: "[collective:][^]name,name;...".

template <typename Named>
Result<std::uint8_t> bits_of(Value list, std::size_t count) {
  const bool but = list.starts_with('^');
  if (but) list.remove_prefix(1);
  std::uint8_t bits = 0;
  for (const Value one : split_at(list, ',')) {
    const std::string word = lower(one);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(lower(name_of(static_cast<Named>(i))));
    const auto at = std::find(names.begin(), names.end(), word);
    if (at == names.end()) {
      return invalid(fmt::format("'{}' is not one of {}", word, comma_list(names)));
    }
    bits = static_cast<std::uint8_t>(bits | 1u << (at - names.begin()));
  }
  return but ? static_cast<std::uint8_t>(~bits) : bits;
}

/// Whether a group of a list applies to `op`. A group without a name applies to every collective.
Result<bool> is_for(Value name, collectives::Collective op) {
  constexpr std::pair<Value, collectives::Collective> kNames[] = {
      {"allreduce", collectives::Collective::kAllReduce},
      {"allgather", collectives::Collective::kAllGather},
      {"reducescatter", collectives::Collective::kReduceScatter},
      {"broadcast", collectives::Collective::kBroadcast},
      {"reduce", collectives::Collective::kReduce}};
  if (name.empty()) return true;
  for (const auto& [known, of] : kNames)
    if (lower(name) == known) return of == op;
  return invalid(fmt::format("'{}' is not one of allreduce, allgather, reducescatter, broadcast and reduce", name));
}

template <typename Named, typename Set>
Status each_group(Value text, std::size_t count, const Set& set) {
  while (true) {
    const std::size_t end = text.find(';');
    Value list = text.substr(0, end);
    const std::size_t colon = list.find(':');
    const Value name = colon == Value::npos ? Value() : list.substr(0, colon);
    if (colon != Value::npos) list.remove_prefix(colon + 1);
    BUSBAR_ASSIGN(const std::uint8_t bits, bits_of<Named>(list, count));
    for (std::size_t i = 0; i < kNcclCollectives; ++i) {
      BUSBAR_ASSIGN(const bool here, is_for(name, kNcclTuned[i]));
      if (here) set(i, bits);
    }
    if (end == Value::npos) return {};
    text.remove_prefix(end + 1);
  }
}

Status to_algorithms(Value text, NcclSettings& s) {
  return each_group<NcclAlgorithm>(text, kNcclAlgorithms,
                                   [&](std::size_t i, std::uint8_t bits) { s.allowed[i].algorithms = bits; });
}
Status to_protocols(Value text, NcclSettings& s) {
  return each_group<NcclProtocol>(text, kNcclProtocols, [&](std::size_t i, std::uint8_t bits) {
    s.allowed[i].protocols = bits;
    s.allowed[i].trusts_ll128 = s.allowed[i].has(NcclProtocol::kLl128);
  });
}

Status to_cta_policy(Value text, NcclSettings& s) {
  constexpr Value kPolicies[] = {"default", "efficiency", "zero"};
  for (std::size_t i = 0; i < std::size(kPolicies); ++i)
    if (lower(text) == kPolicies[i] || text == std::to_string(i)) {
      s.registered.cta_policy = static_cast<CtaPolicy>(i);
      return {};
    }
  return invalid(fmt::format("'{}' is not DEFAULT, EFFICIENCY or ZERO", text));
}

Status to_kernel(Value text, NcclSettings& s) {
  std::vector<std::string> names;
  for (const NcclSymmetricKernel& k : symmetric_kernels()) {
    names.emplace_back(k.name);
    if (text != k.name) continue;
    s.registered.kernel = k.name;
    return {};
  }
  return invalid(fmt::format("'{}' is not one of {}", text, comma_list(names)));
}

constexpr std::uint64_t kMostSymmetricBlocks = 64;

using S = NcclSettings;
constexpr std::uint32_t kMostChannels = 128;  // RCCL's limit; NCCL uses at most 64
constexpr Value kFlag = "0 or 1", kChannels = "1 to 128", kBytes = "bytes", kLevel = "LOC, NVL, PIX, PXB, PHB or SYS";

constexpr NcclVariable kVariables[] = {
    {"NCCL_P2P_DISABLE", kFlag, "1: GPUs of a node communicate through host memory, even with NVLink",
     [](Value v, S& s) -> Status {
       bool off = false;
       BUSBAR_RETURN_IF_ERROR(to_flag(v, off));
       s.p2p_level = off ? std::optional(topology::PathType::kLoc) : std::nullopt;
       return {};
     }},
    {"NCCL_P2P_LEVEL", kLevel, "the farthest path over which GPUs of a node reach each other's memory",
     [](Value v, S& s) { return to_level(v, s.p2p_level); }},
    {"NCCL_SHM_DISABLE", kFlag, "1: GPUs without such a path do not use host memory",
     [](Value v, S& s) { return to_opposite(v, s.shm); }},
    {"NCCL_NVB_DISABLE", kFlag, "1: no GPU forwards data between two others",
     [](Value v, S& s) { return to_opposite(v, s.nvb); }},
    {"NCCL_NET_GDR_LEVEL", kLevel, "the farthest path over which NICs access GPU memory; LOC: none does",
     [](Value v, S& s) { return to_level(v, s.gdr_level); }},
    {"NCCL_NET_GDR_C2C", kFlag, "0: NICs do not access GPU memory over a C2C link",
     [](Value v, S& s) { return to_flag(v, s.gdr_c2c); }},
    {"NCCL_PXN_DISABLE", kFlag, "1: no GPU sends through a NIC next to another GPU",
     [](Value v, S& s) -> Status {
       BUSBAR_ASSIGN(const std::uint64_t n, whole(v, 0, 1));
       s.pxn = n == 0;
       return {};
     }},
    {"NCCL_PXN_C2C", kFlag, "0: not through a NIC that the other GPU reaches over a C2C link",
     [](Value v, S& s) { return to_flag(v, s.pxn_c2c); }},
    {"NCCL_CROSS_NIC", "0, 1 or 2",
     "0, 1, 2: rings never, always, or if faster leave a node by another NIC than they enter",
     [](Value v, S& s) -> Status {
       BUSBAR_ASSIGN(const std::uint64_t n, whole(v, 0, 2));
       s.cross_nic = static_cast<int>(n);
       return {};
     }},
    {"NCCL_NET", "IB or Socket", "Socket: TCP through host memory instead of RDMA", to_network},
    {"NCCL_IB_DISABLE", kFlag, "1: TCP through host memory instead of RDMA",
     [](Value v, S& s) { return to_flag(v, s.sockets); }},
    {"NCCL_NET_MERGE_LEVEL", "LOC, PORT, PIX, PXB, P2C, PXN, PHB or SYS",
     "the largest distance at which NICs are merged",
     [](Value v, S& s) -> Status {
       if (lower(v) == "port") v = topology::name_of(topology::PathType::kNvl);  // "port" has the same number as NVL
       BUSBAR_ASSIGN(s.merge_level,
                     level(v, {topology::PathType::kLoc, topology::PathType::kNvl, topology::PathType::kPix,
                               topology::PathType::kPxb, topology::PathType::kP2c, topology::PathType::kPxn,
                               topology::PathType::kPhb, topology::PathType::kSys}));
       return {};
     }},
    {"NCCL_IB_MERGE_NICS", kFlag, "0: every port of a NIC is separate",
     [](Value v, S& s) -> Status {
       bool on = true;
       BUSBAR_RETURN_IF_ERROR(to_flag(v, on));
       s.merge_level = on ? topology::PathType::kNvl : topology::PathType::kLoc;
       return {};
     }},
    {"NCCL_ALGO", "[collective:][^]ring,tree,...;...", "which algorithms are allowed", to_algorithms},
    {"NCCL_PROTO", "[collective:][^]ll,ll128,simple;...", "which protocols are allowed", to_protocols},
    {"RCCL_MODEL_MATCHING_DISABLE", kFlag, "1: RCCL also searches rings on machines with predefined rings",
     [](Value v, S& s) { return to_opposite(v, s.rccl_models); }},
    {"RCCL_MODEL_REVERSAL_DISABLE", kFlag, "1: every node runs predefined rings in the same direction",
     [](Value v, S& s) { return to_opposite(v, s.rccl_reversal); }},
    {"RCCL_DISABLE_RAIL_TREES", kFlag, "1: trees of such a machine are its rings without the last hops",
     [](Value v, S& s) { return to_opposite(v, s.rccl_rail_trees); }},
    {"RCCL_LL128_FORCE_ENABLE", kFlag, "1: use LL128 even where RCCL does not trust it",
     [](Value v, S& s) { return to_flag(v, s.rccl_ll128); }},
    {"NCCL_NVLS_ENABLE", "0, 1 or 2", "0: switches do not reduce",
     [](Value v, S& s) -> Status {
       BUSBAR_ASSIGN(const std::uint64_t n, whole(v, 0, 2));
       s.nvls = n != 0;
       return {};
     }},
    {"NCCL_COLLNET_ENABLE", kFlag, "1: the network reduces, if the fabric can",
     [](Value v, S& s) { return to_flag(v, s.collnet); }},
    {"NCCL_COLLNET_NODE_THRESHOLD", "2 or more", "the fewest nodes for which the network reduces",
     [](Value v, S& s) { return to_count(v, UINT32_MAX, s.collnet_nodes); }},
    {"NCCL_PAT_ENABLE", "0, 1 or 2", "0: no PAT, 1: PAT also with several GPUs per node",
     [](Value v, S& s) -> Status {
       BUSBAR_ASSIGN(const std::uint64_t n, whole(v, 0, 2));
       s.pat = n == 2 ? std::nullopt : std::optional(n == 1);
       return {};
     }},
    {"NCCL_NET_OVERHEAD", "nanoseconds", "latency of a step over the network in NCCL's forecast",
     [](Value v, S& s) -> Status {
       BUSBAR_ASSIGN(const std::uint64_t ns, whole(v, 0, 1'000'000));
       s.net_overhead_us = static_cast<float>(ns) / 1000;
       return {};
     }},
    {"NCCL_MIN_NCHANNELS", kChannels, "the fewest channels",
     [](Value v, S& s) { return to_count(v, kMostChannels, s.min_channels); }},
    {"NCCL_MAX_NCHANNELS", kChannels, "the most channels",
     [](Value v, S& s) { return to_count(v, kMostChannels, s.max_channels); }},
    {"NCCL_MIN_CTAS", kChannels, "same as NCCL_MIN_NCHANNELS",
     [](Value v, S& s) { return to_count(v, kMostChannels, s.min_channels); }},
    {"NCCL_MAX_CTAS", kChannels, "same as NCCL_MAX_NCHANNELS",
     [](Value v, S& s) { return to_count(v, kMostChannels, s.max_channels); }},
    {"NCCL_NVLS_NCHANNELS", kChannels, "channels if switches reduce",
     [](Value v, S& s) { return to_count(v, kMostChannels, s.nvls_channels); }},
    {"NCCL_NCHANNELS_PER_NET_PEER", kChannels, "channels of a send to a GPU of another node",
     [](Value v, S& s) { return to_count(v, kMostChannels, s.channels_per_peer); }},
    {"NCCL_NTHREADS", "64, 128, 256 or 512", "threads per channel with Simple and LL",
     [](Value v, S& s) -> Status {
       std::uint32_t n = 0;
       BUSBAR_RETURN_IF_ERROR(to_count(v, 512, n));
       if (n < 64 || (n & (n - 1)) != 0) return invalid(fmt::format("'{}' is not 64, 128, 256 or 512", v));
       s.threads = n;
       return {};
     }},
    {"NCCL_BUFFSIZE", kBytes, "buffer of a channel with Simple; a chunk is one eighth",
     [](Value v, S& s) { return to_bytes(v, s.buffers[static_cast<std::size_t>(NcclProtocol::kSimple)]); }},
    {"NCCL_LL_BUFFSIZE", kBytes, "the same with LL",
     [](Value v, S& s) { return to_bytes(v, s.buffers[static_cast<std::size_t>(NcclProtocol::kLl)]); }},
    {"NCCL_LL128_BUFFSIZE", kBytes, "the same with LL128",
     [](Value v, S& s) { return to_bytes(v, s.buffers[static_cast<std::size_t>(NcclProtocol::kLl128)]); }},
    {"NCCL_NVLS_CHUNKSIZE", kBytes, "largest chunk if switches reduce",
     [](Value v, S& s) { return to_bytes(v, s.nvls_chunk); }},
    {"NCCL_NVLSTREE_MAX_CHUNKSIZE", kBytes, "largest chunk of trees between such domains",
     [](Value v, S& s) { return to_bytes(v, s.nvls_tree_chunk); }},
    {"NCCL_CTA_POLICY", "DEFAULT, EFFICIENCY or ZERO",
     "with registered buffers: EFFICIENCY prefers NVLS with few channels, ZERO copy engines", to_cta_policy},
    {"NCCL_WIN_ENABLE", kFlag, "0: symmetric registration has no effect",
     [](Value v, S& s) { return to_flag(v, s.registered.windows); }},
    {"NCCL_LOCAL_REGISTER", kFlag, "0: local registration has no effect",
     [](Value v, S& s) { return to_flag(v, s.registered.local); }},
    {"NCCL_SYM_KERNEL", "a kernel", "the only symmetric kernel that is allowed: AllReduce_AGxLL_R", to_kernel},
    {"NCCL_SYM_CTAS", "1 to 64", "channels of symmetric kernels",
     [](Value v, S& s) { return to_count(v, kMostSymmetricBlocks, s.registered.blocks); }},
    {"NCCL_SYM_TMA_ENABLE", kFlag, "1: symmetric kernels of Blackwell may use the tensor memory accelerator",
     [](Value v, S& s) { return to_flag(v, s.registered.tma); }},
    {"NCCL_SYM_NOWIN_ENABLE", kFlag, "1: symmetric LL kernels also without registered buffers",
     [](Value v, S& s) { return to_flag(v, s.registered.without_window); }},
    {"NCCL_SYM_CE_THRESHOLD", "elements", "above so many per rank, all_gathers on Blackwell are copies",
     [](Value v, S& s) -> Status {
       BUSBAR_ASSIGN(s.registered.copy_elements, whole(v, 0, std::uint64_t{1} << 48));
       return {};
     }},
};

/// These change what a run prints, tolerates or requires, but not its modelled times.
constexpr Value kSilent[] = {"NCCL_DEBUG",
                             "NCCL_DEBUG_SUBSYS",
                             "NCCL_DEBUG_FILE",
                             "NCCL_TOPO_DUMP_FILE",
                             "NCCL_GRAPH_DUMP_FILE",
                             "NCCL_RAS_ENABLE",
                             "NCCL_COMM_ID",
                             "NCCL_SOCKET_IFNAME",
                             "NCCL_SOCKET_FAMILY",
                             "NCCL_OOB_NET_IFNAME",
                             "NCCL_IB_GID_INDEX",
                             "NCCL_IB_ROCE_VERSION_NUM",
                             "NCCL_IB_TC",
                             "NCCL_IB_SL",
                             "NCCL_IB_PKEY",
                             "NCCL_IB_TIMEOUT",
                             "NCCL_IB_RETRY_CNT",
                             "NCCL_IB_QPS_PER_CONNECTION",
                             "NCCL_IB_SPLIT_DATA_ON_QPS",
                             "NCCL_IB_PCI_RELAXED_ORDERING",
                             "NCCL_IB_ADAPTIVE_ROUTING",
                             "NCCL_IB_AR_THRESHOLD",
                             "NCCL_DMABUF_ENABLE",
                             "NCCL_CUMEM_ENABLE",
                             "NCCL_CUMEM_HOST_ENABLE",
                             "NCCL_LOCAL_REGISTER",
                             "NCCL_IGNORE_CPU_AFFINITY",
                             "NCCL_RUNTIME_CONNECT",
                             "NCCL_SET_STACK_SIZE"};

struct Unknown {
  Value name, instead;
};
/// These change times in NCCL, but the model does not know how.
constexpr Unknown kNotModelled[] = {
    {"NCCL_IB_HCA", "remove NICs with --fail 'node*.nic1'"},
    {"NCCL_NET_PLUGIN", "name the network's transport: --set fabric.transport=efa"},
    {"NCCL_NET_GDR_READ", "GPUDirect is on or off for both directions: NCCL_NET_GDR_LEVEL=LOC"},
    {"NCCL_NET_FORCE_MERGE", "NCCL_NET_MERGE_LEVEL merges NICs by distance"},
    {"NCCL_NET_MERGE_POLICY", ""},
    {"NCCL_NETDEVS_POLICY", ""},
    {"NCCL_NET_DISABLE_INTRA", ""},
    {"NCCL_P2P_PXN_LEVEL", "NCCL_PXN_DISABLE=1 turns PXN off"},
    {"NCCL_P2P_NET_CHUNKSIZE", ""},
    {"NCCL_P2P_NVL_CHUNKSIZE", ""},
    {"NCCL_P2P_PCI_CHUNKSIZE", ""},
    {"NCCL_P2P_LL_THRESHOLD", ""},
    {"NCCL_MAX_P2P_NCHANNELS", ""},
    {"NCCL_MIN_P2P_NCHANNELS", ""},
    {"NCCL_P2P_DIRECT_DISABLE", ""},
    {"NCCL_P2P_READ_ENABLE", ""},
    {"NCCL_MNNVL_ENABLE", ""},
    {"NCCL_LL128_NTHREADS", ""},
    {"NCCL_THREAD_THRESHOLDS", ""},
    {"NCCL_LL128_C2C", ""},
    {"NCCL_GRAPH_REGISTER", ""},
    {"NCCL_GRAPH_FILE", ""},
    {"NCCL_TOPO_FILE", "give the file as CLUSTER"},
    {"NCCL_TUNER_PLUGIN", "give collective --algorithm FILE.conf, or use NCCL_ALGO and NCCL_PROTO"},
    {"NCCL_TUNER_CONFIG_FILE", "give collective --algorithm FILE.conf, or use NCCL_ALGO and NCCL_PROTO"},
    {"NCCL_SOCKET_NTHREADS", ""},
    {"NCCL_NSOCKS_PERTHREAD", ""},
    {"NCCL_LAUNCH_MODE", ""},
    {"NCCL_IB_DATA_DIRECT", ""},
};

Error no_such(Value name) {
  std::vector<std::string> names;
  for (const NcclVariable& v : kVariables) names.emplace_back(v.name);
  for (const Value v : kSilent) names.emplace_back(v);
  const std::string near = nearest(name, names);
  return invalid(fmt::format("NCCL has no variable '{}'{}", name,
                             near.empty() ? " known here" : fmt::format("; did you mean '{}'?", near)));
}

}  // namespace

std::span<const NcclVariable> nccl_variables() { return kVariables; }

Status parse_nccl_setting(std::string_view text, NcclSettings& settings) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == Value::npos)
    return invalid(fmt::format("'{}' is not a setting; write NCCL_NVLS_ENABLE=0", text));
  const Value name = text.substr(0, equals), value = text.substr(equals + 1);
  for (const NcclVariable& v : kVariables) {
    if (v.name != name) continue;
    NcclSettings changed = settings;
    if (const Status done = v.set(value, changed); !done.ok())
      return Error{done.error().code, fmt::format("{}: {}", name, done.error().message), {}};
    settings = changed;
    return {};
  }
  if (std::find(std::begin(kSilent), std::end(kSilent), name) != std::end(kSilent)) return {};
  for (const Unknown& u : kNotModelled)
    if (u.name == name)
      return Error{ErrorCode::kUnsupported,
                   fmt::format("the effect of {} is not modelled{}{}", name, u.instead.empty() ? "" : "; ", u.instead),
                   {}};
  return no_such(name);
}

}  // namespace busbar::nccl
