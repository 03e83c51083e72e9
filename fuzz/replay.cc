// Runs a fuzz target over its corpus, then over mutations of it: the same ones every time.
//
//   yaml_fuzz fuzz/corpus/yaml [MUTATIONS [SEED]]
//   yaml_fuzz crash-yaml_fuzz.bin            one saved input again
//
// When the target dies, the input that killed it lies in crash-<target>.bin in the current folder.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace {

namespace fs = std::filesystem;

// A signal handler can reach nothing but globals; these are read there and nowhere else.
const std::string* current_input = nullptr;
std::string crash_file;

void save_input() {
  if (current_input == nullptr) return;
  if (std::FILE* out = std::fopen(crash_file.c_str(), "wb")) {
    std::fwrite(current_input->data(), 1, current_input->size(), out);
    std::fclose(out);
  }
  std::fprintf(stderr, "the input that did it is in %s\n", crash_file.c_str());
}

void on_signal(int signal) {
  save_input();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void watch(const std::string& program) {
  crash_file = "crash-" + fs::path(program).filename().string() + ".bin";
  std::signal(SIGABRT, on_signal);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(save_input);
#else
  std::signal(SIGSEGV, on_signal);
#endif
}

void feed(const std::string& input) {
  current_input = &input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  current_input = nullptr;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> read_all(const fs::path& path) {
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  } else if (fs::exists(path)) {
    files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const fs::path& file : files) texts.push_back(read(file));
  return texts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS [MUTATIONS [SEED]]\n", argv[0]);
    return 2;
  }
  const std::vector<std::string> seeds = read_all(argv[1]);
  if (seeds.empty()) {
    std::fprintf(stderr, "%s: no input there\n", argv[1]);
    return 2;
  }
  const unsigned long mutations = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  const unsigned long seed = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1;
  watch(argv[0]);
  for (const std::string& input : seeds) feed(input);
  busbar::RandomStream random(seed, "fuzz.replay");
  for (unsigned long i = 0; i < mutations; ++i) feed(busbar::fuzz::mutate(seeds, random));
  std::printf("%zu inputs and %lu mutations of them survived (seed %lu)\n", seeds.size(), mutations, seed);
  return 0;
}
