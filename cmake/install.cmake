# Rules of `cmake --install`, the CMake package, the pkg-config files, and the packages of CPack: three for Debian, or the
# tarball of a portable build.
#
#   component busbar   the command, its manual pages and completions, catalogue, examples, measured tables, texts
#   component lib      libbusbar.so.N for programs in C and other languages
#   component dev      what programs are compiled with: libbusbar.a with every room but the command line for C++,
#                      libbusbar.so for C, headers, busbarConfig.cmake, busbar.pc, busbar_c.pc
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

# libbusbar.so.N: the C interface and what it needs, from the objects of the rooms. It exports busbar_* and nothing else.
function(busbar_shared_library)
  add_library(busbar_shared SHARED $<TARGET_OBJECTS:busbar_api>)
  target_link_libraries(busbar_shared PRIVATE busbar_api)
  set(map ${PROJECT_SOURCE_DIR}/src/busbar/api/exports.map)
  target_link_options(busbar_shared PRIVATE -Wl,--version-script=${map})
  set_target_properties(busbar_shared PROPERTIES OUTPUT_NAME busbar EXPORT_NAME c SOVERSION ${BUSBAR_ABI}
                                                 LINKER_LANGUAGE CXX LINK_DEPENDS ${map}
                                                 LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(busbar_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set(link dev)
  if(BUSBAR_PORTABLE)  # without a component dev
    set(link lib)
  endif()
  install(TARGETS busbar_shared EXPORT busbarTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lib NAMELINK_COMPONENT ${link})
  install(FILES src/busbar/api/busbar_c.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/busbar COMPONENT ${link})
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
            REGEX "/(busbar_c|test_[a-z]*|random_[a-z]*|every_schedule|fixture|fake_engine)\\.h$" EXCLUDE)
  endforeach()
  set_target_properties(busbar_library PROPERTIES OUTPUT_NAME busbar EXPORT_NAME busbar LINKER_LANGUAGE CXX)
  target_compile_features(busbar_library INTERFACE cxx_std_20)
  target_include_directories(busbar_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(busbar_library INTERFACE fmt::fmt yaml-cpp pugixml::pugixml SQLite::SQLite3 LibArchive::LibArchive)
  install(TARGETS busbar_library EXPORT busbarTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
endfunction()

# busbar/busbar.h, which includes all questions.
function(busbar_header)
  file(GLOB questions RELATIVE ${PROJECT_SOURCE_DIR}/src CONFIGURE_DEPENDS src/busbar/questions/*question.h)
  list(TRANSFORM questions REPLACE "(.+)" "#include \"\\1\"")
  list(JOIN questions "\n" BUSBAR_QUESTION_HEADERS)
  configure_file(src/busbar/api/busbar.h.in ${PROJECT_BINARY_DIR}/include/busbar/busbar.h @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/include/busbar/busbar.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/busbar COMPONENT dev)
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
  foreach(name busbar busbar_c)
    configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  endforeach()
  install(FILES ${PROJECT_BINARY_DIR}/busbar.pc ${PROJECT_BINARY_DIR}/busbar_c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

function(busbar_data)
  install(DIRECTORY catalog examples DESTINATION ${CMAKE_INSTALL_DATADIR}/busbar COMPONENT busbar)
  install(DIRECTORY data/measured DESTINATION ${CMAKE_INSTALL_DATADIR}/busbar COMPONENT busbar)
  install(FILES README.md CHANGES.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT busbar)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT busbar)
  install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT busbar FILES_MATCHING PATTERN *.md)
endfunction()

file(STRINGS src/busbar/api/busbar_c.h BUSBAR_ABI REGEX "define BUSBAR_ABI_VERSION")
string(REGEX MATCH "[0-9]+$" BUSBAR_ABI "${BUSBAR_ABI}")

if(TARGET busbar AND NOT CMAKE_CROSSCOMPILING)
  install(TARGETS busbar RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT busbar)
  busbar_pages()
  busbar_data()
  busbar_shared_library()
  if(NOT BUSBAR_PORTABLE)  # its rooms are compiled for the command alone
    busbar_library()
    busbar_header()
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
set(CPACK_COMPONENTS_ALL busbar lib dev)
if(BUSBAR_PORTABLE)
  set(CPACK_GENERATOR TGZ)
  set(CPACK_PACKAGE_FILE_NAME busbar-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
  set(CPACK_COMPONENTS_ALL busbar lib)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_BUSBAR_PACKAGE_NAME busbar)
set(CPACK_DEBIAN_BUSBAR_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_BUSBAR_DESCRIPTION "Says how fast GPUs can talk, what limits them, and what would change it:\n\
 from two cards on a PCIe bus to clusters of 100,000. Needs no GPU and no network.")
set(CPACK_DEBIAN_LIB_PACKAGE_NAME libbusbar${BUSBAR_ABI})
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIB_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_LIB_DESCRIPTION "The library behind the command busbar, for programs in C and other languages.\n\
 Catalogue and examples are inside.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libbusbar-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libbusbar${BUSBAR_ABI} (= ${PROJECT_VERSION}), g++, libfmt-dev, libyaml-cpp-dev, libpugixml-dev, libsqlite3-dev, libarchive-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "The library behind the command busbar: archive, headers, CMake package and\n\
 pkg-config file.")
include(CPack)
