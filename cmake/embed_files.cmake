# Writes OUTPUT: the bytes of each file as a string, which compiles in a tenth of the time of a list of numbers, and a table of
# them. A NUL ends each text.
set(text "#include \"core/embedded.h\"\n\n")
set(table "")
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
  string(APPEND text "static const unsigned char file_${number}[] = \"${bytes}\";\n")
  string(APPEND table
         "    { \"${name}\", (const char *)file_${number}, sizeof file_${number} - 1 },\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND text "\nconst struct embedded_file ${PREFIX}_files[] = {\n${table}    { 0, 0, 0 }\n};\n")
file(WRITE ${OUTPUT} "${text}")
