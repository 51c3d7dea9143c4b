/* One case while its inputs are being made: what generate.c hands to the rules that keep
 * the arguments of an API legal. Internal to generators/. */
#ifndef PROBE_GENERATORS_GENERATION_H
#define PROBE_GENERATORS_GENERATION_H

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"
#include "generators/generate_notes.h"
#include "generators/range.h"

struct generate_options;

/* One tensor of the case. */
struct input {
    struct value *value; /* tensor.tensor is set before the rules run */
    const char *path;    /* "input.1.0", "kwargs.mask", "cotangent.0" */
    uint64_t key;
    bool generated; /* drawn here; loaded tensors are never changed by a rule */
    struct range range;
};

struct generation {
    struct api_case *api_case;
    const struct generate_options *options;
    struct generate_notes *notes; /* or NULL */
    struct arena *arena;
    struct input *inputs;
    size_t input_count;
    /* The name that decides the elements: the call's own, and of a call that was translated that of the
     * call of PyTorch, so that both frameworks get the same inputs. */
    const char *drawn_as;
    /* Names of the positional parameters of the API at hand, separated by spaces. */
    const char *parameters;
};

/* Add a line to the evidence; lines past the last that fits are counted in it. */
void generation_note(struct generation *generation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The argument called `name`: the keyword argument, else the positional one that
 * `parameters` lists under it. NULL when it was not passed. */
struct value *generation_argument(const struct generation *generation, const char *name);

/* Its value when it is a number (bool, int or an integral float), else `otherwise`. */
int64_t generation_integer(const struct generation *generation, const char *name,
                           int64_t otherwise);

/* The elements of the argument when it is a tensor, else NULL. */
const struct tensor *generation_tensor(const struct generation *generation, const char *name);

/* The input behind a tensor value when it was generated, so that a rule may change it; NULL
 * otherwise. */
struct input *generation_input(const struct generation *generation, const struct value *value);

/* Draw an input again from another range. */
void generation_refill(struct input *input, const struct range *range);

/* Replace the elements of a generated input of an integer or bool dtype. */
void generation_set_integers(struct input *input, const int64_t *values);

/* Room for `count` integers / doubles in the case's arena. */
struct status generation_integers(int64_t **out, struct generation *generation, size_t count);
struct status generation_doubles(double **out, struct generation *generation, size_t count);

#endif
