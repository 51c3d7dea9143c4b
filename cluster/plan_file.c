/* Written by hand, a line per dump and shard; read with the streaming parser into arrays that double. The
 * id is the digest of everything behind the first line, so that a plan which somebody edited is no plan. */
#include "cluster/plan_file.h"

#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/timestamp.h"
#include "core/whole_file.h"
#include "formats/json.h"
#include "pages/json_out.h"

enum { DIGEST_DIGITS = 16, PATH_MOST = 4000 };

/* ---- writing ---------------------------------------------------------------------------- */

static void put_text(struct text_out *out, const char *text)
{
    if (text) json_out_string(out, text, strlen(text));
    else text_out_string(out, "null");
}

static void put_member(struct text_out *out, const char *key, const char *text)
{
    json_out_format(out, ", \"%s\": ", key);
    put_text(out, text);
}

static void put_ranges(struct text_out *out, const struct plan_dump *dump)
{
    if (!dump->n_left_out) return;
    text_out_string(out, ", \"left_out\": [");
    for (size_t i = 0; i < dump->n_left_out; i++)
        json_out_format(out, "%s[%zu, %zu]", i ? ", " : "", dump->left_out[i].first,
                        dump->left_out[i].end);
    text_out_string(out, "]");
}

static void put_dump(struct text_out *out, const struct plan_dump *dump)
{
    text_out_string(out, "{\"path\": ");
    put_text(out, dump->path);
    put_member(out, "folder", dump->folder);
    json_out_format(out, ", \"bytes\": %llu", (unsigned long long)dump->bytes);
    if (dump->refused) {
        put_member(out, "refused", dump->refused);
    } else {
        json_out_format(out, ", \"digest\": \"%016llx\", \"calls\": %zu, \"checked\": %zu",
                        (unsigned long long)dump->digest, dump->calls, dump->checked);
        put_ranges(out, dump);
    }
    text_out_string(out, "}");
}

static void put_body(struct text_out *out, const struct plan *plan)
{
    json_out_format(out, " \"timestamp\": \"%s\"", plan->timestamp);
    put_member(out, "root", plan->root);
    put_member(out, "directory", plan->directory);
    put_member(out, "framework", plan->framework);
    json_out_format(out, ", \"single\": %s,\n \"calibration\": {", plan->single ? "true" : "false");
    for (int i = 0; i < COST_FACTORS; i++) {
        json_out_format(out, "%s\"%s\": ", i ? ", " : "", cost_factor_name((enum cost_factor)i));
        json_out_number(out, plan->model.factors[i]);
    }
    text_out_string(out, "},\n \"arguments\": [");
    for (size_t i = 0; i < plan->n_arguments; i++) {
        text_out_string(out, i ? ", " : "");
        put_text(out, plan->arguments[i]);
    }
    text_out_string(out, "],\n \"dumps\": [");
    for (size_t i = 0; i < plan->n_dumps; i++) {
        text_out_string(out, i ? ",\n  " : "\n  ");
        put_dump(out, &plan->dumps[i]);
    }
    text_out_string(out, "],\n \"shards\": [");
    for (size_t i = 0; i < plan->n_shards; i++) {
        const struct plan_shard *shard = &plan->shards[i];
        json_out_format(out, "%s{\"dump\": %zu, \"call\": %zu, \"calls\": %zu, \"seconds\": ",
                        i ? ",\n  " : "\n  ", shard->dump, shard->call, shard->calls);
        json_out_number(out, shard->seconds);
        text_out_string(out, "}");
    }
    text_out_string(out, "]}\n");
}

