// The client side of PMIx, by the binary interface of libpmix.so.2 (PMIx Standard 4.1, pmix_common.h of OpenPMIx 3 on),
// so that no headers are needed.
#include "busbar/study/pmix_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "busbar/base/loaded_library.h"

namespace busbar::study {
namespace pmix {

constexpr const char* kFile = "libpmix.so.2";
constexpr const char* kKey = "busbar.said";
constexpr std::uint16_t kBool = 1, kString = 3, kInt = 6, kUint32 = 14;
constexpr std::uint8_t kGlobal = 3;               // scope: processes of this host and of others
constexpr std::uint32_t kWholeJob = 0xffff'fffe;  // rank

struct Process {
  char job[256] = "";
  std::uint32_t rank = 0;
};
struct Value {
  std::uint16_t type = 0;
  union {
    bool flag;
    char* string;
    int integer;
    std::uint32_t number;
    std::uint64_t room[3];  ///< of the largest member of the library's union
  } data{};
};
struct Info {
  char key[512] = "";
  std::uint32_t flags = 0;
  Value value{};
};
static_assert(sizeof(Value) == 32 && offsetof(Info, value) == 520);

struct Functions {
  int (*init)(Process*, Info*, std::size_t) = nullptr;
  int (*put)(std::uint8_t, const char*, Value*) = nullptr;
  int (*commit)() = nullptr;
  int (*fence)(const Process*, std::size_t, const Info*, std::size_t) = nullptr;
  int (*get)(const Process*, const char*, const Info*, std::size_t, Value**) = nullptr;
  int (*finalize)(const Info*, std::size_t) = nullptr;
  const char* (*error)(int) = nullptr;

  /// Whether all are there.
  bool find_in(const LoadedLibrary& library) {
    const auto find = [&]<typename F>(F*& f, const char* name) { return (f = library.find<F>(name)) != nullptr; };
    return find(init, "PMIx_Init") && find(put, "PMIx_Put") && find(commit, "PMIx_Commit") &&
           find(fence, "PMIx_Fence") && find(get, "PMIx_Get") && find(finalize, "PMIx_Finalize") &&
           find(error, "PMIx_Error_string");
  }
};

}  // namespace pmix

struct PmixJob::State {
  LoadedLibrary library{pmix::kFile};
  pmix::Functions call{};
  pmix::Process self{};
  std::uint32_t size = 1;

  Error failed(const char* what, int code) const {
    return {ErrorCode::kIo, fmt::format("PMIx could not {}: {}", what, call.error(code)), {}};
  }
  /// Of this job; null: it does not say.
  pmix::Value* get(std::uint32_t rank, const char* key) const {
    pmix::Process of = self;
    of.rank = rank;
    pmix::Value* value = nullptr;
    return call.get(&of, key, nullptr, 0, &value) == 0 ? value : nullptr;
  }
};

PmixJob::PmixJob(std::unique_ptr<State> state) : state_(std::move(state)) {}
PmixJob::~PmixJob() { state_->call.finalize(nullptr, 0); }
std::uint32_t PmixJob::rank() const { return state_->self.rank; }
std::uint32_t PmixJob::size() const { return state_->size; }

Result<std::unique_ptr<PmixJob>> PmixJob::join() {
  const bool started = std::getenv("PMIX_NAMESPACE") != nullptr && std::getenv("PMIX_RANK") != nullptr;
  if (!started) return std::unique_ptr<PmixJob>();
  auto state = std::make_unique<State>();
  if (!state->library.is_there() || !state->call.find_in(state->library))
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("this process was started with PMIx, and {} is not on this host; install libpmix2", pmix::kFile),
        {}};
  if (const int e = state->call.init(&state->self, nullptr, 0); e != 0) {
    Error error = state->failed("reach the launcher", e);
    error.code = ErrorCode::kUnsupported;
    error.message += "; without PMIX_NAMESPACE it runs by itself";
    return error;
  }
  std::unique_ptr<PmixJob> job(new PmixJob(std::move(state)));
  if (pmix::Value* size = job->state_->get(pmix::kWholeJob, "pmix.job.size"); size != nullptr) {
    if (size->type == pmix::kUint32) job->state_->size = size->data.number;
    std::free(size);
  }
  if (job->size() < 2) job.reset();
  return job;
}

Result<std::vector<std::string>> PmixJob::exchange(const std::string& text, double timeout_s) {
  std::string own = text;
  pmix::Value said;
  said.type = pmix::kString;
  said.data.string = own.data();
  if (const int e = state_->call.put(pmix::kGlobal, pmix::kKey, &said); e != 0) return state_->failed("take a text", e);
  if (const int e = state_->call.commit(); e != 0) return state_->failed("take a text", e);
  pmix::Info with[2];
  std::strcpy(with[0].key, "pmix.collect");
  with[0].value.type = pmix::kBool, with[0].value.data.flag = true;
  std::strcpy(with[1].key, "pmix.timeout");
  with[1].value.type = pmix::kInt, with[1].value.data.integer = std::max(1, static_cast<int>(std::ceil(timeout_s)));
  if (const int e = state_->call.fence(nullptr, 0, with, 2); e != 0) return state_->failed("join all ranks", e);
  std::vector<std::string> out(size());
  for (std::uint32_t r = 0; r < size(); ++r) {
    pmix::Value* const value = state_->get(r, pmix::kKey);
    if (value == nullptr || value->type != pmix::kString)
      return Error{ErrorCode::kIo, fmt::format("PMIx has nothing of rank {}", r), {}};
    out[r] = value->data.string;
    std::free(value->data.string);
    std::free(value);
  }
  return out;
}

}  // namespace busbar::study
