# cmake -DOUTPUT=... -DPAGE=report -DWEB=... -DCHARTS=... -P page_script.cmake
#
# Puts one page together: the frame web/common/page.html with the styles and scripts of web/PAGE
# inside, so that it opens from disk: those of web/PAGE/styles.txt and web/PAGE/modules.txt, in their order. The ES modules
# become one module script; their import lines and the word `export` go, for they share one scope then.
# CHARTS is the file of Chart.js, or empty. The security policy allows just these scripts and styles, by
# their SHA-256.

# hash_source(OUT TEXT): 'sha256-...', the digest in base64 (RFC 4648), as a policy names it.
function(hash_source out text)
  string(SHA256 hex "${text}")
  string(APPEND hex "0000") # 33 bytes, a multiple of three; one of them is padding
  string(SUBSTRING "${hex}" 0 66 hex)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(base64 "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}" ${at} 6 group)
    math(EXPR value "0x${group}")
    foreach(shift 18 12 6 0)
      math(EXPR digit "(${value} >> ${shift}) & 63")
      string(SUBSTRING "${digits}" ${digit} 1 character)
      string(APPEND base64 "${character}")
    endforeach()
  endforeach()
  string(SUBSTRING "${base64}" 0 43 base64)
  set(${out} "'sha256-${base64}='" PARENT_SCOPE)
endfunction()

# A square bracket would keep CMake from splitting lists of lines; texts are never lists here.
function(read_modules out)
  file(STRINGS ${WEB}/${PAGE}/modules.txt names)
  set(script "\"use strict\";\n")
  foreach(name IN LISTS names)
    file(READ ${WEB}/${name} text)
    string(REGEX REPLACE "(^|\n)import [^\n]*from \"[^\n]*\";" "\\1" text "${text}")
    string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
    string(APPEND script "// ${name}\n${text}")
  endforeach()
  set(${out} "${script}" PARENT_SCOPE)
endfunction()

function(read_styles out)
  file(STRINGS ${WEB}/${PAGE}/styles.txt names)
  set(style "")
  foreach(name IN LISTS names)
    file(READ ${WEB}/${name} text)
    string(APPEND style "${text}")
  endforeach()
  set(${out} "${style}" PARENT_SCOPE)
endfunction()

file(READ ${WEB}/common/page.html html)
read_styles(style)
read_modules(script)
foreach(text IN ITEMS script style)
  string(REPLACE "[" "" unbracketed "${${text}}")
  if(unbracketed MATCHES "</[sS]")
    message(FATAL_ERROR "${PAGE}: the ${text} would end its own element")
  endif()
endforeach()

hash_source(script_hash "${script}")
hash_source(style_hash "${style}")
set(sources "${script_hash}")
set(charts_element "<!--no charts-->")
if(CHARTS)
  file(READ ${CHARTS} charts)
  hash_source(charts_hash "${charts}")
  string(APPEND sources " ${charts_hash}")
  set(charts_element "<script>${charts}</script>")
endif()
# A page that is served asks its server.
set(connections "")
if(PAGE STREQUAL "live")
  set(connections "connect-src 'self'; ")
endif()
set(policy "default-src 'none'; ${connections}script-src ${sources}; style-src ${style_hash}; img-src data:; base-uri 'none'; form-action 'none'")

string(REPLACE "<!--title-->" "probe-ut ${PAGE}" html "${html}")
string(REPLACE "<!--policy-->" "<meta http-equiv=\"Content-Security-Policy\" content=\"${policy}\">" html "${html}")
string(REPLACE "<!--style-->" "<style>${style}</style>" html "${html}")
string(REPLACE "<!--charts-->" "${charts_element}" html "${html}")
string(REPLACE "<!--script-->" "<script type=\"module\">${script}</script>" html "${html}")
file(WRITE ${OUTPUT} "${html}")