struct status plan_write(struct plan *plan, struct arena *arena, const char *path)
{
    struct text_out body = { .status.code = STATUS_OK }, all = { .status.code = STATUS_OK };
    put_body(&body, plan);
    if (!body.status.code) {
        uint64_t digest = hash_bytes(HASH_START, body.text.data, body.text.length);
        plan->id = arena_format(arena, "%016llx", (unsigned long long)digest);
        json_out_format(&all, "{\"format\": %d, \"version\": \"%s\", \"job\": \"%s\",\n",
                        PLAN_FORMAT, plan->version, plan->id ? plan->id : "");
        text_out_bytes(&all, body.text.data, body.text.length);
    }
    struct status status = body.status.code ? body.status : all.status;
    if (!status.code && !plan->id) status = status_no_memory(0);
    if (!status.code)
        status = whole_file_write(path, all.text.data, all.text.length, READERS_GROUP);
    csv_buffer_release(&body.text);
    csv_buffer_release(&all.text);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------- */

struct reading {
    struct json json;
    struct arena *arena;
    const char *name;     /* of the file */
    struct status status; /* a failure that is not the text's */
    int64_t format;
    size_t dump_room, shard_room, argument_room, range_room;
    const char **arguments;
    struct position_range *ranges; /* of the dump that is read */
};

static bool out_of_memory(struct reading *r)
{
    r->status = status_no_memory(0);
    return json_fail(&r->json, r->json.at, "needs more memory than there is");
}

/* `array` with room for one more item behind `count`, moved when it must grow: arrays double. NULL when
 * there is no memory. */
static void *make_room(struct reading *r, void *array, size_t *room, size_t count, size_t size)
{
    if (count < *room) return array;
    size_t wanted = *room ? 2 * *room : 16;
    void *grown = arena_allocate_zeroed(r->arena, wanted, size);
    if (!grown) {
        (void)out_of_memory(r);
        return NULL;
    }
    if (count) memcpy(grown, array, count * size);
    *room = wanted;
    return grown;
}

static bool read_text(struct reading *r, const char **out)
{
    struct json_slice slice;
    size_t bytes;
    enum json_kind kind;
    if (!json_peek(&r->json, &kind)) return false;
    *out = NULL;
    if (kind == JSON_NULL) return json_null(&r->json);
    if (!json_string(&r->json, &slice)) return false;
    char *text = json_slice_decode(r->arena, &slice, &bytes);
    if (!text) return out_of_memory(r);
    if (strlen(text) != bytes) return json_fail(&r->json, slice.text, "a text has a NUL character");
    *out = text;
    return true;
}

static bool read_count(struct reading *r, uint64_t *out)
{
    struct json_number number;
    const char *at = r->json.at;
    if (!json_number(&r->json, &number)) return false;
    if (!number.is_int64 || number.integer < 0) return json_fail_expected(&r->json, at, "a count");
    *out = (uint64_t)number.integer;
    return true;
}

static bool read_size(struct reading *r, size_t *out)
{
    uint64_t count = 0;
    if (!read_count(r, &count)) return false;
    *out = (size_t)count;
    return true;
}

static bool is_digest(const char *text)
{
    return text && strlen(text) == DIGEST_DIGITS &&
           strspn(text, "0123456789abcdef") == DIGEST_DIGITS;
}

static bool read_digest(struct reading *r, uint64_t *out)
{
    const char *at = r->json.at, *text;
    unsigned long long digest = 0;
    if (!read_text(r, &text)) return false;
    if (!is_digest(text)) return json_fail_expected(&r->json, at, "16 hexadecimal digits");
    for (; *text; text++)
        digest = digest << 4 | (unsigned)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    *out = digest;
    return true;
}

static bool read_range(struct reading *r, struct position_range *out)
{
    size_t *const numbers[2] = { &out->first, &out->end };
    size_t count = 0;
    if (!json_enter_array(&r->json)) return false;
    for (; json_array_next(&r->json); count++) {
        if (count == 2) return json_fail(&r->json, r->json.at, "a range has two numbers");
        if (!read_size(r, numbers[count])) return false;
    }
    return !r->json.problem &&
           (count == 2 || json_fail(&r->json, r->json.at, "a range has two numbers"));
}

static bool read_left_out(struct reading *r, struct plan_dump *dump)
{
    size_t before = 0;
    r->range_room = 0; /* the ranges of the dump before this one stay */
    if (!json_enter_array(&r->json)) return false;
    while (json_array_next(&r->json)) {
        struct position_range range = { 0, 0 };
        const char *at = r->json.at;
        if (!read_range(r, &range)) return false;
        if (range.first < before || range.end <= range.first)
            return json_fail(&r->json, at, "ranges do not ascend");
        r->ranges = make_room(r, r->ranges, &r->range_room, dump->n_left_out, sizeof range);
        if (!r->ranges) return false;
        r->ranges[dump->n_left_out++] = range;
        before = range.end;
    }
    dump->left_out = r->ranges;
    return !r->json.problem;
}

/* A name that stays below the directory that it is joined to. */
static bool is_below(const char *name)
{
    if (!name || strlen(name) > PATH_MOST || name[0] == '/') return false;
    for (const char *at = name; at; at = strchr(at, '/'), at = at ? at + 1 : NULL) {
        size_t length = strcspn(at, "/");
        if (length == 2 && !memcmp(at, "..", 2)) return false;
    }
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127) return false;
    return true;
}

