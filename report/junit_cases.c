/* The evidence is read first, for the few rows that fail; then the rows come in order, each with what was
 * found of it. */
#include "report/junit_cases.h"

#include <string.h>

#include "core/growing.h"
#include "core/memory.h"
#include "report/xml_text.h"
#include "results/details_file.h"
#include "results/evidence.h"
#include "results/verdict_file.h"

/* What the evidence says of one row. */
struct story {
    char *sentence;
    struct csv_buffer more; /* XML text: where it was called from, how to see it again */
};

struct reading {
    struct junit_cases *cases;
    struct text_table names; /* of rows with a story */
    struct story *stories;
    size_t capacity;
};

/* ---- evidence --------------------------------------------------------------------------- */

static void append_line(struct text_out *out, const char *before, struct csv_text text)
{
    if (!text.length) return;
    text_out_string(out, before);
    xml_text_append(out, text.bytes, text.length);
    text_out_string(out, "\n");
}

static struct status add_story(struct reading *r, struct csv_text row,
                               const struct evidence_story *told)
{
    uint32_t number;
    if (!told->sentence.length) return status_ok();
    TRY(text_table_add(&number, NULL, &r->names, row.bytes, row.length));
    TRY(array_make_zeroed_room(&r->stories, &r->capacity, number, sizeof *r->stories));
    struct story *story = &r->stories[number];
    if (story->sentence) return status_ok();
    story->sentence = memory_copy_bytes(told->sentence.bytes, told->sentence.length);
    if (!story->sentence) return status_no_memory(told->sentence.length);
    struct text_out more = { .text = story->more };
    append_line(&more, "  called from ", told->source);
    append_line(&more, "  again: ", told->repeat);
    story->more = more.text;
    return more.status;
}

static struct status read_lines(struct reading *r, struct evidence_reader *reader)
{
    struct evidence_line line;
    struct evidence_story story;
    for (bool whole = true;;) {
        TRY(evidence_next(reader, &whole, &line));
        if (!whole) return status_ok();
        evidence_tell(&story, reader);
        TRY(add_story(r, line.name, &story));
    }
}

static struct status read_evidence(struct reading *r, const char *path)
{
    struct file file;
    if (!path || !file_exists(path)) return status_ok();
    TRY(file_open_read(&file, path, FILES_TRUSTED));
    struct evidence_reader *reader = memory_allocate_zeroed(1, sizeof *reader);
    struct status status = reader ? status_ok() : status_no_memory(sizeof *reader);
    if (reader) {
        reader->file = &file;
        status = read_lines(r, reader);
    }
    memory_release(reader);
    (void)file_close(&file); /* nothing was written */
    return status;
}

/* ---- rows ------------------------------------------------------------------------------- */

static int rank_of(enum verdict verdict)
{
    static const int ranks[] = { [VERDICT_BLANK] = 0,
                                 [VERDICT_SKIP] = 1,
                                 [VERDICT_PASS] = 2,
                                 [VERDICT_WARNING] = 3,
                                 [VERDICT_ERROR] = 4 };
    return ranks[verdict];
}

/* "Torch.add.0.forward.output.1" belongs to "Torch.add.0.forward". */
static struct status find_case(struct junit_case **out, struct junit_cases *cases,
                               const struct verdict_row *row)
{
    struct row_name name;
    struct csv_text key = row->name;
    uint32_t number;
    bool split = row_name_split(&name, row->name);
    if (split)
        key.length = name.full_name.length + strlen(name.backward ? ".backward" : ".forward");
    TRY(text_table_add(&number, NULL, &cases->names, key.bytes, key.length));
    TRY(array_make_zeroed_room(&cases->items, &cases->capacity, number, sizeof *cases->items));
    *out = &cases->items[number];
    (*out)->call_length = split ? name.full_name.length : 0;
    (*out)->backward = split && name.backward;
    return status_ok();
}

/* The first line of a message that is not blank, or the verdict. */
static struct csv_text first_line(struct csv_text message, enum verdict verdict)
{
    while (message.length && strchr(" \r\n", *message.bytes)) message.bytes++, message.length--;
    size_t length = 0;
    while (length < message.length && message.bytes[length] != '\n') length++;
    message.length = length;
    if (length) return message;
    return (struct csv_text){ verdict_name(verdict), strlen(verdict_name(verdict)) };
}

static const struct story *story_of(const struct reading *r, struct csv_text name)
{
    uint32_t number = text_table_find(&r->names, name.bytes, name.length);
    return number == TEXT_NONE ? NULL : &r->stories[number];
}

static struct status keep_sentence(struct junit_case *c, const struct verdict_row *row,
                                   const struct story *story)
{
    struct csv_text line = first_line(row->message, row->verdict);
    char *sentence = story ? memory_copy_string(story->sentence)
                           : memory_copy_bytes(line.bytes, line.length);
    if (!sentence) return status_no_memory(line.length);
    memory_release(c->sentence);
    c->sentence = sentence;
    text_tidy(sentence);
    return status_ok();
}

static struct status add_notes(struct junit_case *c, const struct verdict_row *row,
                               const struct story *story)
{
    struct csv_text message = row->message;
    while (message.length && strchr(" \r\n", message.bytes[message.length - 1])) message.length--;
    struct text_out notes = { .text = c->notes };
    xml_text_append(&notes, row->name.bytes, row->name.length);
    text_out_string(&notes, ": ");
    text_out_string(&notes, verdict_name(row->verdict));
    text_out_string(&notes, "\n");
    if (story)
        append_line(&notes, "  ", (struct csv_text){ story->sentence, strlen(story->sentence) });
    if (story) text_out_bytes(&notes, story->more.data, story->more.length);
    append_line(&notes, "", message);
    c->notes = notes.text;
    return notes.status;
}

static struct status collect_row(void *context, const struct verdict_row *row)
{
    struct reading *r = context;
    struct junit_case *c = NULL;
    TRY(find_case(&c, r->cases, row));
    bool worse = rank_of(row->verdict) > rank_of(c->verdict);
    if (worse) c->verdict = row->verdict;
    if (row->verdict == VERDICT_PASS || row->verdict == VERDICT_BLANK) return status_ok();
    const struct story *story = story_of(r, row->name);
    if (worse) TRY(keep_sentence(c, row, story));
    return add_notes(c, row, story);
}

/* ---- all of it -------------------------------------------------------------------------- */

static void release_reading(struct reading *r)
{
    for (size_t i = 0; i < r->capacity; i++) {
        memory_release(r->stories[i].sentence);
        csv_buffer_release(&r->stories[i].more);
    }
    memory_release(r->stories);
    text_table_release(&r->names);
}

struct status junit_cases_read(struct junit_cases *out, const char *details_path,
                               const char *evidence_path)
{
    struct reading r = { .cases = out };
    *out = (struct junit_cases){ .items = NULL };
    TRY(text_table_create(&out->names));
    TRY(text_table_create(&r.names));
    struct status status = read_evidence(&r, evidence_path);
    if (!status.code) status = verdict_file_read(details_path, FILES_TRUSTED, collect_row, &r);
    release_reading(&r);
    return status;
}

void junit_cases_release(struct junit_cases *cases)
{
    for (size_t i = 0; i < cases->capacity; i++) {
        memory_release(cases->items[i].sentence);
        csv_buffer_release(&cases->items[i].notes);
    }
    memory_release(cases->items);
    if (cases->names.slots) text_table_release(&cases->names);
    *cases = (struct junit_cases){ .items = NULL };
}
