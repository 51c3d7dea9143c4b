/* Where the containers keep their pickle and the bytes of storages. Which one it is shows in the first bytes. */
#include "formats/torch_file.h"

#include <stdio.h>
#include <string.h>

#include "formats/zip.h"

/* ---- the zip container ------------------------------------------------------------------ */

struct archive {
    struct zip zip;
    const char *folder; /* of the one record "<folder>/data.pkl", with its slash */
    size_t folder_bytes;
};

static const struct zip_entry *find_pickle(struct archive *archive)
{
    static const char record[] = "data.pkl";
    const size_t length = sizeof record - 1;
    const struct zip_entry *found = NULL;

    for (size_t i = 0; i < archive->zip.count; i++) {
        const struct zip_entry *e = &archive->zip.entries[i];
        if (e->name_bytes <= length || e->name[e->name_bytes - length - 1] != '/' ||
            memcmp(e->name + e->name_bytes - length, record, length) ||
            memchr(e->name, '/', e->name_bytes - length - 1))
            continue;
        if (found) return NULL;
        found = e;
        archive->folder = e->name;
        archive->folder_bytes = e->name_bytes - length;
    }
    return found;
}

/* The record "<folder>/<record>"; NULL when there is none. */
static struct status find_record(const struct zip_entry **out, const struct archive *archive,
                                 struct arena *arena, const char *record, size_t record_bytes)
{
    char *name = arena_allocate(arena, archive->folder_bytes + record_bytes);
    if (!name) return status_no_memory(archive->folder_bytes + record_bytes);
    memcpy(name, archive->folder, archive->folder_bytes);
    memcpy(name + archive->folder_bytes, record, record_bytes);
    *out = zip_find(&archive->zip, name, archive->folder_bytes + record_bytes);
    return status_ok();
}

static struct status read_entry(const void **out, struct torch_objects *objects,
                                const struct archive *archive, const struct zip_entry *entry)
{
    if (entry->method && objects->names == TORCH_NAMES_OF_RECORDS)
        return torch_objects_bad(objects, "one of its entries is compressed, which torch.save "
                                          "never does");
    return zip_read(out, objects->arena, &archive->zip, entry);
}

static struct status find_in_archive(struct torch_objects *objects, struct torch_storage *storage)
{
    const struct archive *archive = objects->container;
    const struct zip_entry *entry;
    const struct pickle_value *key = storage->key;
    char record[64];
    const void *data;
    size_t bytes;

    if (key->text.count > sizeof record - 6)
        return torch_objects_bad(objects, "a storage has an overlong name");
    size_t length = (size_t)snprintf(record, sizeof record, "data/");
    memcpy(record + length, key->text.bytes, key->text.count);
    TRY(find_record(&entry, archive, objects->arena, record, length + key->text.count));
    if (!entry) return torch_objects_bad(objects, "the record of its storage is missing");
    if (!torch_storage_bytes(&bytes, storage) || entry->bytes != bytes)
        return torch_objects_bad(objects, "its storage has another size than the tensor says");
    TRY(read_entry(&data, objects, archive, entry));
    storage->data = data;
    storage->big_endian = objects->big_endian;
    return status_ok();
}

static struct status read_byteorder(struct torch_objects *objects, const struct archive *archive)
{
    const struct zip_entry *entry;
    const void *order;
    TRY(find_record(&entry, archive, objects->arena, "byteorder", strlen("byteorder")));
    if (!entry) return status_ok();
    TRY(read_entry(&order, objects, archive, entry));
    objects->big_endian = entry->bytes == 3 && !memcmp(order, "big", 3);
    return status_ok();
}

static struct status read_archive(struct pickle_value *out, struct torch_objects *objects,
                                  const void *bytes, size_t size, bool unsummed)
{
    struct pickle_hooks hooks = torch_objects_hooks(objects);
    struct archive *archive = arena_allocate_zeroed(objects->arena, 1, sizeof *archive);
    const void *pickle;
    size_t used;

    if (!archive) return status_no_memory(sizeof *archive);
    TRY(zip_open(&archive->zip, objects->arena, bytes, size, objects->name));
    archive->zip.unsummed = unsummed;
    const struct zip_entry *entry = find_pickle(archive);
    if (!entry)
        return torch_objects_bad(objects,
                                 "it has not exactly one record data.pkl, as torch.save writes");
    TRY(read_byteorder(objects, archive));
    if (!hooks.most_bytes && entry->bytes > PICKLE_MAX_BYTES)
        return torch_objects_bad(
            objects, "its pickle is longer than 256 KiB, far more than one tensor needs");
    TRY(read_entry(&pickle, objects, archive, entry));
    objects->container = archive;
    objects->find = find_in_archive;
    return pickle_read(out, &used, objects->arena, pickle, entry->bytes, &hooks, objects->name);
}

/* ---- the legacy container --------------------------------------------------------------- */

