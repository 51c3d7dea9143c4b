/* The argument values of an API call.
 *
 * One struct describes an argument as the dump recorded it and, once the inputs are made, as
 * it is passed: a tensor value has its record from the first and its elements (`tensor`) from
 * the second. Everything a value points to lives in the arena of its case.
 */
#ifndef PROBE_CORE_VALUE_H
#define PROBE_CORE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dtype.h"
#include "core/tensor.h"

enum value_kind {
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STRING,
    VALUE_TENSOR,
    VALUE_LIST, /* lists, tuples and torch return types */
    VALUE_DICT,
    VALUE_SLICE, /* a list of three: ints or none */
    VALUE_ELLIPSIS,
    VALUE_SIZE, /* a list of ints */
    VALUE_DTYPE,
    VALUE_DEVICE,
    VALUE_MEMORY_FORMAT,
    VALUE_UNSUPPORTED /* an object the dumper could not encode; `string` says what */
};

/* A recorded statistic: absent or null, a number, or a JSON boolean. */
enum statistic_kind { STATISTIC_ABSENT, STATISTIC_NUMBER, STATISTIC_BOOL };

struct statistic {
    enum statistic_kind kind;
    double number; /* may be NaN or infinite; 0 or 1 for a boolean */
};

/* What the dump says of a tensor. */
struct tensor_record {
    enum dtype dtype;       /* DT_NONE for a name that is not known: see dtype_name */
    const char *dtype_name; /* as written */
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    struct statistic max, min, mean, norm;
    struct statistic max_finite, min_finite; /* Max_except_inf_nan, Min_except_inf_nan */
    bool requires_grad;
    bool is_parameter;
    const char *data_name; /* file in the data directory, or NULL */
    const char *md5;       /* or NULL */
};

struct value {
    enum value_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *string; /* STRING, DEVICE, MEMORY_FORMAT, UNSUPPORTED */
        enum dtype dtype;
        struct {
            struct value *items;
            const char **keys; /* DICT only */
            size_t count;
        } list; /* LIST, DICT, SLICE, SIZE */
        struct {
            const struct tensor_record *record; /* NULL for a computed tensor */
            struct tensor *tensor;              /* NULL until the inputs are made */
        } tensor;
    };
};

/* Is the value a LIST, SIZE, DICT or SLICE, so that `list` is valid? */
bool value_is_sequence(const struct value *value);

/* The item of a DICT, or NULL. */
struct value *value_find(const struct value *dict, const char *key);

/* Visit every tensor value depth-first, in order. `visit` returns false to stop; the result
 * is false then. */
bool value_each_tensor(struct value *value, bool (*visit)(struct value *tensor, void *context),
                       void *context);

/* Number of tensor values inside. */
size_t value_count_tensors(const struct value *value);

#endif
