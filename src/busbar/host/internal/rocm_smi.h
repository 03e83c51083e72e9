// AMD's GPUs of this host, by the library of ROCm SMI.
#pragma once

#include <string>

namespace busbar::host {

/// Lines "host part 0000:0c:00.0 reaches GPU 0000:22:00.0 by xGMI" (or by PCIe), for every pair, and "host part ... has
/// errors on xGMI". Empty if the library is not there, does not start or finds fewer than two GPUs.
std::string read_rocm_smi(const char* library = "librocm_smi64.so.7");

/// By the first release of the library that is there: librocm_smi64.so.7, .6, .5.
std::string read_any_rocm_smi();

}  // namespace busbar::host
