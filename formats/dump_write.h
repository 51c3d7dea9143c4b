/* Writing a dump: the counterpart of formats/dump.h, for calls that were made up and not recorded.
 *
 * A tensor with elements gets a data file beside the dump (dump_tensor_data/NAME.pt) where the dump is
 * one with tensors; any other is described by dtype, shape, Max and Min, and whoever reads the dump
 * draws its elements.
 */
#ifndef PROBE_FORMATS_DUMP_WRITE_H
#define PROBE_FORMATS_DUMP_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"
#include "formats/text_out.h"

struct dump_writer_options {
    bool with_tensors;           /* elements are stored; otherwise they are left out */
    bool gradients_of_arguments; /* "gradients": "arguments" (core/case.h) */
    bool replace;                /* what stands there under these names goes */
};

struct dump_writer {
    struct dump_writer_options options;
    const char *directory;
    char path[4200]; /* of the dump */
    size_t entries;
    struct text_out text;
};

/* Begin dump.json in a directory that is there. `directory` must outlive the writer. To be ended also
 * when this fails.
 *
 *   errors  STATUS_BAD_ARGUMENT when there is a dump already that is not to be replaced
 */
struct status dump_writer_open(struct dump_writer *out, const char *directory,
                               struct dump_writer_options options);

/* Add a call: arguments and outputs, cotangents and gradients when it has a backward. Tensors with
 * elements get their statistics. `arena` is scratch. */
struct status dump_writer_add(struct dump_writer *writer, const struct api_case *c,
                              struct arena *arena);

/* Write the file when all went well `so_far`; release the writer in any case. */
struct status dump_writer_end(struct dump_writer *writer, struct status so_far);

#endif
