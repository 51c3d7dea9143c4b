/* NumPy's .npy format, versions 1.0, 2.0 and 3.0 (numpy.lib.format).
 *
 * A magic string, a version, the length of a header, and the header: a Python dict literal with
 * the keys descr, fortran_order and shape, read here by a parser for just that. Elements follow.
 * Object arrays would be pickles, that is, code, and are refused; so are structured types.
 */
#ifndef PROBE_FORMATS_NPY_H
#define PROBE_FORMATS_NPY_H

#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"
#include "core/tensor.h"

/* Read a .npy file that lies in memory.
 *
 *   out        set on success, untouched on failure. The elements stay where they are when they
 *              are little-endian and aligned, and are copied to `arena` otherwise; Fortran order
 *              gives a strided tensor
 *   name       of the file, for messages
 *   errors     STATUS_BAD_INPUT that names the file and what is wrong; STATUS_NO_MEMORY
 *   threads    safe when each call has its own arena
 *
 * Dtypes: b1 i1 i2 i4 i8 u1 f2 f4 f8 c8 c16, and V2 as bfloat16 (what ml_dtypes writes). */
struct status npy_read(struct tensor *out, struct arena *arena, const void *bytes, size_t size,
                       const char *name);

/* Write a tensor to a new file (it must not exist) in format 1.0, C order. bfloat16 and the
 * float8 types, which NumPy does not have, are written as float32: exact. `arena` is scratch. */
struct status npy_write(const char *path, const struct tensor *tensor, struct arena *arena);

#endif
