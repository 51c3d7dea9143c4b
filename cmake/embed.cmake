# probe_embed(TARGET PREFIX DIRECTORY): every file of DIRECTORY as a C array. The target's
# header-less contract: `extern const struct embedded_file { const char *name; const char *text;
# unsigned long bytes; } PREFIX_files[]`, ended by a NULL name. Declared in core/embedded.h.
function(probe_embed target prefix directory)
  file(GLOB files CONFIGURE_DEPENDS ${directory}/*)
  probe_embed_files(${target} ${prefix} ${files})
endfunction()

# The same for a list of files, which may be made by the build.
function(probe_embed_files target prefix)
  set(source ${CMAKE_BINARY_DIR}/${prefix}_files.c)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${source} -DPREFIX=${prefix} "-DFILES=${ARGN}"
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    VERBATIM)
  add_library(${target} STATIC ${source})
endfunction()
