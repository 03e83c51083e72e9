// libfabric as a carrier of messages. Its few functions are found at run time; only its headers are needed to build.
#include "busbar/runtime/internal/message_library.h"

#ifdef BUSBAR_HAS_OFI
#include <fmt/core.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <array>
#include <cstring>
#include <vector>

namespace busbar::runtime {
namespace {

/// Everything else is reached through what these make.
struct Ofi {
  FunctionsOf library;
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;

  /// Found once and never unloaded: the threads and handlers of the library may outlive what uses it.
  static Result<const Ofi*> load();

 private:
  static Result<Ofi> find();
};

Result<Ofi> Ofi::find() {
  BUSBAR_ASSIGN(FunctionsOf functions, FunctionsOf::library("libfabric.so.1", "libfabric", "libfabric1"));
  Ofi o{.library = std::move(functions)};
  o.library.find(o.getinfo, "fi_getinfo");
  o.library.find(o.freeinfo, "fi_freeinfo");
  o.library.find(o.dupinfo, "fi_dupinfo");
  o.library.find(o.fabric, "fi_fabric");
  o.library.find(o.strerror, "fi_strerror");
  BUSBAR_RETURN_IF_ERROR(o.library.all_there());
  return o;
}

Result<const Ofi*> Ofi::load() {
  static const Result<Ofi>& found = *new Result<Ofi>(find());
  if (!found.ok()) return found.error();
  return &*found;
}

/// Closes in the order of its members, last first.
template <typename T>
class Closed {
 public:
  ~Closed() {
    if (object != nullptr) fi_close(&object->fid);
  }
  T* object = nullptr;
  T* operator->() const { return object; }
};

class OfiLibrary final : public MessageLibrary {
 public:
  explicit OfiLibrary(const Ofi& ofi) : ofi_(ofi) {}
  ~OfiLibrary() override {
    if (info_ != nullptr) ofi_.freeinfo(info_);
  }
  Status start(const std::string& host);

  std::string address() const override { return address_; }
  Status connect(std::uint32_t peer, const std::string& address) override;
  bool send(std::uint32_t peer, std::uint64_t tag, const std::byte* data, std::size_t bytes, Message& m) override {
    return begun(fi_tsend(endpoint_.object, data, bytes, nullptr, peers_[peer], tag, m.state), m);
  }
  bool receive(std::uint64_t tag, std::byte* to, std::size_t bytes, Message& m) override {
    return begun(fi_trecv(endpoint_.object, to, bytes, nullptr, FI_ADDR_UNSPEC, tag, 0, m.state), m);
  }
  void cancel(Message& m) override { fi_cancel(&endpoint_->fid, m.state); }
  void progress() override;

 private:
  Error error(const char* what, ssize_t e) const {
    return {ErrorCode::kIo,
            fmt::format("libfabric could not {}: {}", what, ofi_.strerror(static_cast<int>(e < 0 ? -e : e))),
            {}};
  }
  Status find_provider(const std::string& host);
  bool begun(ssize_t e, Message& m);
  void take_error();

