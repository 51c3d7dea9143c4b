/* Newton's method, row by row; systems are solved by elimination with partial pivoting. */
#include "bench/ops/recurrent_masks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ops/properties.h"
#include "core/arena.h"

enum { STARTS = 24, MOST_STEPS = 8, MOST_HALVINGS = 6, MOST_EXCHANGES = 16 };

/* Operations of all rows. */
static const double most_operations = 4e9; /* about ten seconds */

/* A residual beside what a typical choice changes, and what a choice changes beside a residual, that tell them apart. */
static const double small_residual = 0.01, large_change = 4;

/* What a device's roundings leave of the equations: those of two dot products and of the functions behind them, four times. A cell
 * adds them up, but forgets. Float64 has room for what a device does wrong. */
static double rounding_limit(const struct masked_layer *layer, int64_t n)
{
    double terms = (double)(n + layer->direction[0].outputs), unit = fmax(4 * layer->unit, 0x1p-40);
    return sqrt((double)n) * (8 + sqrt(terms)) * unit;
}

/* What one row needs. n: elements of its input, and equations. */
struct row {
    const struct masked_layer *layer;
    int64_t n;
    double *s, *trial, *step;   /* inputs (n) */
    double *residual, *changed; /* (n) */
    double *slope, *system;     /* (n, n): d output / d input, and its copy that is eliminated */
    double *gates, *hidden;     /* (4 * width): with the input, and without */
    double *full, *rows;        /* the output before a projection (width), its slopes (width, n) */
    double *c[2];  /* cells: of the step before, or, backward, behind the step (batch, width) */
    double *sizes; /* what choices change (n) */
};

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double bias(const double *b, size_t n, int64_t row)
{
    return b ? b[n == 1 ? 0 : (size_t)row] : 0;
}

/* Sum of products of a row of the weights. */
static double product(const double *w, const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += w[k] * x[k];
    return sum;
}

/* The output before the step, row b of step t. */
static const double *state_before(const struct masked_layer *layer, int d, int64_t t, int64_t b)
{
    const struct masked_direction *direction = &layer->direction[d];
    int64_t before = d ? t + 1 : t - 1, width = layer->directions * direction->outputs;
    if (before < 0 || before >= layer->steps || b >= layer->sizes[before])
        return direction->h + b * direction->outputs;
    return layer->y + (layer->starts[before] + b) * width + d * direction->outputs;
}

static void hidden_part(struct row *row, int d, const double *h)
{
    const struct masked_direction *direction = &row->layer->direction[d];
    int64_t rows = gates_of(row->layer->kind) * direction->width;
    for (int64_t i = 0; i < rows; i++)
        row->hidden[i] =
            product(direction->w_hidden + i * direction->outputs, h, direction->outputs) +
            bias(direction->b_hidden, direction->b_hiddens, i);
}

/* Add `factor` times row i of the input's weights to a row of slopes. */
static void add_slope(double *slope, const struct masked_direction *direction, int64_t i,
                      double factor)
{
    const double *w = direction->w_input + i * direction->inputs;
    for (int64_t k = 0; k < direction->inputs; k++) slope[k] += factor * w[k];
}

/* Element i of an LSTM's output before its projection, and its slopes. c: before the step; backward behind it. */
static double lstm_element(const struct row *row, int d, int64_t i, const double *c, double *slope)
{
    const struct masked_direction *direction = &row->layer->direction[d];
    int64_t width = direction->width;
    double in = sigmoid(row->gates[i]), forget = sigmoid(row->gates[width + i]),
           new = tanh(row->gates[2 * width + i]), out = sigmoid(row->gates[3 * width + i]);
    double cell = d ? c[i] : forget * c[i] + in * new, t = tanh(cell);
    if (!slope) return out * t;
    add_slope(slope, direction, 3 * width + i, out * (1 - out) * t);
    if (d) return out * t;
    double along = out * (1 - t * t);
    add_slope(slope, direction, i, along * in * (1 - in) * new);
    add_slope(slope, direction, width + i, along * forget * (1 - forget) * c[i]);
    add_slope(slope, direction, 2 * width + i, along * in * (1 - new *new));
    return out * t;
}

