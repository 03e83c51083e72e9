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

# An archive in place of a library whose config file may know only the shared one.
#   busbar_archive(pugixml::pugixml pugixml pugixml.hpp)
function(busbar_archive target name header)
  find_library(BUSBAR_ARCHIVE_${name} lib${name}.a REQUIRED)
  find_path(BUSBAR_HEADER_${name} ${header} REQUIRED)
  add_library(${target} INTERFACE IMPORTED)
  set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES ${BUSBAR_ARCHIVE_${name}}
                                             INTERFACE_INCLUDE_DIRECTORIES ${BUSBAR_HEADER_${name}})
endfunction()

# What an archive leaves to other archives; call it after find_package.
function(busbar_complete_archives)
  if(BUSBAR_PORTABLE AND TARGET LibArchive::LibArchive)
    foreach(name z bz2 lzma zstd nettle)  # its readers of .gz, .bz2, .xz, .zst, and of zip
      find_library(BUSBAR_ARCHIVE_${name} lib${name}.a REQUIRED)
      set_property(TARGET LibArchive::LibArchive APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${BUSBAR_ARCHIVE_${name}})
    endforeach()
  endif()
endfunction()
