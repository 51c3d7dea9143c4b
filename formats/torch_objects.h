/* What the names in torch's pickles mean: storages, tensors as views of them, and, in the records of an online
 * pre-check, the other values that calls have.
 *
 * A table of names is all that exists; what is not in it ends the reading of a tensor, and in a record
 * stands for itself as an object that is unknown. The bytes of storages are looked for when a tensor is
 * made of a view, and checked then.
 */
#ifndef PROBE_FORMATS_TORCH_OBJECTS_H
#define PROBE_FORMATS_TORCH_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"
#include "core/tensor.h"
#include "formats/pickle.h"

/* Which names there are. */
enum torch_names { TORCH_NAMES_OF_TENSORS, TORCH_NAMES_OF_RECORDS };

enum { TORCH_MAX_STORAGES = 16384, TORCH_STORAGE_BUCKETS = 256 };

/* Ids of globals (PICKLE_GLOBAL) and of what calling them makes (PICKLE_OBJECT). A storage class is
 * TORCH_STORAGE + its dtype (DT_NONE for the untyped one), a dtype TORCH_DTYPE + itself. */
enum torch_id {
    TORCH_TENSOR, /* _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata]);
                        object: struct torch_view */
    TORCH_TENSOR_3,  /* the same with a dtype before the metadata, untyped storage */
    TORCH_PARAMETER, /* (data, requires_grad, hooks[, state]) */
    TORCH_ORDERED_DICT,
    TORCH_SIZE,   /* torch.Size(tuple): the tuple */
    TORCH_LOAD,   /* _load_from_bytes(bytes): the storage in a legacy stream */
    TORCH_RECORD, /* ApiData(...): object: struct pickle_sequence, its fields */
    TORCH_SLICE,  /* (start, stop, step): likewise */
    TORCH_COMPLEX,
    TORCH_SET,
    TORCH_ELLIPSIS,
    TORCH_DEVICE, /* (type[, index]): struct pickle_sequence */
    TORCH_LAYOUT,
    TORCH_GETATTR,
    TORCH_MODULE,
    TORCH_ENCODE,             /* _codecs.encode(text, "latin1"): the bytes */
    TORCH_NUMPY_DTYPE,        /* ("f8", ...): struct torch_numpy_dtype */
    TORCH_NUMPY_SCALAR,       /* (dtype, bytes): the number */
    TORCH_UNKNOWN,            /* a name that is not in the table, and whatever is made with it */
    TORCH_MEMORY_FORMAT = 60, /* + place in torch_memory_formats */
    TORCH_DTYPE = 100,
    TORCH_FOREIGN_DTYPE = 150, /* + place among those that have no type here */
    TORCH_STORAGE = 200        /* object: struct torch_storage */
};

extern const char *const torch_memory_formats[]; /* without "torch.", ended by NULL */

struct torch_storage {
    const struct pickle_value *key;
    enum dtype dtype; /* DT_NONE: untyped, `elements` counts bytes */
    size_t elements;
    const unsigned char *data; /* set when its bytes have been found */
    bool big_endian;
    void *taken[DT_COUNT]; /* its elements by dtype, once a tensor of it has been made */
    struct torch_storage *next_in_bucket;
};

struct torch_view {
    struct torch_storage *storage;
    enum dtype dtype;
    const char *foreign; /* name of a dtype that has no type here; NULL: `dtype` it is */
    int64_t offset;      /* in elements */
    int rank;
    int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK];
    bool requires_grad, is_parameter;
    bool conjugated, negated; /* to be applied to the elements */
};

struct torch_numpy_dtype {
    char kind; /* 'f', 'i', 'u', 'b', 'c' */
    int bytes;
    bool big_endian;
};

/* What one pickle or container is read into. */
struct torch_objects {
    struct arena *arena;
    const char *name; /* of the file, for messages */
    enum torch_names names;
    size_t most_bytes; /* of a pickle; 0: PICKLE_MAX_BYTES */
    bool big_endian;
    struct torch_storage *buckets[TORCH_STORAGE_BUCKETS];
    size_t n_storages;
    char unknown[96]; /* the first name that is not in the table; "" */
    /* Read a legacy stream with one storage; NULL: there are none inside of pickles. */
    const char *(*load)(struct torch_objects *objects, struct pickle_value *out,
                        const struct pickle_value *bytes);
    /* Find the bytes of a storage that has none yet; NULL: all have been found that are there. */
    struct status (*find)(struct torch_objects *objects, struct torch_storage *storage);
    void *container;      /* for `find` */
    struct status failed; /* why `load` failed, in full */
};

/* The hooks of pickle_read. `objects` must stay. */
struct pickle_hooks torch_objects_hooks(struct torch_objects *objects);

/* The storage of a key; NULL when there is none. */
struct torch_storage *torch_objects_storage(const struct torch_objects *objects,
                                            const struct pickle_value *key);

/* Bytes of a storage; false when they overflow. */
bool torch_storage_bytes(size_t *bytes, const struct torch_storage *storage);

bool torch_is(const struct pickle_value *value, enum torch_id object);

/* The tensor of a view: strides and offset as they are, checked against the storage. A conjugated or negated
 * view is a dense copy. */
struct status torch_objects_tensor(struct tensor *out, struct torch_objects *objects,
                                   const struct torch_view *view);

/* "cannot read 'FILE': PROBLEM". */
struct status torch_objects_bad(const struct torch_objects *objects, const char *problem);

#endif
