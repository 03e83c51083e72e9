// What a user tells NCCL about buffers, and what NCCL may spend on a call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"

namespace busbar::nccl {

/// How buffers are registered. nccl-tests numbers them 0, 1, 2 (-R).
enum class Registration : std::uint8_t {
  kNone,
  kLocal,      ///< ncclCommRegister, or graph capture
  kSymmetric,  ///< ncclCommWindowRegister with NCCL_WIN_COLL_SYMMETRIC: at equal offsets on all ranks
};
const char* name_of(Registration registration);  ///< "none", "local", "symmetric"
std::vector<std::string> registration_names();
Result<Registration> parse_registration(std::string_view text);

enum class CtaPolicy : std::uint8_t {
  kDefault,
  kEfficiency,  ///< NVLS with few CTAs if buffers are registered
  kZero,        ///< copy engines if they can
};

/// Properties of a call that decide which kernels exist for it.
struct NcclElements {
  std::uint32_t bytes = 2;     ///< of one element; training exchanges 16 bits
  bool symmetric_sums = true;  ///< symmetric kernels can reduce it: sums and averages of floating point
  bool operator==(const NcclElements&) const = default;
};

/// NCCL's variables on registration, and the user's own act. Defaults are NCCL's.
struct NcclBuffers {
  Registration registration = Registration::kNone;
  CtaPolicy cta_policy = CtaPolicy::kDefault;  ///< NCCL_CTA_POLICY
  bool windows = true;                         ///< NCCL_WIN_ENABLE
  bool local = true;                           ///< NCCL_LOCAL_REGISTER
  bool without_window = false;                 ///< NCCL_SYM_NOWIN_ENABLE
  bool tma = false;                            ///< NCCL_SYM_TMA_ENABLE
  std::string_view kernel{};                   ///< NCCL_SYM_KERNEL: one of symmetric_kernels(); empty: by forecast
  std::uint32_t blocks = 0;                    ///< NCCL_SYM_CTAS; 0: by forecast
  std::uint64_t copy_elements = 8 << 20;       ///< NCCL_SYM_CE_THRESHOLD: above, all-gathers on cc 100 are copies
  NcclElements elements{};
  bool operator==(const NcclBuffers&) const = default;
};

}  // namespace busbar::nccl
