/* Opening a dump: one scan that validates the whole text and notes where entries are.
 *
 * The scan walks over a mapping whose pages are given back behind it, so that a dump of any size
 * takes the memory of its index: for each call its name and 40 bytes. Dumps of a training step
 * have a few hundred to some hundred thousand calls at 0.3 to 3 KB of text each.
 */
#include "formats/dump.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/checked.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "formats/call_name.h"
#include "formats/dump_internal.h"
#include "formats/json.h"

enum {
    NAME_LIMIT = 1024,        /* of an entry: it becomes CSV cells and file names */
    DIGEST_BYTES = 128 << 10, /* digested at a time, while the text is in the cache */
    FORGET_BYTES = 4 << 20,   /* scanned pages are given back in steps of this */
};

/* A place of the table of names. Part of the hash stands beside the call, because looking at
 * the name itself costs a cache miss. */
struct slot {
    uint32_t call_plus_one; /* 0: free */
    uint32_t hash;
};

/* What the index scan needs beside the dump itself. */
struct indexing {
    struct dump *dump;
    struct json json;
    struct file_map map;
    size_t digested, forgotten;
    uint64_t lanes[4];
    const char *name; /* of the file, for messages */

    size_t call_room;
    size_t names_used, names_room;

    struct slot *table; /* of names, open addressing */
    size_t table_size;
    uint64_t key; /* random, so that nobody can prepare names that collide */

    /* Backward entries whose forward has not been seen. */
    struct waiting {
        struct json_slice name;
        struct dump_span span;
    } * waiting;
    size_t waiting_count, waiting_room;

    size_t n_modules;
    bool data_seen;
    char decoded[NAME_LIMIT + 8]; /* the entry name being looked at */
};

static struct status bad(const struct indexing *ix, const char *at, const char *problem)
{
    struct json json = ix->json;
    json.problem = NULL;
    json_fail(&json, at, problem);
    return json_status(&json, ix->name, STATUS_BAD_INPUT);
}

/* The same for the name of an entry, which is shown with it. */
static struct status bad_name(const struct indexing *ix, const struct json_slice *key,
                              const char *problem)
{
    enum { SHOWN = 100 };
    char text[256], name[SHOWN + 1];
    size_t bytes = key->bytes < SHOWN ? key->bytes : SHOWN;

    while (bytes && bytes < key->bytes && (key->text[bytes] & 0xc0) == 0x80) bytes--;
    memcpy(name, key->text, bytes);
    name[bytes] = '\0';
    (void)snprintf(text, sizeof text, "the entry '%s%s' %s", name, bytes < key->bytes ? "..." : "",
                   problem);
    return bad(ix, key->text, text);
}

/* ---- digest ----------------------------------------------------------------------------- */

/* FNV-1a over little-endian 64-bit words in four lanes (a byte at a time it would take longer
 * than the scan), with a fold that brings high bits down. */
static uint64_t digest_word(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * UINT64_C(0x100000001b3);
    return lane ^ lane >> 32;
}

static void digest_block(uint64_t lanes[4], const char *block)
{
    uint64_t words[4];
    memcpy(words, block, sizeof words);
    for (int i = 0; i < 4; i++) lanes[i] = digest_word(lanes[i], words[i]);
}

/* Digest whole blocks up to `to`, and let their pages go from time to time. */
static void pass_over(struct indexing *ix, size_t to)
{
    const char *text = ix->map.data;
    size_t at = ix->digested;

    for (; to - at >= 32; at += 32) digest_block(ix->lanes, text + at);
    ix->digested = at;
    if (at - ix->forgotten >= FORGET_BYTES) {
        file_map_forget(&ix->map, ix->forgotten, at);
        ix->forgotten = at;
    }
}

/* The rest, filled with zeros, the length, and the lanes in one. */
static uint64_t finish_digest(struct indexing *ix)
{
    char rest[32] = { 0 };
    uint64_t digest;

    pass_over(ix, ix->map.bytes);
    memcpy(rest, (const char *)ix->map.data + ix->digested, ix->map.bytes - ix->digested);
    digest_block(ix->lanes, rest);
    digest = digest_word(HASH_START, ix->map.bytes);
    for (int i = 0; i < 4; i++) digest = digest_word(digest, ix->lanes[i]);
    return digest;
}

/* ---- the table of names ----------------------------------------------------------------- */

