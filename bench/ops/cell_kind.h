/* The cells of recurrent layers. */
#ifndef PROBE_BENCH_OPS_CELL_KIND_H
#define PROBE_BENCH_OPS_CELL_KIND_H

/* Rows of blocks of their weights: gates i f g o of an LSTM, r z n of a GRU, one of a plain cell. */
enum cell_kind { CELL_LSTM, CELL_GRU, CELL_TANH, CELL_RELU };

static inline int gates_of(enum cell_kind kind)
{
    return kind == CELL_LSTM ? 4 : kind == CELL_GRU ? 3 : 1;
}

#endif
