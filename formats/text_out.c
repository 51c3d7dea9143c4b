/* Texts put together piece by piece: XML reports, shell commands. */
#include "formats/text_out.h"

#include <string.h>

void text_out_bytes(struct text_out *out, const char *bytes, size_t length)
{
    if (out->status.code) return;
    struct status status = csv_append_bytes(&out->text, bytes, length);
    if (status.code) out->status = status;
}

void text_out_string(struct text_out *out, const char *string)
{
    text_out_bytes(out, string, strlen(string));
}

void text_out_shell_word(struct text_out *out, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*word && strspn(word, plain) == strlen(word)) {
        text_out_string(out, word);
        return;
    }
    text_out_string(out, "'");
    for (; *word; word++)
        if (*word == '\'') text_out_string(out, "'\\''");
        else text_out_bytes(out, word, 1);
    text_out_string(out, "'");
}