static uint64_t hash_name(const struct indexing *ix, const char *name)
{
    uint64_t hash = ix->key;
    for (size_t left = strlen(name); left;) {
        uint64_t word = 0;
        size_t bytes = left < 8 ? left : 8;
        memcpy(&word, name, bytes);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29 ^ ix->key;
        name += bytes;
        left -= bytes;
    }
    return hash ^ hash >> 32;
}

/* The slot of a name: that of its call, or the free one where it belongs. */
static struct slot *table_slot(struct indexing *ix, const char *name, uint64_t hash)
{
    size_t mask = ix->table_size - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct slot *slot = &ix->table[i];
        if (!slot->call_plus_one) return slot;
        if (slot->hash != (uint32_t)(hash >> 32)) continue;
        const struct dump_call *call = &ix->dump->calls[slot->call_plus_one - 1];
        if (!strcmp(ix->dump->names + call->name, name)) return slot;
    }
}

/* Room for one more name at a load of at most one half. */
static struct status table_grow(struct indexing *ix)
{
    size_t count = ix->dump->count;

    if (ix->table && count + 1 <= ix->table_size / 2) return status_ok();
    size_t size = ix->table ? ix->table_size * 2 : 256;
    struct slot *table = memory_allocate_zeroed(size, sizeof *table);
    if (!table) return status_no_memory(size * sizeof *table);
    memory_release(ix->table);
    ix->table = table;
    ix->table_size = size;
    for (size_t i = 0; i < count; i++) {
        const char *name = ix->dump->names + ix->dump->calls[i].name;
        uint64_t hash = hash_name(ix, name);
        *table_slot(ix, name, hash) = (struct slot){ (uint32_t)i + 1, (uint32_t)(hash >> 32) };
    }
    return status_ok();
}

/* `array` with room for `more` elements behind `used`, moved when it must grow, by half so that
 * little lies idle. NULL, and `array` stays, when there is no memory. */
static void *make_room(void *array, size_t *room, size_t used, size_t more, size_t size)
{
    size_t bytes;

    if (used + more <= *room) return array;
    size_t wanted = *room + *room / 2;
    if (wanted < used + more) wanted = used + more;
    if (wanted < 64) wanted = 64;
    if (!size_multiply(&bytes, wanted, size)) return NULL;
    void *grown = memory_resize(array, bytes);
    if (grown) *room = wanted;
    return grown;
}

/* ---- entries ---------------------------------------------------------------------------- */

/* Names go into CSV cells. A name that a spreadsheet would take for a formula (+ - = % @ or
 * their full-width forms at the start or behind a semicolon), or that has control characters,
 * was not made by a dumper. */
static const char *name_problem(const char *name, size_t bytes)
{
    static const char *const starters[] = { "+",      "-",      "=",      "%",      "@",
                                            "\uff0b", "\uff0d", "\uff1d", "\uff05", "\uff20" };

    if (strlen(name) != bytes) return "has a NUL character in its name";
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)name[i], next = (unsigned char)name[i + 1];
        bool second = c == 0xc2 && next >= 0x80 && next < 0xa0; /* U+0080 to U+009F */
        if (c < 0x20 || c == 0x7f || second) return "has a control character in its name";
    }
    for (const char *at = name; at; at = strchr(at, ';')) {
        at += *at == ';';
        for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
            if (!strncmp(at, starters[i], strlen(starters[i])))
                return "would be a formula in a spreadsheet (+ - = % @ at its start or behind "
                       "';')";
    }
    return NULL;
}

enum direction { DIRECTION_NONE, DIRECTION_FORWARD, DIRECTION_BACKWARD };

/* The direction is the last segment, and that alone: API names may contain the words. */
static enum direction cut_direction(char *name)
{
    char *dot = strrchr(name, '.');

    if (!dot) return DIRECTION_NONE;
    enum direction direction = !strcmp(dot, ".forward")    ? DIRECTION_FORWARD
                               : !strcmp(dot, ".backward") ? DIRECTION_BACKWARD
                                                           : DIRECTION_NONE;
    if (direction) *dot = '\0';
    return direction;
}

static struct status note_waiting(struct indexing *ix, const struct json_slice *key,
                                  struct dump_span span)
{
    struct waiting *waiting =
        make_room(ix->waiting, &ix->waiting_room, ix->waiting_count, 1, sizeof *waiting);
    if (!waiting) return status_no_memory(0);
    ix->waiting = waiting;
    waiting[ix->waiting_count++] = (struct waiting){ *key, span };
    return status_ok();
}

