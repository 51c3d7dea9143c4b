/* The steps of recurrent cells that several families take. */
#ifndef PROBE_BENCH_OPS_RECURRENT_H
#define PROBE_BENCH_OPS_RECURRENT_H

#include "bench/tape/tape.h"

/* One step of an LSTM: the gates i f g o, the new cell and its tanh, the new hidden state. */
struct lstm_step {
    struct node *gate[4], *c, *tanh_c, *h;
};

/* c' = f c + i g, h' = o tanh c', from what the input and the state contribute to the gates (rows, 4 width) and c. */
struct lstm_step lstm_step(struct tape *tape, struct node *gates, int64_t width, struct node *c);

/* One step of a GRU: the gates r z n, what the state contributes to n before it is multiplied by r, the new state. */
struct gru_step {
    struct node *gate[3], *hidden_new, *h;
};

/* n = tanh(x_n + r h_n), h' = n + z (h - n), from what the input and what the state contribute, (rows, 3 width) each. */
struct gru_step gru_step(struct tape *tape, struct node *inputs, struct node *hidden, int64_t width,
                         struct node *h);

#endif
