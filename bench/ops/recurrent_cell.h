/* The cells of recurrent layers, and their weights. */
#ifndef PROBE_BENCH_OPS_RECURRENT_CELL_H
#define PROBE_BENCH_OPS_RECURRENT_CELL_H

#include <stdint.h>

struct node;

/* Rows of blocks of their weights: gates i f g o of an LSTM, r z n of a GRU, one of a plain cell. */
enum cell_kind { CELL_LSTM, CELL_GRU, CELL_TANH, CELL_RELU };

static inline int gates_of(enum cell_kind kind)
{
    return kind == CELL_LSTM ? 4 : kind == CELL_GRU ? 3 : 1;
}

/* The weights of one layer in one direction. */
struct cell {
    enum cell_kind kind;
    int64_t width; /* of a gate */
    struct node *w_input, *w_hidden, *b_input, *b_hidden,
        *w_projection; /* the last three or NULL */
};

#endif