static struct status note_forward(struct indexing *ix, const struct json_slice *key,
                                  struct dump_span span)
{
    struct dump *dump = ix->dump;
    size_t bytes = strlen(ix->decoded) + 1;

    TRY(table_grow(ix));
    uint64_t hash = hash_name(ix, ix->decoded);
    struct slot *slot = table_slot(ix, ix->decoded, hash);
    if (slot->call_plus_one) return bad_name(ix, key, "stands there twice");
    if (dump->count >= UINT32_MAX - 1) return bad_name(ix, key, "is one of more than 2^32");
    struct dump_call *calls = make_room(dump->calls, &ix->call_room, dump->count, 1, sizeof *calls);
    if (calls) dump->calls = calls;
    char *names = make_room(dump->names, &ix->names_room, ix->names_used, bytes, 1);
    if (names) dump->names = names;
    if (!calls || !names) return status_no_memory(0);
    memcpy(names + ix->names_used, ix->decoded, bytes);
    calls[dump->count] = (struct dump_call){ .name = ix->names_used, .forward = span };
    ix->names_used += bytes;
    *slot = (struct slot){ (uint32_t)++dump->count, (uint32_t)(hash >> 32) };
    return status_ok();
}

static struct status note_backward(struct indexing *ix, const struct json_slice *key,
                                   struct dump_span span, bool may_wait)
{
    TRY(table_grow(ix));
    const struct slot *slot = table_slot(ix, ix->decoded, hash_name(ix, ix->decoded));
    if (!slot->call_plus_one) return may_wait ? note_waiting(ix, key, span) : status_ok();
    struct dump_call *call = &ix->dump->calls[slot->call_plus_one - 1];
    if (call->backward.bytes) return bad_name(ix, key, "stands there twice");
    call->backward = span;
    return status_ok();
}

/* The name of an entry into ix->decoded, checked. */
static struct status decode_name(struct indexing *ix, const struct json_slice *key)
{
    if (key->bytes > NAME_LIMIT) return bad_name(ix, key, "has a name longer than 1024 bytes");
    size_t bytes = json_slice_decode_into(ix->decoded, key);
    ix->decoded[bytes] = '\0';
    const char *problem = name_problem(ix->decoded, bytes);
    return problem ? bad_name(ix, key, problem) : status_ok();
}

/* One entry of `data`. Entries of modules (L0 and mix dumps) are not API calls. */
static struct status index_entry(struct indexing *ix, const struct json_slice *key)
{
    enum json_kind kind;

    TRY(decode_name(ix, key));
    if (json_peek(&ix->json, &kind) && kind != JSON_OBJECT)
        json_fail_expected(&ix->json, ix->json.at, "an object (the entry's arguments)");
    const char *start = ix->json.at;
    if (!json_skip(&ix->json)) return json_status(&ix->json, ix->name, STATUS_BAD_INPUT);
    struct dump_span span = { (uint64_t)(start - ix->json.start), (uint64_t)(ix->json.at - start) };

    if (strstr(ix->decoded, "Module") || !strncmp(ix->decoded, "Cell.", 5)) {
        ix->n_modules++;
        return status_ok();
    }
    switch (cut_direction(ix->decoded)) {
    case DIRECTION_FORWARD: return note_forward(ix, key, span);
    case DIRECTION_BACKWARD: return note_backward(ix, key, span, true);
    default: return bad_name(ix, key, "ends with neither '.forward' nor '.backward'");
    }
}

static struct status index_data(struct indexing *ix)
{
    struct json_slice key;

    ix->data_seen = true;
    if (json_enter_object(&ix->json)) {
        while (json_object_next(&ix->json, &key)) {
            TRY(index_entry(ix, &key));
            size_t at = (size_t)(ix->json.at - ix->json.start);
            if (at - ix->digested >= DIGEST_BYTES) pass_over(ix, at);
        }
    }
    return json_status(&ix->json, ix->name, STATUS_BAD_INPUT);
}

/* ---- the top level ---------------------------------------------------------------------- */

/* A string of the header, or NULL for null and other kinds. */
static struct status read_text(struct indexing *ix, const char **out)
{
    enum json_kind kind;
    struct json_slice slice;

