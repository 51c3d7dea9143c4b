# probe_pages(TARGET PREFIX PAGE...): the pages of web/, each one HTML file, compiled in as embed.cmake does.
# Charts are drawn by Chart.js as Debian packages it; pages made without it say so.
find_file(CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH)
if(NOT CHART_JS)
  message(STATUS "Chart.js (libjs-chart.js) not found: pages will have no charts")
endif()

function(probe_pages target prefix)
  set(pages "")
  foreach(page IN LISTS ARGN)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/common/* ${CMAKE_SOURCE_DIR}/web/${page}/*)
    set(output ${CMAKE_BINARY_DIR}/web/${page}.html)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DPAGE=${page} -DWEB=${CMAKE_SOURCE_DIR}/web
              -DCHARTS=$<IF:$<BOOL:${CHART_JS}>,${CHART_JS},> -P ${CMAKE_SOURCE_DIR}/cmake/page_script.cmake
      DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/cmake/page_script.cmake
      VERBATIM)
    list(APPEND pages ${output})
  endforeach()
  probe_embed_files(${target} ${prefix} ${pages})
endfunction()