static bool read_dump_member(struct reading *r, struct plan_dump *dump,
                             const struct json_slice *key)
{
    if (json_slice_is(key, "path")) return read_text(r, &dump->path);
    if (json_slice_is(key, "folder")) return read_text(r, &dump->folder);
    if (json_slice_is(key, "refused")) return read_text(r, &dump->refused);
    if (json_slice_is(key, "bytes")) return read_count(r, &dump->bytes);
    if (json_slice_is(key, "digest")) return read_digest(r, &dump->digest);
    if (json_slice_is(key, "calls")) return read_size(r, &dump->calls);
    if (json_slice_is(key, "checked")) return read_size(r, &dump->checked);
    if (json_slice_is(key, "left_out")) return read_left_out(r, dump);
    return json_skip(&r->json);
}

static bool read_dump(struct reading *r, struct plan *plan)
{
    const char *at = r->json.at;
    struct plan_dump dump = { .path = NULL };
    struct json_slice key;
    if (!json_enter_object(&r->json)) return false;
    while (json_object_next(&r->json, &key))
        if (!read_dump_member(r, &dump, &key)) return false;
    if (r->json.problem) return false;
    if (!is_below(dump.path) || !is_below(dump.folder))
        return json_fail(&r->json, at, "a dump has no path and folder below their directories");
    if (!dump.refused && (!dump.calls || dump.checked > dump.calls))
        return json_fail(&r->json, at, "a dump checks more calls than it has");
    if (dump.n_left_out && dump.left_out[dump.n_left_out - 1].end > dump.calls)
        return json_fail(&r->json, at, "a dump leaves out calls that it has not");
    plan->dumps = make_room(r, plan->dumps, &r->dump_room, plan->n_dumps, sizeof dump);
    if (!plan->dumps) return false;
    plan->dumps[plan->n_dumps++] = dump;
    return true;
}

static bool read_shard_member(struct reading *r, struct plan_shard *shard,
                              const struct json_slice *key)
{
    struct json_number seconds;
    if (json_slice_is(key, "dump")) return read_size(r, &shard->dump);
    if (json_slice_is(key, "call")) return read_size(r, &shard->call);
    if (json_slice_is(key, "calls")) return read_size(r, &shard->calls);
    if (!json_slice_is(key, "seconds")) return json_skip(&r->json);
    if (!json_number(&r->json, &seconds)) return false;
    shard->seconds = seconds.real;
    return true;
}

static bool read_shard(struct reading *r, struct plan *plan)
{
    struct plan_shard shard = { .dump = SIZE_MAX };
    struct json_slice key;
    if (plan->n_shards == PLAN_SHARDS_MOST)
        return json_fail(&r->json, r->json.at, "there are too many shards");
    if (!json_enter_object(&r->json)) return false;
    while (json_object_next(&r->json, &key))
        if (!read_shard_member(r, &shard, &key)) return false;
    if (r->json.problem) return false;
    plan->shards = make_room(r, plan->shards, &r->shard_room, plan->n_shards, sizeof shard);
    if (!plan->shards) return false;
    plan->shards[plan->n_shards++] = shard;
    return true;
}

static bool read_argument(struct reading *r, struct plan *plan)
{
    const char *text, *at = r->json.at;
    if (!read_text(r, &text)) return false;
    if (!text) return json_fail_expected(&r->json, at, "a text");
    r->arguments = make_room(r, r->arguments, &r->argument_room, plan->n_arguments, sizeof text);
    if (!r->arguments) return false;
    r->arguments[plan->n_arguments++] = text;
    plan->arguments = r->arguments;
    return true;
}

static bool read_list(struct reading *r, struct plan *plan,
                      bool (*read_item)(struct reading *r, struct plan *plan))
{
    if (!json_enter_array(&r->json)) return false;
    while (json_array_next(&r->json))
        if (!read_item(r, plan)) return false;
    return !r->json.problem;
}

/* Another format or version may say things in other ways, so what follows these is not looked at. */
static bool read_format(struct reading *r)
{
    uint64_t format = 0;
    if (!read_count(r, &format)) return false;
    r->format = (int64_t)format;
    if (format == PLAN_FORMAT) return true;
    r->status = status_error(STATUS_BAD_INPUT,
                             "%s is a plan of format %llu, and this program knows format %d",
                             r->name, (unsigned long long)format, PLAN_FORMAT);
    return false;
}

static bool read_version(struct reading *r, struct plan *plan)
{
    if (!read_text(r, &plan->version)) return false;
    if (plan->version && !strcmp(plan->version, PROBE_VERSION)) return true;
    r->status = status_error(STATUS_BAD_INPUT,
                             "%s was made by version %s of this program, which is version %s",
                             r->name, plan->version ? plan->version : "?", PROBE_VERSION);
    return false;
}

