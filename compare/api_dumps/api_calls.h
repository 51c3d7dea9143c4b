/* The calls that an API dump recorded, step by step:
 *
 *     {folder}/rank0/{prefix}_api_dump_info.{pkl|csv}   one JSON array per line, to the first blank one:
 *         [data name, step, reserved, dtype, shape, [max, min, mean] (, checksum, l2norm)]
 *     {folder}/rank0/{prefix}_api_dump/{data name}.npy  the data, if they were kept
 *
 * A data name is {type}_{name}_{count}_{forward|backward}_{input|output}[.i[.j]] for a call, and
 * LAYER_{path}_{forward|backward}_input where a module begins.
 */
#ifndef PROBE_COMPARE_API_DUMPS_API_CALLS_H
#define PROBE_COMPARE_API_DUMPS_API_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compare/api_dumps/api_names.h"
#include "core/arena.h"
#include "core/file.h"
#include "core/tensor.h"

/* One recorded value. */
struct api_data {
    const char *name; /* the data name, also of its file */
    int i, j;         /* its place among the inputs or outputs; 0 where the name has none */
    int rank;
    const int64_t *shape;
    double max, min, mean; /* NaN where they were not recorded */
    uint32_t shape_id;     /* equal for equal shapes, also of the other dump */
};

struct api_data_list {
    struct api_data *items;
    size_t count, room;
};

enum api_section { FORWARD_INPUT, FORWARD_OUTPUT, BACKWARD_INPUT, BACKWARD_OUTPUT, API_SECTIONS };

/* One call, or the beginning of a module. */
struct api_call {
    const char *shown; /* "Functional_linear_3", "LAYER_encoder.0" */
    const char *name;  /* "linear": what neighbours are told apart by */
    uint32_t name_id;
    uint32_t attribute; /* equal for calls of one unified name, input shapes and output shapes */
    uint32_t inputs_id, outputs_id; /* equal for equal lists of shapes */
    int kind;                       /* 0 nn, 1 functional, 2 tensor, 3 other */
    double ratio; /* size of the smaller of inputs and outputs by that of the larger */
    bool is_layer;
    struct api_data_list data[API_SECTIONS];
};

struct api_step {
    struct api_call *calls;
    size_t count, room;
};

enum api_framework { API_MINDTORCH, API_MINDSPORE, API_PYTORCH, API_FRAMEWORKS };
extern const char *const api_framework_names[API_FRAMEWORKS];

struct api_calls {
    enum api_framework framework;
    struct api_step *steps; /* at least one, unless the dump has no call */
    size_t n_steps, steps_room;
    const char *data_folder; /* of the .npy files; NULL when there are none */
    size_t ignored;          /* lines whose name is none of a call */
    struct arena arena;
};

/* What both dumps share, so that equal things have equal numbers. */
struct api_vocabulary {
    struct api_names names;
    struct text_table texts;
    uint32_t no_shapes; /* the number of an empty list of shapes */
};
struct status api_vocabulary_create(struct api_vocabulary *out);
void api_vocabulary_release(struct api_vocabulary *vocabulary);

/* Read the dump of a folder. Release `out` also on failure.
 *
 *   errors  STATUS_BAD_INPUT: no info file, a line that is no such array (with its number) */
struct status api_calls_read(struct api_calls *out, struct api_vocabulary *vocabulary,
                             const char *folder, struct file_policy policy);

/* The same from the text of an info file (`name`, for messages) of a framework, into a value of all
 * zeros; there are no data. */
struct status api_calls_parse(struct api_calls *out, struct api_vocabulary *vocabulary,
                              enum api_framework framework, const char *name, const char *text,
                              size_t bytes);

void api_calls_release(struct api_calls *calls);

#endif
