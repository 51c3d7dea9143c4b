/* A frame reads "File models.py, line 72, in forward, \n pos = torch.arange(...)". Whose it is, its path
 * says: what is installed lies below site-packages (Debian: dist-packages), Python's own
 * modules beside that folder. */
#include "formats/source_line.h"

#include <stdio.h>
#include <string.h>

#include "formats/csv.h"

enum { FRAME_BYTES = 4096, ENTRY_BYTES = 4096 };

enum owner { OWNER_RECORDER, OWNER_FRAMEWORK, OWNER_USER };

/* Does the path have these components in a row? */
static bool has_components(const char *path, size_t length, const char *components)
{
    size_t n = strlen(components);
    for (size_t i = 0; i + n < length; i++) {
        bool begins = i == 0 || path[i - 1] == '/';
        if (begins && path[i + n] == '/' && !memcmp(path + i, components, n)) return true;
    }
    return false;
}

/* Is it one of Python's own modules: /usr/lib/python3.11/contextlib.py? */
static bool is_standard_library(const char *path, size_t length)
{
    static const char marker[] = "/lib/python3";
    size_t n = sizeof marker - 1;
    for (size_t i = 0; i + n < length; i++)
        if (!memcmp(path + i, marker, n))
            return !has_components(path, length, "site-packages") &&
                   !has_components(path, length, "dist-packages");
    return false;
}

static enum owner owner_of(const char *path, size_t length)
{
    static const char *const frameworks[] = {
        "site-packages/torch",     "dist-packages/torch",        "site-packages/torch_npu",
        "dist-packages/torch_npu", "site-packages/mindspore",    "dist-packages/mindspore",
        "site-packages/mindtorch", "dist-packages/mindtorch",    "site-packages/msadapter",
        "dist-packages/msadapter", "site-packages/ptdbg_ascend", "dist-packages/ptdbg_ascend",
    };
    if (has_components(path, length, "msprobe")) return OWNER_RECORDER;
    for (size_t i = 0; i < sizeof frameworks / sizeof *frameworks; i++)
        if (has_components(path, length, frameworks[i])) return OWNER_FRAMEWORK;
    return is_standard_library(path, length) ? OWNER_FRAMEWORK : OWNER_USER;
}

/* The parts of a frame; all of it is `path` when it is not of the form above. */
struct frame {
    struct csv_text path, line, function, code;
};

static const char *find(const char *at, const char *end, const char *what)
{
    size_t n = strlen(what);
    for (; at + n <= end; at++)
        if (!memcmp(at, what, n)) return at;
    return NULL;
}

static struct csv_text between(const char *from, const char *to)
{
    return (struct csv_text){ from, (size_t)(to - from) };
}

static struct frame take_apart(const char *text, size_t length)
{
    static const char head[] = "File ", line[] = ", line ", in[] = ", in ", rest[] = ", \n ";
    const char *end = text + length;
    struct frame frame = { .path = { text, length } };
    if (length < sizeof head - 1 || memcmp(text, head, sizeof head - 1) != 0) return frame;
    const char *path = text + sizeof head - 1, *at = find(path, end, line);
    const char *number = at ? at + sizeof line - 1 : NULL;
    const char *function = number ? find(number, end, in) : NULL;
    if (!function) return frame;
    frame.path = between(path, at);
    frame.line = between(number, function);
    function += sizeof in - 1;
    const char *code = find(function, end, rest);
    frame.function = between(function, code ? code : end);
    if (code) frame.code = between(code + sizeof rest - 1, end);
    return frame;
}

static void print_frame(char out[SOURCE_LINE_BYTES], const struct frame *frame)
{
    int used = snprintf(out, SOURCE_LINE_BYTES, "%.*s", (int)frame->path.length, frame->path.bytes);
    if (frame->line.length && used < SOURCE_LINE_BYTES)
        used += snprintf(out + used, SOURCE_LINE_BYTES - (size_t)used, ":%.*s in %.*s",
                         (int)frame->line.length, frame->line.bytes, (int)frame->function.length,
                         frame->function.bytes);
    if (frame->code.length && used < SOURCE_LINE_BYTES)
        (void)snprintf(out + used, SOURCE_LINE_BYTES - (size_t)used, ": %.*s",
                       (int)frame->code.length, frame->code.bytes);
    text_tidy(out);
}

/* The frames of an entry, innermost first. */
static bool find_frames(struct json *frames, const struct stacks *stacks, const char *call)
{
    static const char *const directions[] = { ".forward", "", ".backward" };
    char entry[ENTRY_BYTES];
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        int length = snprintf(entry, sizeof entry, "%s%s", call, directions[i]);
        if (length < (int)sizeof entry && stacks_find(frames, stacks, entry, (size_t)length))
            return true;
    }
    return false;
}

bool source_line_of_call(char out[SOURCE_LINE_BYTES], const struct stacks *stacks, const char *call)
{
    char text[FRAME_BYTES];
    struct json frames;
    struct json_slice slice;
    out[0] = '\0';
    if (!find_frames(&frames, stacks, call)) return false;
    for (json_enter_array(&frames); json_array_next(&frames);) {
        if (!json_string(&frames, &slice)) break;
        if (slice.bytes >= sizeof text) continue;
        struct frame frame = take_apart(text, json_slice_decode_into(text, &slice));
        enum owner owner = owner_of(frame.path.bytes, frame.path.length);
        if (owner == OWNER_RECORDER || (owner == OWNER_FRAMEWORK && out[0])) continue;
        print_frame(out, &frame);
        if (owner == OWNER_USER) break;
    }
    return out[0] != '\0';
}