static double gru_element(const struct row *row, int d, int64_t i, const double *h, double *slope)
{
    const struct masked_direction *direction = &row->layer->direction[d];
    int64_t width = direction->width;
    double reset = sigmoid(row->gates[i]), keep = sigmoid(row->gates[width + i]),
           hidden = row->hidden[2 * width + i],
           new = tanh(row->gates[2 * width + i] - hidden + reset * hidden);
    if (slope) {
        double along = (1 - keep) * (1 - new *new);
        add_slope(slope, direction, i, along * reset * (1 - reset) * hidden);
        add_slope(slope, direction, width + i, keep * (1 - keep) * (h[i] - new));
        add_slope(slope, direction, 2 * width + i, along);
    }
    return (1 - keep) * new + keep *h[i];
}

static double element(const struct row *row, int d, int64_t i, const double *h, const double *c,
                      double *slope)
{
    if (row->layer->kind == CELL_LSTM) return lstm_element(row, d, i, c, slope);
    if (row->layer->kind == CELL_GRU) return gru_element(row, d, i, h, slope);
    double y = tanh(row->gates[i]);
    if (slope) add_slope(slope, &row->layer->direction[d], i, 1 - y * y);
    return y;
}

/* The gates of the input s. */
static void open_gates(struct row *row, int d, const double *s)
{
    const struct masked_direction *direction = &row->layer->direction[d];
    int64_t rows = gates_of(row->layer->kind) * direction->width;
    for (int64_t i = 0; i < rows; i++)
        row->gates[i] = row->hidden[i] + bias(direction->b_input, direction->b_inputs, i) +
                        product(direction->w_input + i * direction->inputs, s, direction->inputs);
}

/* What the outputs of row b of step t are with the input s, less what they were; with their slopes. */
static void evaluate(struct row *row, int64_t t, int64_t b, const double *s, double *residual,
                     bool slopes)
{
    const struct masked_layer *layer = row->layer;
    int64_t at = 0;
    for (int d = 0; d < layer->directions; d++) {
        const struct masked_direction *direction = &layer->direction[d];
        const double *h = state_before(layer, d, t, b),
                     *c = row->c[d] ? row->c[d] + b * direction->width : NULL;
        hidden_part(row, d, h);
        open_gates(row, d, s);
        bool projects = direction->w_projection != NULL;
        double *into = projects ? row->rows : row->slope + at * row->n;
        if (slopes) memset(into, 0, (size_t)(direction->width * row->n) * sizeof *into);
        for (int64_t i = 0; i < direction->width; i++)
            row->full[i] = element(row, d, i, h, c, slopes ? into + i * row->n : NULL);
        const double *y = layer->y + (layer->starts[t] + b) * row->n + at;
        for (int64_t r = 0; r < direction->outputs; r++) {
            const double *w = projects ? direction->w_projection + r * direction->width : NULL;
            residual[at + r] = (w ? product(w, row->full, direction->width) : row->full[r]) - y[r];
            if (!w || !slopes) continue;
            double *slope = row->slope + (at + r) * row->n;
            memset(slope, 0, (size_t)row->n * sizeof *slope);
            for (int64_t i = 0; i < direction->width; i++)
                for (int64_t k = 0; k < row->n; k++) slope[k] += w[i] * row->rows[i * row->n + k];
        }
        at += direction->outputs;
    }
}

static double norm(const double *x, int64_t n) { return sqrt(product(x, x, n)); }

/* Solve slope * step = residual. False when it is singular. */
static bool solve(struct row *row)
{
    int64_t n = row->n;
    double *a = row->system, *x = row->step;
    memcpy(a, row->slope, (size_t)(n * n) * sizeof *a);
    memcpy(x, row->residual, (size_t)n * sizeof *x);
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
        if (!(fabs(a[pivot * n + k]) > 0)) return false;
        for (int64_t j = k; pivot != k && j < n; j++) {
            double other = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = other;
        }
        double other = x[k];
        x[k] = x[pivot];
        x[pivot] = other;
        for (int64_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            if (factor == 0) continue;
            for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
            x[i] -= factor * x[k];
        }
    }
    for (int64_t k = n - 1; k >= 0; k--)
        x[k] = (x[k] - product(a + k * n + k + 1, x + k + 1, n - k - 1)) / a[k * n + k];
    return isfinite(norm(x, n));
}