    *out = NULL;
    if (json_peek(&ix->json, &kind) && kind == JSON_STRING && json_string(&ix->json, &slice)) {
        *out = json_slice_decode(&ix->dump->texts, &slice, NULL);
        return *out ? status_ok() : status_no_memory(slice.bytes);
    }
    json_skip(&ix->json);
    return json_status(&ix->json, ix->name, STATUS_BAD_INPUT);
}

static struct status index_top(struct indexing *ix, const char **data_directory)
{
    struct dump_header *header = &ix->dump->header;
    struct {
        const char *name;
        const char *text;
        bool seen;
    } texts[] = { { .name = "task" },
                  { .name = "level" },
                  { .name = "framework" },
                  { .name = "gradients" },
                  { .name = "dump_data_dir" } };
    enum { TASK, LEVEL, FRAMEWORK, GRADIENTS, DATA_DIR, TEXTS };
    struct json_slice key;

    if (json_enter_object(&ix->json)) {
        while (json_object_next(&ix->json, &key)) {
            int which = 0;
            while (which < TEXTS && !json_slice_is(&key, texts[which].name)) which++;
            bool is_data = json_slice_is(&key, "data");
            if ((which < TEXTS && texts[which].seen) || (is_data && ix->data_seen))
                return bad(ix, key.text, "a duplicate key");
            if (which < TEXTS) {
                texts[which].seen = true;
                TRY(read_text(ix, &texts[which].text));
            } else if (is_data) {
                TRY(index_data(ix));
            } else {
                json_skip(&ix->json);
            }
        }
    }
    json_finish(&ix->json);
    TRY(json_status(&ix->json, ix->name, STATUS_BAD_INPUT));
    header->task = texts[TASK].text;
    header->level = texts[LEVEL].text;
    header->framework = texts[FRAMEWORK].text;
    header->gradients_of_arguments = texts[GRADIENTS].text &&
                                     !strcmp(texts[GRADIENTS].text, "arguments");
    header->has_data_dir = texts[DATA_DIR].text && texts[DATA_DIR].text[0];
    *data_directory = texts[DATA_DIR].text;
    return status_ok();
}

/* Give the backward entries that came before their forward to it. Those of no forward entry
 * belong to nothing. */
static struct status settle_waiting(struct indexing *ix)
{
    for (size_t i = 0; i < ix->waiting_count; i++) {
        TRY(decode_name(ix, &ix->waiting[i].name));
        (void)cut_direction(ix->decoded);
        TRY(note_backward(ix, &ix->waiting[i].name, ix->waiting[i].span, false));
    }
    return status_ok();
}

static struct status nothing_to_check(const struct indexing *ix)
{
    const char *what = !ix->data_seen      ? "has no \"data\""
                       : ix->n_modules     ? "has entries of modules only (level L0)"
                       : ix->waiting_count ? "has backward entries only"
                                           : "has no entries";
    return status_error(STATUS_BAD_INPUT, "%s %s; a dump recorded with level L1 or mix is needed",
                        ix->name, what);
}

static struct status index_build(struct indexing *ix, const char **data_directory)
{
    if (getrandom(&ix->key, sizeof ix->key, GRND_NONBLOCK) != sizeof ix->key)
        ix->key = (uintptr_t)ix->map.data;
    ix->key |= 1;
    for (int i = 0; i < 4; i++) ix->lanes[i] = HASH_START + (uint64_t)i;
    json_open(&ix->json, ix->map.data, ix->map.bytes);
    if (ix->map.bytes >= 3 && !memcmp(ix->map.data, "\xef\xbb\xbf", 3)) ix->json.at += 3;
    TRY(index_top(ix, data_directory));
    TRY(settle_waiting(ix));
    ix->dump->digest = finish_digest(ix);
    if (!ix->dump->count) return nothing_to_check(ix);
    return status_ok();
}

/* ---- the interface ---------------------------------------------------------------------- */

struct status dump_open(struct dump **out, const char *path, struct file_policy policy)
{
    const char *data_directory = NULL;
    struct indexing ix = { 0 };
    struct file_shown_name shown = file_shown(path);
    struct status status;

