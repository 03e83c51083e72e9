// NVIDIA's GPUs of this host, by the driver's library.
#pragma once

#include <string>

namespace busbar::host {

/// Lines as `nvidia-smi -q` and `nvidia-smi nvlink -s` print them: product, state of the fabric, reasons of slow
/// clocks, PCIe generation and width, NVLinks. Empty if the library is not there or does not start.
std::string read_nvml(const char* library = "libnvidia-ml.so.1");

}  // namespace busbar::host
