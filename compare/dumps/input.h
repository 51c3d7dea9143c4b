/* The comparison file: a JSON object that says what is compared with what. */
#ifndef PROBE_COMPARE_DUMPS_INPUT_H
#define PROBE_COMPARE_DUMPS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file.h"
#include "core/status.h"

/* Numbers of ranks or steps to look at. A list that is there and empty means all; an element that is
 * no number is -1, which nothing has. */
struct number_filter {
    bool given;
    int64_t *items;
    size_t count;
};

struct name_pair {
    char *npu, *bench;
};

struct comparison_input {
    char *npu_path, *bench_path; /* files or folders; bench_path is NULL when it is not given */
    char *stack_path;            /* or NULL */
    bool print_rows; /* is_print_compare_log: a line per compared row; true by default */
    bool common;     /* compare folders */
    struct number_filter ranks, steps;
    struct name_pair *map; /* map_dict */
    size_t n_map;
};

/* Read and check the file. Keys that are not known are ignored.
 *
 *   errors  STATUS_BAD_INPUT with the line at fault: no JSON, no object, a key of the wrong type,
 *           npu_path missing, or bench_path with `needs_bench` */
struct status comparison_input_read(struct comparison_input *out, const char *path,
                                    bool needs_bench, struct file_policy policy);

/* What two paths on the command line say instead of a file: copies of them, `bench_path` or NULL.
 *
 *   errors  out of memory */
struct status comparison_input_of_paths(struct comparison_input *out, const char *npu_path,
                                        const char *bench_path);
void comparison_input_release(struct comparison_input *input);

#endif
