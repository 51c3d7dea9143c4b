/* The two tensor formats, told apart by suffix. */
#include "formats/tensor_file.h"

#include <string.h>

#include "formats/npy.h"
#include "formats/pt.h"

typedef struct status tensor_reader(struct tensor *out, struct arena *arena, const void *bytes,
                                    size_t size, const char *name);

static const struct {
    const char *suffix;
    tensor_reader *read, *read_unsummed;
} readers[] = {
    { ".npy", npy_read, npy_read },
    { ".pt", pt_read, pt_read_unsummed },
};

static struct status parse(struct tensor *out, struct arena *arena, const void *bytes, size_t size,
                           const char *name, bool unsummed)
{
    const char *suffix = strrchr(name, '.');

    for (size_t i = 0; suffix && i < sizeof readers / sizeof *readers; i++)
        if (!strcmp(suffix, readers[i].suffix))
            return (unsummed ? readers[i].read_unsummed : readers[i].read)(out, arena, bytes, size,
                                                                           name);
    return status_error(STATUS_BAD_INPUT,
                        "cannot read '%s': its name ends with neither .pt nor "
                        ".npy",
                        file_shown(name).text);
}

struct status tensor_file_parse(struct tensor *out, struct arena *arena, const void *bytes,
                                size_t size, const char *name)
{
    return parse(out, arena, bytes, size, name, false);
}

struct status tensor_file_parse_unsummed(struct tensor *out, struct arena *arena, const void *bytes,
                                         size_t size, const char *name)
{
    return parse(out, arena, bytes, size, name, true);
}

struct status tensor_file_read(struct tensor *out, struct file_map *map, struct arena *arena,
                               const char *path, struct file_policy policy)
{
    struct file file;

    TRY(file_open_read(&file, path, policy));
    struct status status = file_map(map, &file);
    struct status closed = file_close(&file);
    if (status.code) return status;
    status = closed.code ? closed : tensor_file_parse(out, arena, map->data, map->bytes, path);
    if (status.code) file_unmap(map);
    return status;
}
