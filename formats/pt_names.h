/* The names torch uses in pickles of tensors; shared by the reader and the writer of .pt. */
#ifndef PROBE_FORMATS_PT_NAMES_H
#define PROBE_FORMATS_PT_NAMES_H

#include "core/dtype.h"

/* Storage classes of module torch by dtype. The float8 types have none: they are saved as an
 * UntypedStorage (module torch.storage) with the dtype beside it. */
struct pt_storage_name {
    const char *name;
    enum dtype dtype;
};

enum { PT_STORAGE_NAMES = 12 };
extern const struct pt_storage_name pt_storage_names[PT_STORAGE_NAMES];

#endif