  const Ofi& ofi_;
  fi_info* info_ = nullptr;
  Closed<fid_fabric> fabric_;
  Closed<fid_domain> domain_;
  Closed<fid_av> addresses_;
  Closed<fid_cq> completions_;
  Closed<fid_ep> endpoint_;
  std::string address_;
  std::vector<fi_addr_t> peers_;
};

bool starts_with_one_of(const char* name, std::initializer_list<const char*> beginnings) {
  for (const char* b : beginnings)
    if (std::strncmp(name, b, std::strlen(b)) == 0) return true;
  return false;
}

/// The first that libfabric names, as it sorts them by speed, but none that reaches this host alone. One over sockets
/// is asked again for the address by which ranks met: by itself it takes that of any interface.
Status OfiLibrary::find_provider(const std::string& host) {
  fi_info* const hints = ofi_.dupinfo(nullptr);
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_TAGGED;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->mr_mode = 0;
  fi_info* all = nullptr;
  int e = ofi_.getinfo(FI_VERSION(1, 9), nullptr, nullptr, 0, hints, &all);
  const fi_info* taken = all;
  while (taken != nullptr && starts_with_one_of(taken->fabric_attr->prov_name, {"shm", "sm2"})) taken = taken->next;
  if (e == 0 && taken != nullptr) {
    info_ = ofi_.dupinfo(taken);
    if (starts_with_one_of(info_->fabric_attr->prov_name, {"tcp", "net", "sockets", "udp"})) {
      fi_info* there = nullptr;
      hints->fabric_attr->prov_name = strdup(info_->fabric_attr->prov_name);
      e = ofi_.getinfo(FI_VERSION(1, 9), host.c_str(), nullptr, FI_SOURCE, hints, &there);
      if (e == 0) std::swap(info_, there);
      ofi_.freeinfo(there);
    }
  }
  ofi_.freeinfo(all);
  ofi_.freeinfo(hints);
  if (e != 0) return error("find a network for messages", e);
  return info_ != nullptr ? Status() : error("find a network for messages", FI_ENODATA);
}

Status OfiLibrary::start(const std::string& host) {
  BUSBAR_RETURN_IF_ERROR(find_provider(host));
  if (const int e = ofi_.fabric(info_->fabric_attr, &fabric_.object, nullptr); e != 0) return error("start", e);
  if (const int e = fi_domain(fabric_.object, info_, &domain_.object, nullptr); e != 0)
    return error("open a network", e);
  fi_av_attr av{};
  av.type = FI_AV_TABLE;
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_CONTEXT;
  if (const int e = fi_av_open(domain_.object, &av, &addresses_.object, nullptr); e != 0)
    return error("make a table of addresses", e);
  if (const int e = fi_cq_open(domain_.object, &cq, &completions_.object, nullptr); e != 0)
    return error("make a queue", e);
  if (const int e = fi_endpoint(domain_.object, info_, &endpoint_.object, nullptr); e != 0)
    return error("make an endpoint", e);
  int e = fi_ep_bind(endpoint_.object, &addresses_->fid, 0);
  if (e == 0) e = fi_ep_bind(endpoint_.object, &completions_->fid, FI_SEND | FI_RECV);
  if (e == 0) e = fi_enable(endpoint_.object);
  if (e != 0) return error("enable an endpoint", e);
  std::array<char, 512> name;
  std::size_t bytes = name.size();
  if (e = fi_getname(&endpoint_->fid, name.data(), &bytes); e != 0) return error("say its address", e);
  address_.assign(name.data(), bytes);
  return {};
}

Status OfiLibrary::connect(std::uint32_t peer, const std::string& address) {
  if (peers_.size() <= peer) peers_.resize(peer + 1, FI_ADDR_UNSPEC);
  if (const int n = fi_av_insert(addresses_.object, address.data(), 1, &peers_[peer], 0, nullptr); n != 1)
    return error(fmt::format("reach rank {}", peer).c_str(), n < 0 ? n : FI_EINVAL);
  return {};
}

bool OfiLibrary::begun(ssize_t e, Message& m) {
  if (e == -FI_EAGAIN) return false;
  m.under_way = true;
  if (e != 0) fail(error("send or receive", e).message);
  return true;
}

/// A message begins with what the library was given as its context.
void OfiLibrary::progress() {
  constexpr std::size_t kMost = 16;
  std::array<fi_cq_entry, kMost> entries;
  const ssize_t n = fi_cq_read(completions_.object, entries.data(), kMost);
  for (ssize_t i = 0; i < n; ++i)
    reinterpret_cast<Message*>(entries[static_cast<std::size_t>(i)].op_context)->under_way = false;
  if (n == -FI_EAVAIL) take_error();
}

void OfiLibrary::take_error() {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(completions_.object, &entry, 0) < 1) return;
  if (entry.err == FI_ECANCELED && entry.op_context != nullptr)
    reinterpret_cast<Message*>(entry.op_context)->under_way = false;
  else
    fail(error("send or receive", entry.err).message);
}

}  // namespace

Result<std::unique_ptr<MessageLibrary>> open_ofi(const std::string& host) {
  BUSBAR_ASSIGN(const Ofi* ofi, Ofi::load());
  auto out = std::make_unique<OfiLibrary>(*ofi);
  BUSBAR_RETURN_IF_ERROR(out->start(host));
  return std::unique_ptr<MessageLibrary>(std::move(out));
}

Status ofi_usable() {
  BUSBAR_RETURN_IF_ERROR(Ofi::load());
  return {};
}

}  // namespace busbar::runtime

#else

namespace busbar::runtime {

Status ofi_usable() {
  return Error{ErrorCode::kUnsupported,
               "this busbar was built without the headers of libfabric (Debian: libfabric-dev); use --transport tcp",
               {}};
}
Result<std::unique_ptr<MessageLibrary>> open_ofi(const std::string&) { return ofi_usable().error(); }

}  // namespace busbar::runtime

#endif