/* A step of Newton's method from s, halved while the residual grows. */
static bool improve(struct row *row, int64_t t, int64_t b)
{
    double before = norm(row->residual, row->n), share = 1;
    if (!solve(row)) return false;
    for (int half = 0; half < MOST_HALVINGS; half++, share /= 2) {
        for (int64_t k = 0; k < row->n; k++) row->trial[k] = row->s[k] - share * row->step[k];
        evaluate(row, t, b, row->trial, row->changed, false);
        if (norm(row->changed, row->n) < before) break;
    }
    memcpy(row->s, row->trial, (size_t)row->n * sizeof *row->s);
    return true;
}

/* The nearer of both choices for each element of s, in `trial`. */
static void choose(struct row *row, unsigned char *choices, const double *x)
{
    double kept = 1 / (1 - row->layer->p);
    for (int64_t k = 0; k < row->n; k++) {
        double whole = x[k] * kept;
        choices[k] = fabs(row->s[k] - whole) < fabs(row->s[k]) ? KEPT : DROPPED;
        row->trial[k] = choices[k] == KEPT ? whole : 0;
    }
}

/* Residual with the choice of element k exchanged: `changed`. */
static double exchanged(struct row *row, int64_t k, unsigned char choice, double whole)
{
    double by = choice == KEPT ? -whole : whole;
    for (int64_t r = 0; r < row->n; r++)
        row->changed[r] = row->residual[r] + by * row->slope[r * row->n + k];
    return norm(row->changed, row->n);
}

static int larger_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* What a choice changes in the middle of all. */
static double typical_change(struct row *row, const double *x)
{
    double kept = 1 / (1 - row->layer->p);
    for (int64_t k = 0; k < row->n; k++) {
        double sum = 0;
        for (int64_t r = 0; r < row->n; r++)
            sum += row->slope[r * row->n + k] * row->slope[r * row->n + k];
        row->sizes[k] = sqrt(sum) * fabs(x[k]) * kept;
    }
    qsort(row->sizes, (size_t)row->n, sizeof *row->sizes, larger_first);
    return row->sizes[row->n / 2];
}

/* Exchange choices while that helps, and say which remain open. `trial` has the input of the choices. */
static bool settle(struct row *row, int64_t t, int64_t b, unsigned char *choices, const double *x)
{
    double kept = 1 / (1 - row->layer->p), now = 0;
    for (int round = 0;; round++) {
        int64_t best = -1;
        evaluate(row, t, b, row->trial, row->residual, true);
        double least = now = norm(row->residual, row->n);
        for (int64_t k = 0; round < MOST_EXCHANGES && k < row->n; k++) {
            double other = exchanged(row, k, choices[k], x[k] * kept);
            if (other < 0.9 * least) least = other, best = k;
        }
        if (best < 0) break;
        choices[best] = choices[best] == KEPT ? DROPPED : KEPT;
        row->trial[best] = choices[best] == KEPT ? x[best] * kept : 0;
    }
    if (!(now <= small_residual * typical_change(row, x)) ||
        now > rounding_limit(row->layer, row->n))
        return false;
    double noise = large_change * now + 0x1p-50;
    for (int64_t k = 0; k < row->n; k++)
        if (exchanged(row, k, choices[k], x[k] * kept) <= noise) choices[k] = OPEN;
    return true;
}

