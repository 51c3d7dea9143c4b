/* Recorded tensors: files of the dump's data directory.
 *
 * A data name comes from the dump, so it is looked up strictly inside the directory. Small files
 * are read into the arena of the case; larger ones are mapped, and the mapping is remembered
 * under that arena until dump_release_tensors or dump_close.
 */
#include <stdio.h>
#include <string.h>

#include "core/directory.h"
#include "core/growing.h"
#include "core/memory.h"
#include "formats/dump_internal.h"
#include "formats/tensor_file.h"

enum {
    MAP_FROM_BYTES = 256 << 10, /* below, a read costs less than a mapping */
    MAPPING_LIMIT = 16384       /* well below the 65530 that Linux allows a process */
};

static const char data_folder[] = "dump_tensor_data";

void dump_find_data(struct dump *dump, const char *path, const char *recorded)
{
    char beside[4096 + sizeof data_folder + 2];
    const char *slash = strrchr(path, '/');

    if (!dump->header.has_data_dir) {
        dump->data_status = status_error(STATUS_SKIP, "the dump names no data directory "
                                                      "(dump_data_dir is null)");
        return;
    }
    (void)snprintf(beside, sizeof beside, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path,
                   data_folder);
    dump->data_status = file_open_directory(&dump->data_directory, beside, dump->file_policy);
    if (!dump->data_status.code || dump->data_status.code == STATUS_NO_MEMORY) return;
    struct status second = file_open_directory(&dump->data_directory, recorded, dump->file_policy);
    if (second.code && second.code != STATUS_NO_MEMORY) {
        second = status_error(STATUS_SKIP, "its tensors are neither in '%s' nor in '%s'",
                              file_shown(beside).text, file_shown(recorded).text);
        /* What is there and cannot be used is worth a word. */
        if (directory_exists(beside)) second = status_within(second, "%s", dump->data_status.text);
    }
    dump->data_status = second;
}

struct status dump_data_missing(const struct dump *dump)
{
    return dump->header.has_data_dir ? dump->data_status : status_ok();
}

/* Old dumps hold whole paths. What counts is the part behind the data directory's name, so that
 * moved dumps work; a path that has no such part leaves the directory. */
const char *dump_data_name(const char *name)
{
    const char *found = NULL;

    if (name[0] != '/') return name;
    for (const char *at = name; (at = strstr(at, data_folder)); at++)
        if (at[-1] == '/' && at[sizeof data_folder - 1] == '/') found = at + sizeof data_folder;
    return found ? found : name;
}

struct status dump_mappings_create(struct dump_mappings **out)
{
    struct dump_mappings *all = memory_allocate_zeroed(1, sizeof *all);
    if (!all) return status_no_memory(sizeof *all);
    (void)pthread_mutex_init(&all->lock, NULL);
    *out = all;
    return status_ok();
}

void dump_mappings_release(struct dump_mappings *all)
{
    if (!all) return;
    for (size_t i = 0; i < all->count; i++) file_unmap(&all->items[i].map);
    memory_release(all->items);
    (void)pthread_mutex_destroy(&all->lock);
    memory_release(all);
}

static struct status remember(struct dump_mappings *all, struct file_map map,
                              const struct arena *owner)
{
    (void)pthread_mutex_lock(&all->lock);
    struct status status = array_make_room(&all->items, &all->room, all->count, sizeof *all->items);
    if (!status.code) all->items[all->count++] = (struct dump_mapping){ map, owner };
    (void)pthread_mutex_unlock(&all->lock);
    return status;
}

void dump_release_tensors(const struct dump *dump, const struct arena *arena)
{
    struct dump_mappings *all = dump->mappings;
    size_t kept = 0;

    (void)pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < all->count; i++) {
        struct dump_mapping *mapping = &all->items[i];
        if (mapping->owner == arena) file_unmap(&mapping->map);
        else all->items[kept++] = *mapping;
    }
    all->count = kept;
    (void)pthread_mutex_unlock(&all->lock);
}

/* The bytes of an open data file: read into the arena or mapped. */
static struct status load_bytes(const void **bytes, size_t *size, struct arena *arena,
                                struct dump_mappings *all, const struct file *file)
{
    uint64_t total;
    struct file_map map;

