# Writes OUTPUT: each file, which is text, as a string, and a table of them. A NUL ends each.
set(text "#include \"core/embedded.h\"\n\n")
set(table "")
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} bytes)
  string(REPLACE "\\" "\\\\" bytes "${bytes}")
  string(REPLACE "\"" "\\\"" bytes "${bytes}")
  string(REPLACE "\n" "\\n\"\n\"" bytes "${bytes}")
  string(REPLACE "?" "\\?" bytes "${bytes}") # two of them may begin a trigraph
  string(APPEND text "static const unsigned char file_${number}[] = \"${bytes}\";\n")
  string(APPEND table
         "    { \"${name}\", (const char *)file_${number}, sizeof file_${number} - 1 },\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND text "\nconst struct embedded_file ${PREFIX}_files[] = {\n${table}    { 0, 0, 0 }\n};\n")
file(WRITE ${OUTPUT} "${text}")
