# BUSBAR_PORTABLE: a command that runs on every Linux with GLIBC 2.34 or later (RHEL 9, Ubuntu 22.04), whatever else is
# installed there. All libraries are inside but those of GLIBC, and libgcc_s, which comes with every GLIBC:
# the static one of GCC 12 needs _dl_find_object of GLIBC 2.35. tests/house/portable_test.py checks the symbols.

# fmt, as Debian has no archive of it
set(BUSBAR_FMT fmt::fmt)

if(BUSBAR_PORTABLE)
  set(BUSBAR_FMT fmt::fmt-header-only)
  set(BUSBAR_MPI OFF)                    # a module for one MPI of one machine
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)  # of find_package(SQLite3) and others without a config file
  add_compile_options(-ffunction-sections -fdata-sections)
  # Unused sections go: among them is std::random_device of GCC 12, which needs arc4random of GLIBC 2.36.
  add_link_options(-static-libstdc++ -Wl,--gc-sections)
endif()

# A copy of an archive that may become part of a shared library: target busbar_archive_<name>. Debian compiles archives
# for programs, which may hold the variables of GLIBC themselves, and for its own GLIBC; in the copy these symbols are those of
# portable_symbols.cc, which the linker must see after each archive that needs them.
function(busbar_find_archive name)
  find_library(BUSBAR_ORIGINAL_${name} lib${name}.a REQUIRED)
  set(copy ${PROJECT_BINARY_DIR}/archives/lib${name}.a)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/archives)
  set(others --redefine-sym __libc_single_threaded=busbar_portable_single_threaded)
  foreach(symbol stdin stdout stderr arc4random arc4random_buf)
    list(APPEND others --redefine-sym ${symbol}=busbar_portable_${symbol})
  endforeach()
  execute_process(COMMAND ${CMAKE_OBJCOPY} ${others} ${BUSBAR_ORIGINAL_${name}} ${copy} COMMAND_ERROR_IS_FATAL ANY)
  if(NOT TARGET busbar_portable_symbols)
    add_library(busbar_portable_symbols STATIC ${PROJECT_SOURCE_DIR}/cmake/portable_symbols.cc)
    set_target_properties(busbar_portable_symbols PROPERTIES CXX_VISIBILITY_PRESET hidden)
  endif()
  add_library(busbar_archive_${name} STATIC IMPORTED GLOBAL)
  set_target_properties(busbar_archive_${name} PROPERTIES IMPORTED_LOCATION ${copy}
                                                          INTERFACE_LINK_LIBRARIES busbar_portable_symbols)
endfunction()

# An archive in place of a library whose config file may know only the shared one.
#   busbar_archive(pugixml::pugixml pugixml pugixml.hpp)
function(busbar_archive target name header)
  busbar_find_archive(${name})
  find_path(BUSBAR_HEADER_${name} ${header} REQUIRED)
  add_library(${target} INTERFACE IMPORTED)
  set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES busbar_archive_${name}
                                             INTERFACE_INCLUDE_DIRECTORIES ${BUSBAR_HEADER_${name}})
endfunction()

# What an archive leaves to other archives; call it after find_package.
function(busbar_complete_archives)
  if(BUSBAR_PORTABLE AND TARGET LibArchive::LibArchive)
    foreach(name z bz2 lzma zstd nettle)  # its readers of .gz, .bz2, .xz, .zst, and of zip
      busbar_find_archive(${name})
      set_property(TARGET LibArchive::LibArchive APPEND PROPERTY INTERFACE_LINK_LIBRARIES busbar_archive_${name})
    endforeach()
  endif()
endfunction()
