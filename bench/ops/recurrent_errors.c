/* Signs are the draws: +-1 times the expected error has its variance, and the root mean square of 16 is within sqrt(1/32) of it, less than the quarter that is
 * given on top. The larger of independent errors and draws would not do: where one grows at this step and the other at the next, it grows at both. */
#include "bench/ops/recurrent_errors.h"

#include <math.h>

#include "bench/arithmetic/gemm.h"
#include "bench/primitives/alias.h"

enum { DRAWS = 16 };

/* Rows of draws lie behind each other: element (row, draw, i). */
struct step_errors {
    struct tape *tape;
    const double *weights; /* (width, width) */
    size_t width, rows;    /* rows that have draws */
    bool is_tanh;
    uint64_t counter;
    double *draw, *moved; /* (batch, DRAWS, width) */
};

struct step_errors *step_errors_open(struct tape *tape, const struct cell *cell, int64_t batch)
{
    bool plain = cell->kind == CELL_TANH || cell->kind == CELL_RELU;
    if (!tape_is_typical(tape) || !plain || cell->w_projection || cell->w_hidden->integer ||
        cell->w_hidden->imaginary)
        return NULL;
    struct step_errors *errors = tape_allocate(tape, 1, sizeof *errors);
    const double *weights = node_values(tape, cell->w_hidden);
    size_t width = (size_t)cell->width, count = (size_t)batch * DRAWS * width;
    if (tape_failed(tape) || cell->w_hidden->n != width * width) return NULL;
    *errors = (struct step_errors){ .tape = tape,
                                    .weights = weights,
                                    .width = width,
                                    .is_tanh = cell->kind == CELL_TANH,
                                    .draw = tape_allocate(tape, count, sizeof(double)),
                                    .moved = tape_allocate(tape, count, sizeof(double)) };
    return tape_failed(tape) ? NULL : errors;
}

/* A sign that only depends on how many were drawn (Steele, Lea, Flood: SplitMix). */
static double sign_of_next(struct step_errors *errors)
{
    uint64_t z = errors->counter += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z >> 63 ? 1 : -1;
}

/* The slope of the activation that made y. */
static double slope_of(const struct step_errors *errors, double y)
{
    return errors->is_tanh ? 1 - y * y : y > 0;
}

/* Errors (rows, width) of the draws: what the weights and the slopes make of the last ones, and `added`. */
static void draw_errors(struct step_errors *errors, double *out, const double *added,
                        const double *state, size_t rows)
{
    size_t n = errors->width;
    if (errors->rows)
        gemm_double(
            errors->moved,
            &(struct gemm){ .transpose_b = true, .m = errors->rows * DRAWS, .n = n, .k = n },
            errors->draw, errors->weights);
    for (size_t at = 0; at < rows * n; at++) {
        double sum = 0, slope = slope_of(errors, state[at]);
        bool moved = at < errors->rows * n;
        for (size_t k = 0; k < DRAWS; k++) {
            size_t place = (at / n * DRAWS + k) * n + at % n;
            double e = sign_of_next(errors) * added[at] +
                       (moved ? slope * errors->moved[place] : 0);
            errors->draw[place] = isfinite(e) ? e : 0;
            sum += e * e;
        }
        out[at] = fmax(1.25 * sqrt(sum / DRAWS), added[at]);
    }
    errors->rows = rows;
}

struct node *step_errors_grown(struct step_errors *errors, struct node *state, struct node *alone)
{
    if (!errors || tape_failed(errors->tape) || state->imaginary || state->integer) return state;
    struct tape *tape = errors->tape;
    const double *value = node_values(tape, state);
    struct node *out = node_alias(tape, state, state->dtype);
    double *error = tape_allocate(tape, 2 * state->n, sizeof *error);
    if (tape_failed(tape)) return state;
    double *added = error + state->n;
    /* What is 0 has no error but where its sum may be positive. */
    for (size_t i = 0; i < state->n; i++) added[i] = node_error(value[i] == 0 ? state : alone, i);
    draw_errors(errors, error, added, value, state->n / errors->width);
    for (size_t i = 0; i < state->n; i++)
        if (!isfinite(error[i])) error[i] = node_error(state, i);
    out->error = error;
    return out;
}
