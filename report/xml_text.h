/* Text for XML. */
#ifndef PROBE_REPORT_XML_TEXT_H
#define PROBE_REPORT_XML_TEXT_H

#include "formats/text_out.h"

/* Append text of any bytes, escaped for an attribute or for between tags. */
void xml_text_append(struct text_out *out, const char *text, size_t length);

#endif