    struct dump *dump = memory_allocate_zeroed(1, sizeof *dump);
    if (!dump) return status_no_memory(sizeof *dump);
    dump->file = dump->data_directory = FILE_NONE;
    dump->file_policy = policy;
    ix.dump = dump;
    ix.name = shown.text;
    status = dump_mappings_create(&dump->mappings);
    if (!status.code) status = file_open_read(&dump->file, path, policy);
    /* While it is indexed only: who records has not to wait for a run. */
    if (!status.code) status = file_lock_shared(&dump->file);
    if (!status.code) status = file_map(&ix.map, &dump->file);
    if (!status.code) status = index_build(&ix, &data_directory);
    if (!status.code) file_unlock(&dump->file);
    dump->bytes = ix.map.bytes;
    file_unmap(&ix.map);
    memory_release(ix.table);
    memory_release(ix.waiting);
    if (!status.code) {
        dump_find_data(dump, path, data_directory);
        if (dump->data_status.code == STATUS_NO_MEMORY) status = dump->data_status;
    }
    if (status.code) dump_close(dump);
    else *out = dump;
    return status;
}

void dump_close(struct dump *dump)
{
    if (!dump) return;
    dump_mappings_release(dump->mappings);
    (void)file_close(&dump->file);
    (void)file_close(&dump->data_directory);
    arena_release(&dump->texts);
    memory_release(dump->calls);
    memory_release(dump->names);
    memory_release(dump);
}

const struct dump_header *dump_header(const struct dump *dump) { return &dump->header; }

size_t dump_count(const struct dump *dump) { return dump->count; }

const char *dump_name(const struct dump *dump, size_t i)
{
    assert(i < dump->count);
    return dump->names + dump->calls[i].name;
}

bool dump_has_backward(const struct dump *dump, size_t i)
{
    assert(i < dump->count);
    return dump->calls[i].backward.bytes != 0;
}

size_t dump_case_bytes(const struct dump *dump, size_t i)
{
    assert(i < dump->count);
    return (size_t)(dump->calls[i].forward.bytes + dump->calls[i].backward.bytes);
}

uint64_t dump_digest(const struct dump *dump) { return dump->digest; }

/* Longest text of an entry that is read into memory, where it may double: a list of a million
 * integers has 25 MB. Whole cases are admitted by the size of their tensors, not of their text. */
#define ENTRY_BYTES ((uint64_t)32 << 20)

/* Read the text of one entry and parse it. */
static struct status read_entry(struct api_case *out, struct arena *arena, const struct dump *dump,
                                struct dump_span span, bool backward)
{
    size_t got;

    if (span.bytes > ENTRY_BYTES)
        return status_error(STATUS_SKIP, "%s: its %s entry takes %s of the dump; the most is %s",
                            file_shown(out->full_name).text, backward ? "backward" : "forward",
                            quantity_bytes(span.bytes).text, quantity_bytes(ENTRY_BYTES).text);
    char *text = arena_allocate(arena, (size_t)span.bytes);
    if (!text) return status_no_memory(span.bytes);
    TRY(file_read_at(&got, &dump->file, text, (size_t)span.bytes, span.offset));
    if (got < span.bytes)
        return status_error(STATUS_SKIP, "%s: the dump became shorter while it was being read",
                            file_shown(out->full_name).text);
    return dump_parse_entry(out, arena, text, span, backward);
}

struct status dump_read_name(struct api_case *out, struct arena *arena, const struct dump *dump,
                             size_t i)
{
    assert(i < dump->count);
    const struct dump_call *call = &dump->calls[i];

    *out = (struct api_case){
        .full_name = dump_name(dump, i),
        .type = "",
        .api = "",
        .position = i,
        .args = { .kind = VALUE_LIST },
        .kwargs = { .kind = VALUE_DICT },
        .outputs = { .kind = VALUE_LIST },
        .has_backward = call->backward.bytes != 0,
        .cotangents = { .kind = VALUE_LIST },
        .gradients = { .kind = VALUE_LIST },
        .gradients_of_arguments = dump->header.gradients_of_arguments,
    };
    return call_name_split(out, arena);
}

struct status dump_read_case(struct api_case *out, struct arena *arena, const struct dump *dump,
                             size_t i)
{
    TRY(dump_read_name(out, arena, dump, i));
    out->source = dump;
    const struct dump_call *call = &dump->calls[i];
    TRY(read_entry(out, arena, dump, call->forward, false));
    if (!out->has_backward) return status_ok();
    return read_entry(out, arena, dump, call->backward, true);
}
