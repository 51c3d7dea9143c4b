# `cmake --install`: the program, its default tables, manual page and bash completion. The last
# two are printed by the program itself, from its option tables.
if(TARGET probe-ut)
  set(manual ${CMAKE_BINARY_DIR}/probe-ut.1)
  set(completion ${CMAKE_BINARY_DIR}/probe-ut.bash)
  add_custom_command(
    OUTPUT ${manual} ${completion}
    COMMAND $<TARGET_FILE:probe-ut> --man > ${manual}
    COMMAND $<TARGET_FILE:probe-ut> --completion bash > ${completion}
    DEPENDS probe-ut
    VERBATIM)
  add_custom_target(probe-manual ALL DEPENDS ${manual} ${completion})
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${completion}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME probe-ut)
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/config/ DESTINATION ${CMAKE_INSTALL_DATADIR}/probe-ut
        FILES_MATCHING PATTERN "*.json")
if(EXISTS ${CMAKE_SOURCE_DIR}/runner/devices/worker/torch_worker.py)
  install(PROGRAMS ${CMAKE_SOURCE_DIR}/runner/devices/worker/torch_worker.py
          DESTINATION ${CMAKE_INSTALL_DATADIR}/probe-ut)
endif()
