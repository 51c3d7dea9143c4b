/* A file of torch.save whose value is one tensor. */
#include "formats/pt.h"

#include "formats/torch_file.h"

static struct status read_tensor(struct tensor *out, struct arena *arena, const void *bytes,
                                 size_t size, const char *name, bool unsummed)
{
    struct torch_objects objects = { .arena = arena, .name = name };
    struct pickle_value value;

    TRY(torch_file_read(&value, &objects, bytes, size, unsummed));
    if (!torch_is(&value, TORCH_TENSOR))
        return torch_objects_bad(&objects, "it holds something else than one tensor");
    return torch_objects_tensor(out, &objects, value.object.object);
}

struct status pt_read(struct tensor *out, struct arena *arena, const void *bytes, size_t size,
                      const char *name)
{
    return read_tensor(out, arena, bytes, size, name, false);
}

struct status pt_read_unsummed(struct tensor *out, struct arena *arena, const void *bytes,
                               size_t size, const char *name)
{
    return read_tensor(out, arena, bytes, size, name, true);
}
