# Rules of `cmake --install`, the CMake package, the pkg-config file, and the packages of CPack: two for Debian, or the
# tarball of a portable build.
#
#   component busbar   the command, its manual pages and completions, catalogue, examples, measured tables, texts
#   component dev      libbusbar.a with every room but the command line, headers, busbarConfig.cmake, busbar.pc
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Manual pages and completions; src/busbar/cli/CMakeLists.txt writes them.
function(busbar_pages)
  set(share ${PROJECT_BINARY_DIR}/share)
  install(DIRECTORY ${share}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT busbar)
  install(DIRECTORY ${share}/bash-completion ${share}/fish DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT busbar)
  # Debian's zsh reads site-functions below /usr/local and vendor-completions below /usr.
  install(CODE "
    set(zsh site-functions)
    if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\" AND EXISTS /etc/debian_version)
      set(zsh vendor-completions)
    endif()
    file(INSTALL ${share}/zsh/site-functions/_busbar
         DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${zsh}\")" COMPONENT busbar)
endfunction()

# One archive of all rooms below the command line, so that users link one library.
function(busbar_library)
  get_property(rooms GLOBAL PROPERTY BUSBAR_ROOMS)
  list(REMOVE_ITEM rooms cli)
  add_library(busbar_library STATIC)
  foreach(room ${rooms})
    get_target_property(type busbar_${room} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      target_sources(busbar_library PRIVATE $<TARGET_OBJECTS:busbar_${room}>)
    endif()
    install(DIRECTORY src/busbar/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/busbar COMPONENT dev
            FILES_MATCHING PATTERN *.h PATTERN demo EXCLUDE PATTERN internal EXCLUDE
            REGEX "/(test_[a-z]*|random_[a-z]*|every_schedule|fixture|fake_engine)\\.h$" EXCLUDE)
  endforeach()
  set_target_properties(busbar_library PROPERTIES OUTPUT_NAME busbar EXPORT_NAME busbar LINKER_LANGUAGE CXX)
  target_compile_features(busbar_library INTERFACE cxx_std_20)
  target_include_directories(busbar_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(busbar_library INTERFACE fmt::fmt yaml-cpp pugixml::pugixml SQLite::SQLite3 LibArchive::LibArchive)
  install(TARGETS busbar_library EXPORT busbarTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
endfunction()

function(busbar_cmake_package)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/busbar)
  install(EXPORT busbarTargets NAMESPACE busbar:: DESTINATION ${folder} COMPONENT dev)
  configure_package_config_file(cmake/busbarConfig.cmake.in ${PROJECT_BINARY_DIR}/busbarConfig.cmake
                                INSTALL_DESTINATION ${folder} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/busbarConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/busbarConfig.cmake ${PROJECT_BINARY_DIR}/busbarConfigVersion.cmake
          DESTINATION ${folder} COMPONENT dev)
  # Paths in the file are relative to its place: the prefix may be chosen at installation, and moved afterwards.
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" BUSBAR_UP ${up})
  configure_file(cmake/busbar.pc.in ${PROJECT_BINARY_DIR}/busbar.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/busbar.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

function(busbar_data)
  install(DIRECTORY catalog examples DESTINATION ${CMAKE_INSTALL_DATADIR}/busbar COMPONENT busbar)
  install(DIRECTORY data/measured DESTINATION ${CMAKE_INSTALL_DATADIR}/busbar COMPONENT busbar)
  install(FILES README.md CHANGES.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT busbar)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT busbar)
  install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT busbar FILES_MATCHING PATTERN *.md)
endfunction()

if(TARGET busbar AND NOT CMAKE_CROSSCOMPILING)
  install(TARGETS busbar RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT busbar)
  busbar_pages()
  busbar_data()
  if(NOT BUSBAR_PORTABLE)  # its rooms are compiled for the command alone
    busbar_library()
    busbar_cmake_package()
  endif()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME busbar)
# As Debian's tools know who makes a package; localhost: whoever built it.
set(name "$ENV{DEBFULLNAME}")
set(address "$ENV{DEBEMAIL}")
if(NOT name OR NOT address)
  set(name "Busbar developers")
  set(address busbar@localhost)
endif()
set(CPACK_PACKAGE_CONTACT "${name} <${address}>")
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/before_packages.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/check_packages.cmake)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulator of the interconnect of GPU clusters")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL busbar dev)
if(BUSBAR_PORTABLE)
  set(CPACK_GENERATOR TGZ)
  set(CPACK_PACKAGE_FILE_NAME busbar-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
  set(CPACK_COMPONENTS_ALL busbar)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_BUSBAR_PACKAGE_NAME busbar)
set(CPACK_DEBIAN_BUSBAR_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_BUSBAR_DESCRIPTION "Says how fast GPUs can talk, what limits them, and what would change it:\n\
 from two cards on a PCIe bus to clusters of 100,000. Needs no GPU and no network.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libbusbar-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "g++, libfmt-dev, libyaml-cpp-dev, libpugixml-dev, libsqlite3-dev, libarchive-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "The library behind the command busbar: archive, headers, CMake package and\n\
 pkg-config file.")
include(CPack)
