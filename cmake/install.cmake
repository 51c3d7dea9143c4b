# `cmake --install`: the program, its manual page and completions, which it prints itself from its
# option tables, its default tables, and the worker for PyTorch.
if(TARGET probe-ut AND (NOT CMAKE_CROSSCOMPILING OR PROBE_EMULATE))
  set(manual ${CMAKE_BINARY_DIR}/probe-ut.1)
  add_custom_command(TARGET probe-ut POST_BUILD COMMAND probe-ut --man > ${manual} VERBATIM)
  if(NOT PROBE_DEBIAN)
    install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
  # Where each shell looks, below the share directory; Debian's zsh has a place for packages.
  set(zsh_functions zsh/site-functions)
  if(PROBE_DEBIAN)
    set(zsh_functions zsh/vendor-completions)
  endif()
  foreach(place bash:bash-completion/completions/probe-ut zsh:${zsh_functions}/_probe-ut
                fish:fish/vendor_completions.d/probe-ut.fish)
    string(REGEX MATCH "^([a-z]+):(.*)/([^/]+)$" matched ${place})
    set(shell ${CMAKE_MATCH_1})
    set(directory ${CMAKE_MATCH_2})
    set(name ${CMAKE_MATCH_3})
    set(completion ${CMAKE_BINARY_DIR}/completion.${shell})
    add_custom_command(TARGET probe-ut POST_BUILD
                       COMMAND probe-ut --completion ${shell} > ${completion} VERBATIM)
    install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/${directory} RENAME ${name})
  endforeach()
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/config/ DESTINATION ${CMAKE_INSTALL_DATADIR}/probe-ut
        FILES_MATCHING PATTERN "*.json")
foreach(worker torch_worker mindspore_worker worker_protocol)
  install(FILES ${CMAKE_SOURCE_DIR}/runner/devices/worker/${worker}.py
          DESTINATION ${CMAKE_INSTALL_DATADIR}/probe-ut)
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/runner/devices/torch_stream.py
        DESTINATION ${CMAKE_INSTALL_DATADIR}/probe-ut)
