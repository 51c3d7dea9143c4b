/* Reads construct.json. A file has one line per call or module, up to millions, so links hold
 * numbers of names and each name is stored once. */
#include "formats/construct.h"

#include <string.h>

#include "core/memory.h"
#include "formats/csv.h"
#include "formats/json.h"

enum { NAME_LIMIT = 1024, MOST_MICRO_STEPS = 1000000 };

static const char micro_step_key[] = "megatron_micro_step_number";

struct reading {
    struct construct *construct;
    struct json json;
    struct csv_buffer text;
};

static struct status intern(uint32_t *out, struct reading *r, const struct json_slice *slice)
{
    if (slice->bytes > NAME_LIMIT) {
        (void)json_fail(&r->json, slice->text, "a name has at most 1024 bytes");
        return status_ok();
    }
    csv_buffer_clear(&r->text);
    TRY(csv_append_bytes(&r->text, slice->text, slice->bytes));
    if (slice->escaped) r->text.length = json_slice_decode_into(r->text.data, slice);
    return text_table_add(out, NULL, &r->construct->names, r->text.data, r->text.length);
}

/* A name, or null or "" for the top level. */
static struct status read_parent(uint32_t *parent, struct reading *r)
{
    enum json_kind kind;
    struct json_slice slice;

    *parent = TEXT_NONE;
    if (!json_peek(&r->json, &kind)) return status_ok();
    if (kind == JSON_NULL) {
        (void)json_null(&r->json);
        return status_ok();
    }
    if (kind != JSON_STRING) {
        (void)json_fail_expected(&r->json, r->json.at, "the name of a parent, or null");
        return status_ok();
    }
    if (!json_string(&r->json, &slice) || !slice.bytes) return status_ok();
    return intern(parent, r, &slice);
}

static bool read_count(struct reading *r, uint32_t *count)
{
    struct json_number number;
    const char *at = r->json.at;
    enum json_kind kind;
    if (!json_peek(&r->json, &kind)) return false;
    if (kind != JSON_NUMBER) return json_fail_expected(&r->json, at, "a number of micro steps");
    if (!json_number(&r->json, &number)) return false;
    if (!number.is_int64 || number.integer < 0 || number.integer > MOST_MICRO_STEPS)
        return json_fail(&r->json, at, "a micro step is a whole number from 0 to 1000000");
    *count = (uint32_t)number.integer;
    return true;
}

/* parent, or [parent, micro step] */
static struct status read_value(struct construct_link *link, struct reading *r)
{
    enum json_kind kind;
    if (!json_peek(&r->json, &kind)) return status_ok();
    if (kind != JSON_ARRAY) return read_parent(&link->parent, r);
    if (!json_enter_array(&r->json)) return status_ok();
    if (json_array_next(&r->json)) TRY(read_parent(&link->parent, r));
    if (json_array_next(&r->json)) (void)read_count(r, &link->micro_step);
    if (json_array_next(&r->json))
        (void)json_fail_expected(&r->json, r->json.at, "[parent, micro step]");
    return status_ok();
}

static struct status make_room(struct construct *c)
{
    if (c->n_links == c->link_room) {
        size_t room = c->link_room ? 2 * (size_t)c->link_room : 1024;
        void *links = room < LINK_NONE ? memory_resize(c->links, room * sizeof *c->links) : NULL;
        if (!links) return status_no_memory(room * sizeof *c->links);
        c->links = links;
        c->link_room = (uint32_t)room;
    }
    if (c->names.count > c->n_link_of) {
        size_t room = 2 * (size_t)c->names.count;
        uint32_t *link_of = memory_resize(c->link_of, room * sizeof *link_of);
        if (!link_of) return status_no_memory(room * sizeof *link_of);
        memset(link_of + c->n_link_of, 0xff, (room - c->n_link_of) * sizeof *link_of);
        c->link_of = link_of;
        c->n_link_of = (uint32_t)room;
    }
    return status_ok();
}

static struct status read_link(struct reading *r, const struct json_slice *key)
{
    struct construct *c = r->construct;
    struct construct_link link = { .parent = TEXT_NONE };

    TRY(intern(&link.child, r, key));
    TRY(read_value(&link, r));
    if (r->json.problem) return status_ok();
    TRY(make_room(c));
    if (c->link_of[link.child] == LINK_NONE) {
        c->link_of[link.child] = c->n_links;
        c->n_links++;
    }
    c->links[c->link_of[link.child]] = link;
    return status_ok();
}

static struct status read_object(struct reading *r)
{
    struct json_slice key;
    if (!json_enter_object(&r->json)) return status_ok();
    while (json_object_next(&r->json, &key)) {
        if (json_slice_is(&key, micro_step_key)) {
            r->construct->has_micro_steps = true;
            if (read_count(r, &r->construct->micro_steps)) r->construct->micro_steps++;
        } else {
            TRY(read_link(r, &key));
        }
    }
    (void)json_finish(&r->json);
    return status_ok();
}

static struct status read_map(struct reading *r, const char *name)
{
    TRY(text_table_create(&r->construct->names));
    TRY(csv_append_bytes(&r->text, "", 1));
    TRY(read_object(r));
    return json_status(&r->json, name, STATUS_BAD_INPUT);
}

struct status construct_read(struct construct *out, const char *path, struct file_policy policy)
{
    struct file_shown_name shown = file_shown(path);
    struct reading r = { .construct = out };
    struct file file = FILE_NONE;
    struct file_map map;

    *out = (struct construct){ 0 };
    TRY(file_open_read(&file, path, policy));
    struct status status = file_map(&map, &file);
    if (!status.code) {
        json_open(&r.json, map.data, map.bytes);
        status = read_map(&r, shown.text);
        file_unmap(&map);
    }
    (void)file_close(&file);
    csv_buffer_release(&r.text);
    if (status.code) construct_close(out);
    return status;
}

void construct_close(struct construct *construct)
{
    if (construct->names.slots) text_table_release(&construct->names);
    memory_release(construct->links);
    memory_release(construct->link_of);
    *construct = (struct construct){ 0 };
}

bool construct_parent(const struct construct *construct, uint32_t name, uint32_t *parent)
{
    if (name == TEXT_NONE || name >= construct->n_link_of) return false;
    if (construct->link_of[name] == LINK_NONE) return false;
    *parent = construct->links[construct->link_of[name]].parent;
    return true;
}
