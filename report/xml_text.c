/* What XML 1.0 forbids (control characters, halves of surrogates) becomes U+FFFD: messages hold bytes of
 * other programs. */
#include "report/xml_text.h"

/* Bytes of the UTF-8 character at `text`; 0 when it is none, or one that XML 1.0 forbids. */
static size_t character_bytes(const unsigned char *text, size_t length)
{
    unsigned char c = text[0];
    if (c < 0x80) return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || n > length) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
    }
    if (c == 0xe0 && text[1] < 0xa0) return 0; /* overlong */
    if (c == 0xf0 && text[1] < 0x90) return 0;
    if (c == 0xf4 && text[1] > 0x8f) return 0;                     /* beyond U+10FFFF */
    if (c == 0xed && text[1] > 0x9f) return 0;                     /* surrogates */
    if (c == 0xef && text[1] == 0xbf && text[2] >= 0xbe) return 0; /* U+FFFE, U+FFFF */
    return n;
}

void xml_text_append(struct text_out *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t n = character_bytes((const unsigned char *)text + i, length - i);
        const char *replacement = NULL;
        if (!n) replacement = "\xef\xbf\xbd"; /* U+FFFD */
        else if (text[i] == '&') replacement = "&amp;";
        else if (text[i] == '<') replacement = "&lt;";
        else if (text[i] == '>') replacement = "&gt;";
        else if (text[i] == '"') replacement = "&quot;";
        if (replacement) text_out_string(out, replacement);
        else text_out_bytes(out, text + i, n);
        i += n ? n : 1;
    }
}