/* The cells of row b behind step t, forward, and before it, backward; gates are made of the input `trial`. */
static void follow_cells(struct row *row, int64_t t, int64_t b)
{
    const struct masked_layer *layer = row->layer;
    for (int d = 0; layer->kind == CELL_LSTM && d < layer->directions; d++) {
        const struct masked_direction *direction = &layer->direction[d];
        int64_t width = direction->width;
        const double *y = layer->y + (layer->starts[t] + b) * row->n + d * direction->outputs;
        double *c = row->c[d] + b * width;
        hidden_part(row, d, state_before(layer, d, t, b));
        open_gates(row, d, row->trial);
        for (int64_t i = 0; i < width; i++) {
            double in = sigmoid(row->gates[i]), forget = sigmoid(row->gates[width + i]),
                   new = tanh(row->gates[2 * width + i]), out = sigmoid(row->gates[3 * width + i]);
            if (d) { /* from the output, whose rounding does not add up from step to step */
                double tangent = y[i] / out;
                if (fabs(tangent) < 0.999) c[i] = atanh(tangent);
                c[i] = (c[i] - in * new) / forget;
            } else {
                c[i] = forget * c[i] + in * new;
            }
        }
    }
}

/* Where the search begins: at the mean, then, as equations have other solutions than that of choices, at choices drawn. */
static void begin(struct row *row, const double *x, int start)
{
    double p = row->layer->p;
    for (int64_t k = 0; k < row->n; k++) {
        bool kept = random_hash((size_t)(start * row->n + k)) >= p;
        row->s[k] = start == 0 ? x[k] : kept ? x[k] / (1 - p) : 0;
    }
}

static bool read_row(struct row *row, int64_t t, int64_t b, unsigned char *choices)
{
    const double *x = row->layer->x + (row->layer->starts[t] + b) * row->n;
    for (int start = 0; start < STARTS; start++) {
        begin(row, x, start);
        for (int step = 0; step < MOST_STEPS; step++) {
            evaluate(row, t, b, row->s, row->residual, true);
            if (!isfinite(norm(row->residual, row->n)) || !improve(row, t, b)) break;
            choose(row, choices, x);
            if (!settle(row, t, b, choices, x)) continue;
            follow_cells(row, t, b);
            return true;
        }
    }
    return false;
}

/* ---- a layer --------------------------------------------------------------------------------------------------------- */

static bool is_readable(const struct masked_layer *layer)
{
    const struct masked_direction *first = &layer->direction[0];
    double n = (double)first->inputs, rows = 0;
    for (int64_t t = 0; t < layer->steps; t++) rows += (double)layer->sizes[t];
    return layer->kind != CELL_RELU && first->inputs == layer->directions * first->outputs &&
           !(layer->kind == CELL_LSTM && layer->directions == 2 && first->w_projection) &&
           rows * n * n * (2 * n + 40) <= most_operations;
}

static double *take(struct arena *arena, int64_t n)
{
    return arena_allocate_array(arena, (size_t)n + 1, sizeof(double));
}

static bool open_row(struct row *row, struct arena *arena, const struct masked_layer *layer)
{
    int64_t n = layer->direction[0].inputs, width = layer->direction[0].width;
    *row = (struct row){ .layer = layer, .n = n };
    double **const vectors[] = { &row->s,        &row->trial,   &row->step,
                                 &row->residual, &row->changed, &row->sizes };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (!(*vectors[i] = take(arena, n))) return false;
    if (!(row->slope = take(arena, n * n)) || !(row->system = take(arena, n * n)) ||
        !(row->gates = take(arena, 4 * width)) || !(row->hidden = take(arena, 4 * width)) ||
        !(row->full = take(arena, width)) || !(row->rows = take(arena, width * n)))
        return false;
    for (int d = 0; layer->kind == CELL_LSTM && d < layer->directions; d++) {
        const double *known = d ? layer->direction[d].last_c : layer->direction[d].c;
        if (!(row->c[d] = take(arena, layer->batch * width))) return false;
        memcpy(row->c[d], known, (size_t)(layer->batch * width) * sizeof *known);
    }
    return true;
}

bool recurrent_choices(unsigned char *choices, const struct masked_layer *layer)
{
    struct arena arena = { 0 };
    struct row row;
    bool read = is_readable(layer) && open_row(&row, &arena, layer);
    for (int64_t t = 0; read && t < layer->steps; t++)
        for (int64_t b = 0; read && b < layer->sizes[t]; b++)
            read = read_row(&row, t, b, choices + (layer->starts[t] + b) * row.n);
    arena_release(&arena);
    return read;
}
