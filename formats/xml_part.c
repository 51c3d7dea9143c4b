/* From inflated pieces to expat, and from its events to the elements of the table. */
#include "formats/xml_part.h"

#include <string.h>

#include <expat.h>

#include "core/file.h"
#include "core/memory.h"

enum { PIECE_BYTES = 64 << 10 };

struct xml_part {
    const struct zip *zip;
    const struct zip_entry *entry;
    struct zip_stream stream;
    XML_Parser parser;
    const struct xml_reader *reader;
    void *context;
    unsigned codes[XML_MAX_DEPTH]; /* of the open elements; 0: passed over */
    size_t depth;
    uint64_t fed; /* bytes given to the parser */
    bool suspended;
    struct status status; /* what a function of the reader had to say */
};

static struct status wrong_here(struct xml_part *part, const char *problem)
{
    return status_error(STATUS_BAD_INPUT, "cannot read '%s': %.*s, line %lu, column %lu: %s",
                        file_shown(part->zip->name).text, (int)part->entry->name_bytes,
                        part->entry->name, XML_GetCurrentLineNumber(part->parser),
                        XML_GetCurrentColumnNumber(part->parser) + 1, problem);
}

void xml_part_fail(struct xml_part *part, struct status status)
{
    if (!status.code || part->status.code) return;
    part->status = status;
    (void)XML_StopParser(part->parser, XML_FALSE);
}

void xml_part_refuse(struct xml_part *part, const char *problem)
{
    xml_part_fail(part, wrong_here(part, problem));
}

void xml_part_suspend(struct xml_part *part)
{
    if (part->status.code) return;
    part->suspended = true;
    (void)XML_StopParser(part->parser, XML_TRUE);
}

static const char *without_prefix(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? colon + 1 : name;
}

const char *xml_attribute(const char **attributes, const char *name)
{
    for (; *attributes; attributes += 2)
        if (!strcmp(without_prefix(attributes[0]), name)) return attributes[1];
    return NULL;
}

static unsigned code_of(const struct xml_part *part, const char *name)
{
    unsigned parent = part->depth ? part->codes[part->depth - 1] : 0;
    if (part->depth && !parent) return 0;
    for (const struct xml_element *element = part->reader->elements; element->name; element++)
        if ((element->parents & 1u << parent) && !strcmp(element->name, name)) return element->code;
    return 0;
}

static void on_start(void *context, const char *name, const char **attributes)
{
    struct xml_part *part = context;
    if (part->status.code) return;
    unsigned code = code_of(part, without_prefix(name));
    if (part->depth == XML_MAX_DEPTH) {
        xml_part_refuse(part, "too many elements inside of each other");
        return;
    }
    if (!part->depth && !code) {
        xml_part_refuse(part, "this is another kind of part than its place says");
        return;
    }
    part->codes[part->depth++] = code;
    if (code && part->reader->start) part->reader->start(part->context, part, code, attributes);
}

static void on_end(void *context, const char *name)
{
    struct xml_part *part = context;
    (void)name;
    if (part->status.code) return;
    unsigned code = part->codes[--part->depth];
    if (code && part->reader->end) part->reader->end(part->context, part, code);
}

static void on_text(void *context, const char *text, int length)
{
    struct xml_part *part = context;
    unsigned code = part->depth ? part->codes[part->depth - 1] : 0;
    if (part->status.code || !code || !part->reader->text) return;
    part->reader->text(part->context, part, code, text, (size_t)length);
}

static void on_document_type(void *context, const char *name, const char *system,
                             const char *public, int has_internal_subset)
{
    (void)name, (void)system, (void)public, (void)has_internal_subset;
    xml_part_refuse(context, "document types are not accepted");
}

struct status xml_part_open(struct xml_part **out, const struct zip *zip,
                            const struct zip_entry *entry, const struct xml_reader *reader,
                            void *context)
{
    static const XML_Memory_Handling_Suite memory = { memory_allocate, memory_resize,
                                                      memory_release };
    struct xml_part *part = memory_allocate_zeroed(1, sizeof *part);
    if (!part) return status_no_memory(sizeof *part);
    *part = (struct xml_part){ .zip = zip, .entry = entry, .reader = reader, .context = context };
    part->parser = XML_ParserCreate_MM(NULL, &memory, NULL);
    struct status status = part->parser ? zip_stream_open(&part->stream, zip, entry)
                                        : status_no_memory(0);
    if (status.code) {
        xml_part_close(part);
        return status;
    }
    XML_SetUserData(part->parser, part);
    XML_SetElementHandler(part->parser, on_start, on_end);
    XML_SetCharacterDataHandler(part->parser, on_text);
    XML_SetStartDoctypeDeclHandler(part->parser, on_document_type);
    *out = part;
    return status_ok();
}

/* Give the parser the next piece. */
static struct status feed(enum XML_Status *result, struct xml_part *part)
{
    size_t got;
    void *room = XML_GetBuffer(part->parser, PIECE_BYTES);
    if (!room) return status_no_memory(PIECE_BYTES);
    TRY(zip_stream_read(&got, &part->stream, room, PIECE_BYTES));
    part->fed += got;
    if (part->fed > XML_MAX_BYTES) return wrong_here(part, "the part is larger than 4 GiB");
    /* The parser reads markup that is not complete again with each piece, from its start. */
    XML_Index at = XML_GetCurrentByteIndex(part->parser);
    if (at >= 0 && part->fed - (uint64_t)at > XML_MAX_MARKUP + 2 * PIECE_BYTES)
        return wrong_here(part, "a tag or comment of more than 1 MiB");
    *result = XML_ParseBuffer(part->parser, (int)got, got == 0);
    return status_ok();
}

/* Why the parser stopped. */
static struct status parser_fault(struct xml_part *part)
{
    enum XML_Error error = XML_GetErrorCode(part->parser);
    if (!part->status.code)
        part->status = error == XML_ERROR_NO_MEMORY ? status_no_memory(0)
                                                    : wrong_here(part, XML_ErrorString(error));
    return part->status;
}

struct status xml_part_continue(struct xml_part *part, bool *more)
{
    XML_ParsingStatus state;
    enum XML_Status result = XML_STATUS_ERROR; /* until the parser has answered */

    *more = false;
    for (;;) {
        XML_GetParsingStatus(part->parser, &state);
        if (state.parsing == XML_FINISHED) return part->status;
        part->suspended = false;
        if (state.parsing == XML_SUSPENDED) result = XML_ResumeParser(part->parser);
        else TRY(feed(&result, part));
        if (result == XML_STATUS_ERROR) return parser_fault(part);
        if (part->suspended) {
            *more = true;
            return status_ok();
        }
    }
}

void xml_part_close(struct xml_part *part)
{
    if (!part) return;
    if (part->parser) XML_ParserFree(part->parser);
    zip_stream_close(&part->stream);
    memory_release(part);
}
