/* Writing one tensor as torch.save does: a zip archive of stored entries whose data.pkl is a
 * pickle (protocol 2) that rebuilds the tensor from the entry data/0.
 */
#ifndef PROBE_FORMATS_PT_WRITE_H
#define PROBE_FORMATS_PT_WRITE_H

#include "core/arena.h"
#include "core/status.h"
#include "core/tensor.h"

/* Write `tensor` to a new file (it must not exist), dense and row-major. The float8 types, which
 * old versions of PyTorch do not have, are written as float32: exact.
 *
 *   arena   scratch
 *   errors  STATUS_BAD_ARGUMENT for a tensor of 4 GiB or more; what the file operations report
 */
struct status pt_write(const char *path, const struct tensor *tensor, struct arena *arena);

#endif
