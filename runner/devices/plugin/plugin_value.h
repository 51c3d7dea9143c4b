/* A value of a manifest's expressions, and its arithmetic, which is that of Python. A fault is
 * STATUS_BAD_INPUT with a sentence. */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_VALUE_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"
#include "core/tensor.h"
#include "core/value.h"

enum expression_kind {
    EXPRESSION_NONE,
    EXPRESSION_BOOL,
    EXPRESSION_INT,
    EXPRESSION_FLOAT,
    EXPRESSION_STRING,
    EXPRESSION_LIST,
    EXPRESSION_TENSOR
};

struct expression_value {
    enum expression_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *string;
        struct {
            struct expression_value *items;
            size_t count;
        } list;
        const struct tensor *tensor;
    };
};

/* Most items of a list. */
enum { EXPRESSION_LIST_MAX = 4096 };

/* What an argument of a call is in an expression. A tensor must have its elements; types that
 * the language does not have become strings (a dtype is its short name). */
struct status expression_from_value(struct expression_value *out, struct arena *arena,
                                    const struct value *value);

struct expression_value expression_bool(bool boolean);

/* Of an integer or bool. */
int64_t expression_integer(const struct expression_value *value);

/* None, zero and what is empty are false; a tensor is true. */
bool expression_truth(const struct expression_value *value);

bool expression_equal(const struct expression_value *a, const struct expression_value *b);

/* `operation` is one of + - * / % and f for floor division; + joins lists, in `arena`. */
struct status expression_operate(struct expression_value *out, struct arena *arena, char operation,
                                 const struct expression_value *a,
                                 const struct expression_value *b);

enum expression_relation {
    RELATION_EQUAL,
    RELATION_UNEQUAL,
    RELATION_LESS,
    RELATION_LESS_EQUAL,
    RELATION_GREATER,
    RELATION_GREATER_EQUAL,
    RELATION_IN,
    RELATION_NOT_IN
};

struct status expression_compare(struct expression_value *out, enum expression_relation how,
                                 const struct expression_value *a,
                                 const struct expression_value *b);

#endif
