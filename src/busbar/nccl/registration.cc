#include "busbar/nccl/registration.h"

#include <fmt/core.h>

#include <iterator>

namespace busbar::nccl {
namespace {
constexpr const char* kRegistrations[] = {"none", "local", "symmetric"};
}  // namespace

const char* name_of(Registration r) { return kRegistrations[static_cast<std::size_t>(r)]; }

std::vector<std::string> registration_names() { return {std::begin(kRegistrations), std::end(kRegistrations)}; }

Result<Registration> parse_registration(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kRegistrations); ++i)
    if (text == kRegistrations[i]) return static_cast<Registration>(i);
  return invalid(fmt::format("'{}' is no registration of buffers; use none, local or symmetric", text));
}

}  // namespace busbar::nccl
