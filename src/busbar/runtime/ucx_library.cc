// UCX as a carrier of messages. The functions of libucp are found at run time; only its headers are needed to build.
#include "busbar/runtime/internal/message_library.h"

#ifdef BUSBAR_HAS_UCX
#include <fmt/core.h>
#include <ucp/api/ucp.h>

#include <cstdlib>
#include <vector>

namespace busbar::runtime {
namespace {

struct Ucx {
  FunctionsOf library;
  decltype(&ucp_init_version) init_version = nullptr;
  decltype(&ucp_cleanup) cleanup = nullptr;
  decltype(&ucp_worker_create) worker_create = nullptr;
  decltype(&ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&ucp_worker_progress) worker_progress = nullptr;
  decltype(&ucp_ep_create) ep_create = nullptr;
  decltype(&ucp_tag_send_nbx) tag_send = nullptr;
  decltype(&ucp_tag_recv_nbx) tag_recv = nullptr;
  decltype(&ucp_request_cancel) request_cancel = nullptr;
  decltype(&ucp_request_free) request_free = nullptr;
  decltype(&ucs_status_string) status_string = nullptr;

  /// Found once and never unloaded: the threads and handlers of the library may outlive what uses it.
  static Result<const Ucx*> load();

 private:
  static Result<Ucx> find();
};

/// What goes wrong between ranks is told by this program; UCX itself would say it on several lines.
Result<Ucx> Ucx::find() {
  setenv("UCX_LOG_LEVEL", "fatal", 0);
  setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 0);
  setenv("UCX_TLS", "^shm", 0);  // never used between peers that may die, but it would need room in /dev/shm
  BUSBAR_ASSIGN(FunctionsOf functions, FunctionsOf::library("libucp.so.0", "UCX", "libucx0"));
  Ucx u{.library = std::move(functions)};
  u.library.find(u.init_version, "ucp_init_version");
  u.library.find(u.cleanup, "ucp_cleanup");
  u.library.find(u.worker_create, "ucp_worker_create");
  u.library.find(u.worker_destroy, "ucp_worker_destroy");
  u.library.find(u.worker_get_address, "ucp_worker_get_address");
  u.library.find(u.worker_release_address, "ucp_worker_release_address");
  u.library.find(u.worker_progress, "ucp_worker_progress");
  u.library.find(u.ep_create, "ucp_ep_create");
  u.library.find(u.tag_send, "ucp_tag_send_nbx");
  u.library.find(u.tag_recv, "ucp_tag_recv_nbx");
  u.library.find(u.request_cancel, "ucp_request_cancel");
  u.library.find(u.request_free, "ucp_request_free");
  u.library.find(u.status_string, "ucs_status_string");
  BUSBAR_RETURN_IF_ERROR(u.library.all_there());
  return u;
}

Result<const Ucx*> Ucx::load() {
  static const Result<Ucx>& found = *new Result<Ucx>(find());
  if (!found.ok()) return found.error();
  return &*found;
}

class UcxLibrary final : public MessageLibrary {
 public:
  explicit UcxLibrary(const Ucx& ucx) : ucx_(ucx) {}
  ~UcxLibrary() override {
    if (worker_ != nullptr) ucx_.worker_destroy(worker_);
    if (context_ != nullptr) ucx_.cleanup(context_);
  }
  Status start();

  std::string address() const override { return address_; }
  Status connect(std::uint32_t peer, const std::string& address) override;
  bool send(std::uint32_t peer, std::uint64_t tag, const std::byte* data, std::size_t bytes, Message& m) override;
  bool receive(std::uint64_t tag, std::byte* to, std::size_t bytes, Message& m) override;
  void cancel(Message& m) override {
    if (m.handle != nullptr) ucx_.request_cancel(worker_, m.handle);
  }
  void progress() override { ucx_.worker_progress(worker_); }

 private:
  Error error(const char* what, ucs_status_t s) const {
    return {ErrorCode::kIo, fmt::format("UCX could not {}: {}", what, ucx_.status_string(s)), {}};
  }
  ucp_request_param_t parameters(Message& m);
  void begun(Message& m, ucs_status_ptr_t handle);
  /// The message has arrived, gone or failed.
  void ended(Message& m, void* handle, ucs_status_t s);

