# Embeds every YAML file below a folder in the binary as a string.
#   busbar_embed(busbar_spec ${PROJECT_SOURCE_DIR}/catalog)
# The generated source defines busbar::embedded_catalog() of src/busbar/spec/catalog.h; a changed, new or removed
# file rebuilds it.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(BUSBAR_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

  function(busbar_embed target root)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${root} ${root}/*.yaml)
    list(SORT files)
    list(TRANSFORM files PREPEND ${root}/ OUTPUT_VARIABLE paths)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_catalog.cc)
    list(JOIN files "|" names)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DROOT=${root} "-DNAMES=${names}" -DOUTPUT=${output} -P ${BUSBAR_EMBED_SCRIPT}
      DEPENDS ${paths} ${BUSBAR_EMBED_SCRIPT}
      COMMENT "Embedding the catalogue" VERBATIM)
    target_sources(${target} PRIVATE ${output})
  endfunction()
  return()
endif()

string(REPLACE "|" ";" names "${NAMES}")
file(WRITE ${OUTPUT}.new "// Generated from catalog/ by cmake/embed.cmake.\n#include \"busbar/spec/catalog.h\"\n"
     "namespace busbar {\nnamespace {\nconstexpr EmbeddedFile kFiles[] = {\n")
foreach(name ${names})
  file(READ ${ROOT}/${name} text)
  string(REGEX REPLACE "\\.yaml$" "" entry ${name})
  file(APPEND ${OUTPUT}.new "    {\"${entry}\", R\"=catalog=(${text})=catalog=\"},\n")
endforeach()
file(APPEND ${OUTPUT}.new "    {\"\", \"\"},  // ends the table\n};\n}  // namespace\n"
     "std::span<const EmbeddedFile> embedded_catalog() { return {kFiles, std::size(kFiles) - 1}; }\n"
     "}  // namespace busbar\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