    TRY(file_size(&total, file));
    (void)pthread_mutex_lock(&all->lock);
    bool may_map = all->count < MAPPING_LIMIT;
    (void)pthread_mutex_unlock(&all->lock);
    if (total < MAP_FROM_BYTES || !may_map) {
        void *copy = arena_allocate(arena, (size_t)total);
        if (!copy) return status_no_memory(total);
        *bytes = copy;
        return file_read_at(size, file, copy, (size_t)total, 0);
    }
    TRY(file_map(&map, file));
    struct status status = remember(all, map, arena);
    if (status.code) file_unmap(&map);
    *bytes = map.data;
    *size = map.bytes;
    return status;
}

/* float32 elements that are values of the narrower type the dump names: .npy has no bfloat16 and
 * no float8, so dumpers widen them. Other elements disagree with the record. */
static bool narrow(struct tensor *tensor, enum dtype wanted, struct arena *arena,
                   struct status *status)
{
    struct tensor dense, narrowed;

    if (tensor->dtype != DT_F32 ||
        (wanted != DT_BF16 && wanted != DT_F8E4M3 && wanted != DT_F8E5M2))
        return false;
    *status = tensor_densify(&dense, arena, tensor);
    if (!status->code) *status = tensor_create(&narrowed, arena, wanted, dense.rank, dense.shape);
    if (status->code) return false;
    const float *floats = dense.data;
    size_t width = dtype_info(wanted)->bytes, n = tensor_elements(&dense);
    dtype_from_float(narrowed.data, wanted, floats, n);
    for (size_t i = 0; i < n; i++) {
        float back;
        dtype_to_float(&back, (const char *)narrowed.data + i * width, wanted, 1);
        bool both_nan = back != back && floats[i] != floats[i];
        if (back != floats[i] && !both_nan) return false;
    }
    *tensor = narrowed;
    return true;
}

static struct status compare_with_record(struct tensor *tensor, struct arena *arena,
                                         const struct tensor_record *record)
{
    char is[160], should[160];
    struct status status = status_ok();
    struct tensor described = { .rank = record->rank };

    if (tensor->dtype != record->dtype && !narrow(tensor, record->dtype, arena, &status)) {
        if (status.code) return status;
        return status_error(STATUS_SKIP, "holds elements of %s, and the dump says %s",
                            dtype_info(tensor->dtype)->name, record->dtype_name);
    }
    memcpy(described.shape, record->shape, sizeof described.shape);
    if (tensor_same_shape(tensor, &described)) return status_ok();
    shape_format(is, sizeof is, tensor->rank, tensor->shape);
    shape_format(should, sizeof should, record->rank, record->shape);
    return status_error(STATUS_SKIP, "has the shape %s, and the dump says %s", is, should);
}

static struct status load(struct tensor *out, struct arena *arena, const struct dump *dump,
                          const struct tensor_record *record)
{
    struct file file;
    const void *bytes = NULL;
    size_t size = 0;
    struct tensor tensor;

    if (dump->data_status.code) return dump->data_status;
    TRY(file_open_read_in(&file, &dump->data_directory, dump_data_name(record->data_name),
                          dump->file_policy));
    struct status status = load_bytes(&bytes, &size, arena, dump->mappings, &file);
    if (!status.code) status = tensor_file_parse(&tensor, arena, bytes, size, file.path);
    if (!status.code) {
        status = compare_with_record(&tensor, arena, record);
        if (status.code == STATUS_SKIP)
            status = status_within(status, "the data file '%s'", file_shown(file.path).text);
    }
    (void)file_close(&file);
    if (!status.code) *out = tensor;
    return status;
}

struct status dump_load_tensor(struct tensor *out, struct arena *arena, const struct dump *dump,
                               const struct tensor_record *record)
{
    if (!record->data_name)
        return status_error(STATUS_SKIP, "the dump names no data file for the tensor");
    struct status status = load(out, arena, dump, record);
    if (status.code == STATUS_BAD_INPUT || status.code == STATUS_IO) status.code = STATUS_SKIP;
    return status;
}