  const Ucx& ucx_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::string address_;
  std::vector<ucp_ep_h> peers_;
};

Status UcxLibrary::start() {
  ucp_params_t p{};
  p.field_mask = UCP_PARAM_FIELD_FEATURES;
  p.features = UCP_FEATURE_TAG;
  if (const auto s = ucx_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &p, nullptr, &context_); s != UCS_OK)
    return error("start", s);
  ucp_worker_params_t w{};
  w.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  w.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  if (const auto s = ucx_.worker_create(context_, &w, &worker_); s != UCS_OK) return error("open a network", s);
  ucp_address_t* own = nullptr;
  std::size_t bytes = 0;
  if (const auto s = ucx_.worker_get_address(worker_, &own, &bytes); s != UCS_OK) return error("say its address", s);
  address_.assign(reinterpret_cast<const char*>(own), bytes);
  ucx_.worker_release_address(worker_, own);
  return {};
}

/// Without its handling of errors UCX ends the process when a peer has died. With it, it uses no memory that processes
/// share, which is what kShm is for.
Status UcxLibrary::connect(std::uint32_t peer, const std::string& address) {
  ucp_ep_params_t p{};
  p.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  p.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  p.err_handler.cb = [](void* self, ucp_ep_h, ucs_status_t s) {
    auto& library = *static_cast<UcxLibrary*>(self);
    library.fail(fmt::format("UCX: {}", library.ucx_.status_string(s)));
  };
  p.err_handler.arg = this;
  p.address = reinterpret_cast<const ucp_address_t*>(address.data());
  if (peers_.size() <= peer) peers_.resize(peer + 1);
  if (const auto s = ucx_.ep_create(worker_, &p, &peers_[peer]); s != UCS_OK)
    return error(fmt::format("reach rank {}", peer).c_str(), s);
  return {};
}

ucp_request_param_t UcxLibrary::parameters(Message& m) {
  ucp_request_param_t p{};
  p.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  p.user_data = &m;
  m.library = this;
  m.under_way = true;
  return p;
}

void UcxLibrary::begun(Message& m, ucs_status_ptr_t handle) {
  if (UCS_PTR_IS_ERR(handle))
    ended(m, nullptr, UCS_PTR_STATUS(handle));
  else if (handle == nullptr)
    m.under_way = false;
  else if (m.under_way)
    m.handle = handle;
}

void UcxLibrary::ended(Message& m, void* handle, ucs_status_t s) {
  if (handle != nullptr) ucx_.request_free(handle);
  m.handle = nullptr;
  if (s == UCS_OK || s == UCS_ERR_CANCELED)
    m.under_way = false;
  else
    fail(fmt::format("UCX: {}", ucx_.status_string(s)));
}

bool UcxLibrary::send(std::uint32_t peer, std::uint64_t tag, const std::byte* data, std::size_t bytes, Message& m) {
  ucp_request_param_t p = parameters(m);
  p.cb.send = [](void* handle, ucs_status_t s, void* user) {
    auto& message = *static_cast<Message*>(user);
    static_cast<UcxLibrary*>(message.library)->ended(message, handle, s);
  };
  begun(m, ucx_.tag_send(peers_[peer], data, bytes, tag, &p));
  return true;
}

bool UcxLibrary::receive(std::uint64_t tag, std::byte* to, std::size_t bytes, Message& m) {
  constexpr ucp_tag_t kAllBits = ~ucp_tag_t{0};
  ucp_request_param_t p = parameters(m);
  p.cb.recv = [](void* handle, ucs_status_t s, const ucp_tag_recv_info_t*, void* user) {
    auto& message = *static_cast<Message*>(user);
    static_cast<UcxLibrary*>(message.library)->ended(message, handle, s);
  };
  begun(m, ucx_.tag_recv(worker_, to, bytes, tag, kAllBits, &p));
  return true;
}

}  // namespace

Result<std::unique_ptr<MessageLibrary>> open_ucx() {
  BUSBAR_ASSIGN(const Ucx* ucx, Ucx::load());
  auto out = std::make_unique<UcxLibrary>(*ucx);
  BUSBAR_RETURN_IF_ERROR(out->start());
  return std::unique_ptr<MessageLibrary>(std::move(out));
}

Status ucx_usable() {
  BUSBAR_RETURN_IF_ERROR(Ucx::load());
  return {};
}

}  // namespace busbar::runtime

#else

namespace busbar::runtime {

Status ucx_usable() {
  return Error{ErrorCode::kUnsupported,
               "this busbar was built without the headers of UCX (Debian: libucx-dev); use --transport tcp",
               {}};
}
Result<std::unique_ptr<MessageLibrary>> open_ucx() { return ucx_usable().error(); }

}  // namespace busbar::runtime

#endif
