# probe_embed(TARGET PREFIX DIRECTORY): every file of DIRECTORY as a C array. The target's
# header-less contract: `extern const struct embedded_file { const char *name; const char *text;
# unsigned long bytes; } PREFIX_files[]`, ended by a NULL name. Declared in core/embedded.h.
function(probe_embed target prefix directory)
  file(GLOB files CONFIGURE_DEPENDS ${directory}/*)
  set(source ${CMAKE_BINARY_DIR}/${prefix}_files.c)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${source} -DPREFIX=${prefix} "-DFILES=${files}"
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    VERBATIM)
  add_library(${target} STATIC ${source})
endfunction()
