/* Case -> input tensors: recorded data where the dump has it, random data within the
 * recorded range otherwise.
 *
 * A random element is a pure function of (seed, API full name, argument path, element
 * index): Philox 4x32-10 keyed by a hash of the first three, counted by the last. Thread
 * count, order, resume and host do not matter.
 */
#ifndef PROBE_GENERATORS_GENERATE_H
#define PROBE_GENERATORS_GENERATE_H

#include "core/case.h"
#include "formats/dump.h"
#include "generators/generate_notes.h"

/* Where the elements of tensors come from: the dump where it has them, drawn otherwise; drawn in any case; drawn
 * so that kernels are likely to go wrong (hard.h); likewise, for extents at the edges of tiles, which whoever
 * generates has put in place of the recorded ones (variation/tile_sizes.h). */
enum input_source { INPUTS_RECORDED, INPUTS_RANDOM, INPUTS_HARD, INPUTS_HARD_SIZES };

/* "recorded", "random", "hard", "hard-sizes", ended by NULL; and what one of them means, INPUTS_RECORDED for NULL. */
const char *const *input_source_names(void);
enum input_source input_source_from_name(const char *name);

struct generate_options {
    uint64_t seed;
    enum input_source source;
    bool keep_recorded; /* leave inputs as recorded: no HF32 rounding, no dtype conversion
                           (the `recorded` backend, whose outputs belong to those bits) */
};

/* Set `tensor` of every tensor value in args, kwargs and cotangents of `c`.
 *
 *   notes    set on every return; may be NULL
 *   arena    owns what is drawn or altered; loaded elements stay in the mapping of their
 *            file, with the strides they were stored with, and must not be written
 *   dump     where stored tensors are looked up; NULL draws all
 *   errors   STATUS_SKIP with the argument and the reason when an input cannot be made
 *            (no statistics, a dtype that is not supported, a file that is missing). A cotangent that
 *            cannot be made costs all cotangents (c->no_cotangents) and not the call
 *   threads  safe, each call with its own arena
 *
 * Unless a note says otherwise, elements lie in the recorded [Min, Max], which both occur;
 * NaN and infinities of the record are placed once (range.h); arguments are legal for their
 * API (rules.h). Equal inputs give equal bits on every host. */
struct status generate_inputs(struct api_case *c, struct generate_notes *notes, struct arena *arena,
                              const struct dump *dump, const struct generate_options *options);

/* Set `tensor` of the recorded outputs, or gradients, of `c` that have stored data; others
 * stay NULL. A file that cannot be used does not keep the others from being loaded; the
 * first such failure is returned. */
struct status generate_load_outputs(struct api_case *c, struct arena *arena,
                                    const struct dump *dump);
struct status generate_load_gradients(struct api_case *c, struct arena *arena,
                                      const struct dump *dump);

/* Bytes that the inputs of `c` will take, scratch memory of the rules included. SIZE_MAX
 * when a shape overflows. */
size_t generate_input_bytes(const struct api_case *c);

#endif
