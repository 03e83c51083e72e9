// A library that carries messages between processes over whatever network it finds: UCX or libfabric. It is loaded at
// run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "busbar/base/loaded_library.h"
#include "busbar/base/result.h"
#include "busbar/runtime/transport.h"

namespace busbar::runtime {

/// A message that is sent or awaited. It must stay where it is while it is under way.
struct Message {
  alignas(16) std::byte state[64] = {};  ///< the library's
  void* handle = nullptr;                ///< likewise
  class MessageLibrary* library = nullptr;
  bool under_way = false;
};

/// Of one process; used by one thread at a time. Messages of one tag arrive in the order in which a peer sent them.
class MessageLibrary {
 public:
  MessageLibrary() = default;
  virtual ~MessageLibrary() = default;
  MessageLibrary(const MessageLibrary&) = delete;
  MessageLibrary& operator=(const MessageLibrary&) = delete;

  /// For connect() of the others.
  virtual std::string address() const = 0;
  virtual Status connect(std::uint32_t peer, const std::string& address) = 0;
  /// Starts a message. False: not now; progress() and call again.
  /// The data must stay as they are while it is under way; an error leaves it so.
  virtual bool send(std::uint32_t peer, std::uint64_t tag, const std::byte* data, std::size_t bytes, Message& m) = 0;
  virtual bool receive(std::uint64_t tag, std::byte* to, std::size_t bytes, Message& m) = 0;
  /// Of a message that is awaited and does not come: after some progress() it is not under way.
  virtual void cancel(Message& m) = 0;
  virtual void progress() = 0;
  /// The first error in words; empty: none.
  const std::string& failure() const { return failure_; }

 protected:
  void fail(const std::string& words) {
    if (failure_.empty()) failure_ = words;
  }

 private:
  std::string failure_;
};

/// The functions of a library, found by name.
class FunctionsOf {
 public:
  /// Errors: kUnsupported, the library is not on this host; it names the package of Debian.
  static Result<FunctionsOf> library(const char* file, const char* what, const char* package);
  template <typename F>
  void find(F*& f, const char* name) {
    f = library_->find<F>(name);
    all_there_ = all_there_ && f != nullptr;
  }
  /// Error: kUnsupported, find() has missed one.
  Status all_there() const;

 private:
  FunctionsOf(std::shared_ptr<const LoadedLibrary> library, const char* file)
      : library_(std::move(library)), file_(file) {}
  std::shared_ptr<const LoadedLibrary> library_;  ///< shared by copies: it is closed with the last of them
  const char* file_;
  bool all_there_ = true;
};

/// `host`: an address of this host, where the library asks for one. Errors: kUnsupported, it is not there; kIo.
Result<std::unique_ptr<MessageLibrary>> open_message_library(Transport transport, const std::string& host);

/// The same of each library, and whether it could be opened.
Result<std::unique_ptr<MessageLibrary>> open_ucx();
Result<std::unique_ptr<MessageLibrary>> open_ofi(const std::string& host);
Status ucx_usable();
Status ofi_usable();

}  // namespace busbar::runtime
