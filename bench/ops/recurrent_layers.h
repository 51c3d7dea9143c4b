/* The steps of recurrent cells, which several families take, and layers of them. */
#ifndef PROBE_BENCH_OPS_RECURRENT_LAYERS_H
#define PROBE_BENCH_OPS_RECURRENT_LAYERS_H

#include "bench/call/op.h"
#include "bench/ops/recurrent_cell.h"

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

/* What a step leaves to the next one. */
struct state {
    struct node *h, *c; /* c of an LSTM, else NULL */
};

/* What x contributes to the gates. */
struct node *cell_inputs(struct tape *tape, const struct cell *cell, struct node *x);

/* One step of any cell, of its inputs. */
struct state cell_step(struct tape *tape, const struct cell *cell, struct node *inputs,
                       struct state state);

/* A number for each of `count` rows of the weights, one for all, or none? */
bool cell_has_biases(const struct cell *cell, int64_t count);

/* Rows by time, `sizes[t]` of step t, from row `starts[t]`. */
struct sequence {
    int64_t steps, batch;
    const int64_t *sizes, *starts;
};

/* The outputs of all steps by time for x, rows by time; *state, before the first step, becomes that after each sequence's last
 * step. */
struct node *run_layer(struct tape *tape, const struct sequence *sequence, const struct cell *cell,
                       struct node *x, struct state *state, bool backward);

/* What a call asks for. */
struct layers {
    int count, directions;
    double drops;       /* the chance of an output between two layers to be dropped, below 1 */
    bool cut;           /* all of them are dropped */
    struct node *h, *c; /* initial: (count * directions, batch, width) */
    bool batch_first;
    bool read;   /* the device's choices between the layers are known, */
    char *wrong; /* or are no draws: why; NULL: nothing is wrong */
};

/* The cell of the k-th layer and direction from the flat list of `count` parameters, `each` for a cell. False fails the call. */
bool cell_read(struct cell *cell, struct call *call, struct node **params, int count, int each,
               int k);

/* From the arguments of the call; the initial states hx are a tensor, or of an LSTM a list of two. False fails the call. */
bool layers_read(struct layers *layers, struct call *call);

/* Rows by time as the call returns them: packed, or (steps, batch, width), batches first where that is asked for. */
struct node *layers_by_time(struct tape *tape, const struct sequence *sequence, struct node *y,
                            bool packed, bool batch_first);

#endif
