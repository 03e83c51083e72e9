// A shared library that is used if it is there. Nothing of it is needed to build.
#pragma once

#include <dlfcn.h>

namespace busbar {

class LoadedLibrary {
 public:
  /// `name` as for dlopen(): null is this program itself.
  explicit LoadedLibrary(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  ~LoadedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  bool is_there() const { return handle_ != nullptr; }
  /// The function of that name and type; null if the library or the function is not there.
  template <typename F>
  F* find(const char* function) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(handle_, function));
  }
  /// Whether the function exists and says that it succeeded (0).
  template <typename... T>
  bool call(const char* function, T... arguments) const {
    const auto f = find<int(T...)>(function);
    return f != nullptr && f(arguments...) == 0;
  }

 private:
  void* handle_;
};

}  // namespace busbar