static bool read_member(struct reading *r, struct plan *plan, const struct json_slice *key)
{
    if (json_slice_is(key, "format")) return read_format(r);
    if (json_slice_is(key, "version")) return read_version(r, plan);
    if (json_slice_is(key, "job")) return read_text(r, &plan->id);
    if (json_slice_is(key, "timestamp")) return read_text(r, &plan->timestamp);
    if (json_slice_is(key, "root")) return read_text(r, &plan->root);
    if (json_slice_is(key, "directory")) return read_text(r, &plan->directory);
    if (json_slice_is(key, "framework")) return read_text(r, &plan->framework);
    if (json_slice_is(key, "single")) return json_bool(&r->json, &plan->single);
    if (json_slice_is(key, "arguments")) return read_list(r, plan, read_argument);
    if (json_slice_is(key, "dumps")) return read_list(r, plan, read_dump);
    if (json_slice_is(key, "shards")) return read_list(r, plan, read_shard);
    return json_skip(&r->json);
}

static struct status read_members(struct reading *r, struct plan *plan)
{
    struct json_slice key;
    bool ok = json_enter_object(&r->json);
    while (ok && json_object_next(&r->json, &key)) ok = read_member(r, plan, &key);
    if (r->status.code) return r->status;
    if (!r->json.problem) (void)json_finish(&r->json);
    return json_status(&r->json, r->name, STATUS_BAD_INPUT);
}

/* Is `timestamp` 14 digits? */
static bool is_timestamp(const char *text)
{
    return text && strlen(text) == TIMESTAMP_DIGITS &&
           strspn(text, "0123456789") == TIMESTAMP_DIGITS;
}

static bool is_behind(const struct plan_shard *shard, const struct plan_shard *before)
{
    return shard->dump > before->dump ||
           (shard->dump == before->dump && shard->call > before->call);
}

/* Do the shards stand one behind the other, from the first call on? */
static bool shards_fit(const struct plan *plan)
{
    size_t first = 0;
    while (first < plan->n_dumps && plan->dumps[first].refused) first++;
    if (!plan->n_shards || plan->shards[0].dump != first || plan->shards[0].call) return false;
    for (size_t i = 0; i < plan->n_shards; i++) {
        const struct plan_shard *shard = &plan->shards[i];
        if (shard->dump >= plan->n_dumps || plan->dumps[shard->dump].refused ||
            shard->call >= plan->dumps[shard->dump].calls || (i && !is_behind(shard, shard - 1)))
            return false;
    }
    return true;
}

static bool is_complete(const struct reading *r, const struct plan *plan)
{
    return r->format == PLAN_FORMAT && plan->version && is_digest(plan->id) && plan->root &&
           plan->directory && is_timestamp(plan->timestamp) && plan->n_dumps &&
           (!plan->single || (plan->n_dumps == 1 && !*plan->dumps[0].folder));
}

/* Is it as it was written? */
static bool is_whole(const struct plan *plan, const char *text, size_t bytes)
{
    char digest[DIGEST_DIGITS + 1];
    const char *line = memchr(text, '\n', bytes);
    size_t behind = line ? bytes - (size_t)(line + 1 - text) : 0;
    if (!line) return false;
    (void)snprintf(digest, sizeof digest, "%016llx",
                   (unsigned long long)hash_bytes(HASH_START, line + 1, behind));
    return !strcmp(digest, plan->id);
}

struct status plan_parse(struct plan *out, struct arena *arena, const char *text, size_t bytes,
                         const char *name)
{
    struct reading r = { .arena = arena, .name = name, .status.code = STATUS_OK };
    *out = (struct plan){ .version = NULL };
    json_open(&r.json, text, bytes);
    TRY(read_members(&r, out));
    if (!is_complete(&r, out)) return status_error(STATUS_BAD_INPUT, "%s is no plan", name);
    if (!shards_fit(out))
        return status_error(STATUS_BAD_INPUT, "%s has shards that are not those of its dumps",
                            name);
    if (is_whole(out, text, bytes)) return status_ok();
    return status_error(STATUS_BAD_INPUT, "%s has been changed since it was made", name);
}

struct status plan_read(struct plan *out, struct arena *arena, const char *path,
                        struct file_policy policy)
{
    char *text;
    size_t bytes;
    TRY(file_read_path(&text, &bytes, path, policy));
    struct status status = plan_parse(out, arena, text, bytes, file_shown(path).text);
    memory_release(text);
    return status;
}