/* 0x1950a86a20f9469cfc6c as a pickle of protocol 2: how torch.save began before zip. */
static const unsigned char legacy_magic[] = { 0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                              0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.' };

static bool is_legacy(const void *bytes, size_t size)
{
    return size >= sizeof legacy_magic && !memcmp(bytes, legacy_magic, sizeof legacy_magic);
}

/* The next of the pickles in a row. */
static struct status next_pickle(struct pickle_value *out, struct torch_objects *objects,
                                 const unsigned char **at, const unsigned char *end)
{
    struct pickle_hooks hooks = torch_objects_hooks(objects);
    size_t used;

    TRY(pickle_read(out, &used, objects->arena, *at, (size_t)(end - *at), &hooks, objects->name));
    *at += used;
    return status_ok();
}

static bool says_big_endian(const struct pickle_value *system)
{
    if (system->kind != PICKLE_DICT) return false;
    const struct pickle_sequence *s = system->sequence;
    for (size_t i = 0; i + 1 < s->count; i += 2)
        if (pickle_text_is(&s->items[i], "little_endian"))
            return s->items[i + 1].kind == PICKLE_BOOL && !s->items[i + 1].boolean;
    return false;
}

/* The storages in the order of their keys: a count of elements, then the elements. */
static struct status take_legacy_storages(struct torch_objects *objects,
                                          const struct pickle_value *keys, const unsigned char *at,
                                          const unsigned char *end)
{
    if (keys->kind != PICKLE_LIST)
        return torch_objects_bad(objects, "the list of its storages is missing");
    for (size_t i = 0; i < keys->sequence->count; i++) {
        const struct pickle_value *key = &keys->sequence->items[i];
        if (key->kind != PICKLE_TEXT) return torch_objects_bad(objects, "a storage has no name");
        struct torch_storage *storage = torch_objects_storage(objects, key);
        if (!storage) return torch_objects_bad(objects, "it has a storage that no tensor uses");
        uint64_t elements = 0;
        size_t bytes;
        if ((size_t)(end - at) < sizeof elements)
            return torch_objects_bad(objects, "it ends inside a storage");
        for (size_t b = 0; b < sizeof elements; b++) {
            size_t place = objects->big_endian ? sizeof elements - 1 - b : b;
            elements |= (uint64_t)at[place] << 8 * b;
        }
        at += sizeof elements;
        if (elements != storage->elements)
            return torch_objects_bad(objects, "its storage has another size than the tensor says");
        if (!torch_storage_bytes(&bytes, storage) || bytes > (size_t)(end - at))
            return torch_objects_bad(objects, "it ends inside a storage");
        storage->data = at;
        storage->big_endian = objects->big_endian;
        at += bytes;
    }
    return status_ok();
}

static struct status read_legacy(struct pickle_value *out, struct torch_objects *objects,
                                 const unsigned char *bytes, size_t size)
{
    const unsigned char *at = bytes + sizeof legacy_magic, *end = bytes + size;
    struct pickle_value version, system, keys;

    TRY(next_pickle(&version, objects, &at, end));
    if (version.kind != PICKLE_INT || version.integer != 1001)
        return torch_objects_bad(objects, "its protocol version is not 1001");
    TRY(next_pickle(&system, objects, &at, end));
    objects->big_endian = says_big_endian(&system);
    TRY(next_pickle(out, objects, &at, end));
    TRY(next_pickle(&keys, objects, &at, end));
    return take_legacy_storages(objects, &keys, at, end);
}

/* ---- a pickle alone ----------------------------------------------------------------------- */

/* The storage in the bytes of _load_from_bytes, which torch would unpickle without asking; here it has the
 * names of tensors, and nothing inside of it is loaded in turn. */
static const char *load_storage(struct torch_objects *objects, struct pickle_value *out,
                                const struct pickle_value *bytes)
{
    struct torch_objects *inner = arena_allocate_zeroed(objects->arena, 1, sizeof *inner);
    if (!inner) return pickle_no_memory;
    inner->arena = objects->arena;
    inner->name = objects->name;
    if (!is_legacy(bytes->text.bytes, bytes->text.count))
        return "the bytes of a storage are not those that torch writes";
    objects->failed =
        read_legacy(out, inner, (const unsigned char *)bytes->text.bytes, bytes->text.count);
    if (objects->failed.code == STATUS_NO_MEMORY) return pickle_no_memory;
    if (objects->failed.code) return "the bytes of a storage cannot be read";
    return torch_is(out, TORCH_STORAGE) ? NULL : "the bytes of a storage hold something else";
}

static struct status read_plain(struct pickle_value *out, struct torch_objects *objects,
                                const unsigned char *bytes, size_t size)
{
    size_t used;
    objects->load = load_storage;
    struct pickle_hooks hooks = torch_objects_hooks(objects);
    hooks.persistent = NULL;
    hooks.most_bytes = size; /* its storages are in it */
    struct status status =
        pickle_read(out, &used, objects->arena, bytes, size, &hooks, objects->name);
    if (status.code == STATUS_BAD_INPUT && objects->failed.code) return objects->failed;
    TRY(status);
    return used == size ? status_ok()
                        : torch_objects_bad(objects, "something stands behind its pickle");
}

struct status torch_file_read(struct pickle_value *out, struct torch_objects *objects,
                              const void *bytes, size_t size, bool unsummed)
{
    const unsigned char *first = bytes;
    if (is_legacy(bytes, size)) return read_legacy(out, objects, bytes, size);
    if (size >= 4 && !memcmp(bytes, "PK\3\4", 4))
        return read_archive(out, objects, bytes, size, unsummed);
    if (objects->names == TORCH_NAMES_OF_RECORDS && size >= 2 && first[0] == 0x80)
        return read_plain(out, objects, bytes, size);
    return torch_objects_bad(objects, "it is not a file of torch.save");
}
