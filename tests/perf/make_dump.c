/* Dumps for measurements, made up from the structure of real ones.
 *
 *   make_dump gpt2 [LAYERS HIDDEN SEQUENCE BATCH HEADS VOCABULARY]  > dump.json
 *   make_dump convnet  > dump.json
 *   make_dump calls N  > dump.json
 *   make_dump tensors MEGABYTES DIRECTORY  > DIRECTORY/dump.json
 *
 * gpt2: one training step of a GPT-2-like decoder, every API call with its backward, as the
 * dumper records it: 4 layers of 768, sequence 256, batch 2, 12 heads, 8192 words by default,
 * which is 110 GFLOP forward and backward. convnet: 45 calls of a small convolutional network with
 * group_norm, with their backward. calls: N small calls of mixed APIs. These hold statistics and no data.
 * tensors: calls of float32 tensors of 4 MB, whose elements are files of DIRECTORY/dump_tensor_data.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/pt.h"

enum { TEXT_BYTES = 8192, APIS_MAX = 64 };

struct model {
    int layers, hidden, sequence, batch, heads, words;
};

/* Calls so far of each API, for the index in their names. */
static struct {
    char name[64];
    int count;
} counters[APIS_MAX];
static bool first = true;

static int next_index(const char *api)
{
    int i = 0;
    while (counters[i].name[0] && strcmp(counters[i].name, api)) i++;
    snprintf(counters[i].name, sizeof counters[i].name, "%s", api);
    return counters[i].count++;
}

/* A formatted text, which stays valid for a few dozen more. */
__attribute__((format(printf, 1, 2))) static const char *format(const char *pattern, ...)
{
    static char ring[64 * TEXT_BYTES];
    static size_t used;
    va_list arguments;
    if (sizeof ring - used < TEXT_BYTES) used = 0;
    char *text = ring + used;
    va_start(arguments, pattern);
    int length = vsnprintf(text, TEXT_BYTES, pattern, arguments);
    va_end(arguments);
    if (length >= TEXT_BYTES) abort();
    used += (size_t)length + 1;
    return text;
}

/* A tensor's record. */
static const char *tensor(const char *dtype, double lo, double hi, bool gradient, int rank,
                          const int *shape)
{
    char extents[128] = "";
    for (int i = 0; i < rank; i++)
        snprintf(extents + strlen(extents), sizeof extents - strlen(extents), "%s%d", i ? ", " : "",
                 shape[i]);
    return format("{\"type\": \"torch.Tensor\", \"dtype\": \"torch.%s\", \"shape\": [%s], "
                  "\"Max\": %.9g, \"Min\": %.9g, \"Mean\": %.9g, \"Norm\": %.9g, "
                  "\"requires_grad\": %s}",
                  dtype, extents, hi, lo, (lo + hi) / 2, hi, gradient ? "true" : "false");
}

#define F32(lo, hi, ...)                                                          \
    tensor("float32", lo, hi, true, sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), \
           (int[]){ __VA_ARGS__ })
#define I64(lo, hi, ...)                                                         \
    tensor("int64", lo, hi, false, sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), \
           (int[]){ __VA_ARGS__ })

static void entry(const char *api, int index, const char *direction, const char *body)
{
    printf("%s\n  \"%s.%d.%s\": {%s}", first ? "" : ",", api, index, direction, body);
    first = false;
}

/* A call with its backward; `gradients` NULL: it has none. */
static void call(const char *api, const char *args, const char *kwargs, const char *output,
                 const char *cotangents, const char *gradients)
{
    int index = next_index(api);
    entry(api, index, "forward",
          format("\"input_args\": [%s], \"input_kwargs\": {%s}, \"output\": [%s]", args, kwargs,
                 output));
    if (!gradients) return;
    entry(api, index, "backward",
          format("\"input\": [%s], \"output\": [%s]", cotangents, gradients));
}

static const char *join(const char *a, const char *b) { return format("%s, %s", a, b); }

static const char *integer(int value)
{
    return format("{\"type\": \"int\", \"value\": %d}", value);
}

/* ---- the decoder ------------------------------------------------------------------------ */

static void linear(const struct model *m, int in, int out, bool bias)
{
    const char *args = join(F32(-3, 3, m->batch, m->sequence, in), F32(-.1, .1, out, in));
    args = join(args, bias ? F32(-.1, .1, out) : "null");
    call("Functional.linear", args, "", F32(-4, 4, m->batch, m->sequence, out),
         F32(-.01, .01, m->batch, m->sequence, out), F32(-.01, .01, in, out));
}

static void layer_norm(const struct model *m)
{
    const char *x = F32(-4, 5, m->batch, m->sequence, m->hidden);
    const char *args = join(join(x, format("[%s]", integer(m->hidden))),
                            join(F32(.9, 1.1, m->hidden), F32(-.1, .1, m->hidden)));
    call("Functional.layer_norm", join(args, "{\"type\": \"float\", \"value\": 1e-05}"), "",
         F32(-3, 3, m->batch, m->sequence, m->hidden),
         F32(-.01, .01, m->batch, m->sequence, m->hidden),
         join(x, join(F32(-.1, .1, m->hidden), F32(-.1, .1, m->hidden))));
}

static void dropout(const char *x)
{
    const char *rest =
        "{\"type\": \"float\", \"value\": 0.0}, {\"type\": \"bool\", \"value\": true}, "
        "{\"type\": \"bool\", \"value\": false}";
    call("Functional.dropout", join(x, rest), "", x, "", NULL);
}

static void add(const struct model *m)
{
    const char *x = F32(-4, 5, m->batch, m->sequence, m->hidden);
    call("Tensor.__add__", join(x, x), "", x, x, join(x, x));
}

static void transpose(const char *in, const char *out, int a, int b)
{
    call("Tensor.transpose", join(in, join(integer(a), integer(b))), "", out, out, in);
}

static void attention(const struct model *m)
{
    int size = m->hidden / m->heads;
    const char *whole = F32(-2, 2, m->batch, m->sequence, 3 * m->hidden);
    const char *third = F32(-2, 2, m->batch, m->sequence, m->hidden);
    const char *three = join(third, join(third, third));
    call("Tensor.split", join(whole, integer(m->hidden)),
         "\"dim\": {\"type\": \"int\", \"value\": 2}", three, three, whole);
    for (int i = 0; i < 3; i++)
        transpose(F32(-2, 2, m->batch, m->sequence, m->heads, size),
                  F32(-2, 2, m->batch, m->heads, m->sequence, size), 1, 2);
    transpose(F32(-2, 2, m->batch, m->heads, m->sequence, size),
              F32(-2, 2, m->batch, m->heads, size, m->sequence), -2, -1);
    const char *scores = F32(-5, 5, m->batch, m->heads, m->sequence, m->sequence);
    call("Torch.matmul",
         join(F32(-2, 2, m->batch, m->heads, m->sequence, size),
              F32(-2, 2, m->batch, m->heads, size, m->sequence)),
         "", scores, F32(-.001, .001, m->batch, m->heads, m->sequence, m->sequence),
         F32(-.001, .001, m->batch * m->heads, m->sequence, m->sequence));
    scores = F32(-5, 5, m->batch, m->heads, m->sequence, m->sequence);
    call("Tensor.__mul__", join(scores, "{\"type\": \"float\", \"value\": 0.125}"), "", scores,
         F32(-.001, .001, m->batch, m->heads, m->sequence, m->sequence), join(scores, "null"));
    const char *mask =
        format("{\"type\": \"torch.Tensor\", \"dtype\": \"torch.bool\", "
               "\"shape\": [1, 1, %d, %d], \"Max\": true, \"Min\": false, \"Mean\": null, "
               "\"Norm\": null, \"requires_grad\": false}",
               m->sequence, m->sequence);
    scores = F32(-1, 1, m->batch, m->heads, m->sequence, m->sequence);
    call("Tensor.masked_fill",
         join(scores, join(mask, "{\"type\": \"float\", \"value\": -3.4028234663852886e+38}")), "",
         scores, F32(-.001, .001, m->batch, m->heads, m->sequence, m->sequence), scores);
    call("Functional.softmax", scores, "\"dim\": {\"type\": \"int\", \"value\": -1}",
         F32(0, 1, m->batch, m->heads, m->sequence, m->sequence),
         F32(-.01, .01, m->batch, m->heads, m->sequence, m->sequence), scores);
    dropout(F32(0, 1, m->batch, m->heads, m->sequence, m->sequence));
    const char *values = F32(-2, 2, m->batch, m->heads, m->sequence, size);
    call("Tensor.__matmul__", join(F32(0, 1, m->batch, m->heads, m->sequence, m->sequence), values),
         "", values, values, F32(-.001, .001, m->batch * m->heads, m->sequence, size));
    transpose(F32(-2, 2, m->batch, m->heads, m->sequence, size),
              F32(-2, 2, m->batch, m->sequence, m->heads, size), 1, 2);
}

static void layer(const struct model *m)
{
    layer_norm(m);
    linear(m, m->hidden, 3 * m->hidden, true);
    attention(m);
    linear(m, m->hidden, m->hidden, true);
    add(m);
    layer_norm(m);
    linear(m, m->hidden, 4 * m->hidden, true);
    const char *x = F32(-3, 3, m->batch, m->sequence, 4 * m->hidden);
    call("Functional.gelu", x, "\"approximate\": {\"type\": \"str\", \"value\": \"none\"}",
         F32(-.17, 3, m->batch, m->sequence, 4 * m->hidden),
         F32(-.001, .001, m->batch, m->sequence, 4 * m->hidden), x);
    linear(m, 4 * m->hidden, m->hidden, true);
    dropout(F32(-4, 5, m->batch, m->sequence, m->hidden));
    add(m);
}

static void embedding(const char *indices, int rows, const struct model *m, const char *output)
{
    const char *rest =
        "null, null, {\"type\": \"float\", \"value\": 2.0}, "
        "{\"type\": \"bool\", \"value\": false}, {\"type\": \"bool\", \"value\": false}";
    const char *weight = F32(-4, 4, rows, m->hidden);
    call("Functional.embedding", join(indices, join(weight, rest)), "", output, output, weight);
}

static void decoder(const struct model *m)
{
    int tokens = m->batch * m->sequence;
    embedding(I64(0, m->words - 1, m->batch, m->sequence), m->words, m,
              F32(-4, 4, m->batch, m->sequence, m->hidden));
    embedding(I64(0, m->sequence - 1, m->sequence), m->sequence, m,
              F32(-3, 3, m->sequence, m->hidden));
    add(m);
    for (int i = 0; i < m->layers; i++) layer(m);
    layer_norm(m);
    linear(m, m->hidden, m->words, false);
    call("Functional.cross_entropy",
         join(F32(-2, 2, tokens, m->words), I64(1, m->words - 1, tokens)), "",
         tensor("float32", 8.9, 9.1, true, 0, NULL), tensor("float32", 1, 1, false, 0, NULL),
         F32(-.002, 0, tokens, m->words));
}

/* ---- the convolutional network ---------------------------------------------------------- */

enum { IMAGES = 2, CHANNELS = 24, SIDE = 16, GROUPS = 8, BLOCKS = 10, CLASSES = 10 };

static const char *images(double lo, double hi)
{
    return F32(lo, hi, IMAGES, CHANNELS, SIDE, SIDE);
}

static const char *pair(int value) { return format("[%s, %s]", integer(value), integer(value)); }

/* conv2d, group_norm, silu and the addition of the block's input. */
static void block(void)
{
    const char *weight = F32(-.07, .07, CHANNELS, CHANNELS, 3, 3), *cotangent = images(-.1, .1),
               *scale = F32(.9, 1.1, CHANNELS), *shift = F32(-.1, .1, CHANNELS);
    call("Functional.conv2d",
         join(join(images(-3, 3), join(weight, "null")),
              join(join(pair(1), pair(1)), join(pair(1), integer(1)))),
         "", images(-4, 4), cotangent, join(images(-.1, .1), join(weight, "null")));
    call("Functional.group_norm",
         join(join(images(-4, 4), integer(GROUPS)),
              join(join(scale, shift), "{\"type\": \"float\", \"value\": 1e-05}")),
         "", images(-3, 3), join(cotangent, "null, null"),
         join(images(-.1, .1), join(scale, shift)));
    call("Functional.silu", images(-3, 3), "", images(-.3, 3), cotangent, images(-.1, .1));
    call("Tensor.__add__", join(images(-3, 3), images(-.3, 3)), "", images(-3, 5), cotangent,
         join(cotangent, cotangent));
}

static void convnet(void)
{
    const char *pooled = F32(-1, 1, IMAGES, CHANNELS, 1, 1), *flat = F32(-1, 1, IMAGES, CHANNELS),
               *weight = F32(-.2, .2, CLASSES, CHANNELS), *bias = F32(-.2, .2, CLASSES),
               *scores = F32(-2, 2, IMAGES, CLASSES);
    for (int i = 0; i < BLOCKS; i++) block();
    call("Functional.relu", images(-3, 5), "", images(0, 5), images(-.1, .1), images(-.1, .1));
    call("Functional.adaptive_avg_pool2d", join(images(0, 5), pair(1)), "", pooled, pooled,
         images(-.1, .1));
    call("Torch.flatten", join(pooled, integer(1)), "", flat, flat, pooled);
    call("Functional.linear", join(flat, join(weight, bias)), "", scores, scores,
         join(flat, join(weight, bias)));
    call("Functional.cross_entropy", join(scores, I64(0, CLASSES - 1, IMAGES)), "",
         tensor("float32", 2.2, 2.4, true, 0, NULL), tensor("float32", 1, 1, false, 0, NULL),
         scores);
}

/* ---- many calls ------------------------------------------------------------------------- */

static const char *const binary[] = { "Tensor.__add__", "Tensor.__mul__", "Torch.sub",
                                      "Torch.div" };

static void many_calls(long count)
{
    for (long i = 0; i < count; i++) {
        const char *x = F32(-2, 2, 4, 8), *y = F32(1, 3, 4, 8);
        call(binary[i % 4], join(x, y), "", x, x, join(x, y));
    }
}

/* ---- recorded tensors ------------------------------------------------------------------- */

enum { STORED_ROWS = 1024, STORED_COLUMNS = 1024, STORED = STORED_ROWS * STORED_COLUMNS };

static void stop(const char *what)
{
    fprintf(stderr, "make_dump: %s\n", what);
    exit(1);
}

/* Write elements as a file of the dump; their record. */
static const char *stored(const char *directory, const char *name, float *elements)
{
    static const int64_t shape[] = { STORED_ROWS, STORED_COLUMNS };
    struct arena arena = { 0 };
    struct tensor data;
    const char *path = format("%s/dump_tensor_data/%s", directory, name);
    tensor_wrap(&data, elements, DT_F32, 2, shape);
    struct status status = pt_write(path, &data, &arena);
    if (status.code) stop(status.text);
    arena_release(&arena);
    const char *record = F32(-2, 4, STORED_ROWS, STORED_COLUMNS);
    return format("%.*s, \"data_name\": \"%s\"}", (int)strlen(record) - 1, record, name);
}

static void fill(float *elements, float low, float high)
{
    static uint32_t state = 1;
    for (int i = 0; i < STORED; i++) {
        state = state * 1664525 + 1013904223;
        elements[i] = low + (high - low) * (float)(state >> 8) * 0x1p-24f;
    }
}

static float apply(int operation, float x, float y)
{
    switch (operation) {
    case 0: return x + y;
    case 1: return x * y;
    case 2: return x - y;
    default: return x / y;
    }
}

static void stored_calls(long megabytes, const char *directory)
{
    float *x = malloc(STORED * sizeof *x), *y = malloc(STORED * sizeof *y),
          *z = malloc(STORED * sizeof *z);
    if (!x || !y || !z) stop("no memory");
    (void)mkdir(directory, 0750);
    (void)mkdir(format("%s/dump_tensor_data", directory), 0750);
    for (long i = 0; i * 3 * (long)(STORED * sizeof *x) < megabytes * 1000000; i++) {
        const char *api = binary[i % 4];
        fill(x, -2, 2);
        fill(y, 1, 3);
        for (int k = 0; k < STORED; k++) z[k] = apply((int)(i % 4), x[k], y[k]);
        const char *name = format("%s.%ld.forward", api, i / 4);
        const char *left = stored(directory, format("%s.input.0.pt", name), x),
                   *right = stored(directory, format("%s.input.1.pt", name), y),
                   *result = stored(directory, format("%s.output.0.pt", name), z);
        call(api, join(left, right), "", result, "", NULL);
    }
    free(x);
    free(y);
    free(z);
}

int main(int argc, char **argv)
{
    struct model m = { 4, 768, 256, 2, 12, 8192 };
    int *sizes[] = { &m.layers, &m.hidden, &m.sequence, &m.batch, &m.heads, &m.words };
    const char *kind = argc >= 2 ? argv[1] : "";
    bool gpt2 = !strcmp(kind, "gpt2"), network = !strcmp(kind, "convnet") && argc == 2,
         calls = !strcmp(kind, "calls") && argc == 3, data = !strcmp(kind, "tensors") && argc == 4;
    if (!gpt2 && !network && !calls && !data) {
        fprintf(stderr, "usage: make_dump gpt2 [LAYERS HIDDEN SEQUENCE BATCH HEADS VOCABULARY]\n"
                        "       make_dump convnet\n"
                        "       make_dump calls N\n"
                        "       make_dump tensors MEGABYTES DIRECTORY\n");
        return 2;
    }
    printf(
        "{\"task\": \"%s\", \"level\": \"L1\", \"framework\": \"pytorch\", \"dump_data_dir\": %s, "
        "\"data\": {",
        data ? "tensor" : "statistics", data ? "\"dump_tensor_data\"" : "null");
    for (int i = 2; gpt2 && i < argc && i < 8; i++) *sizes[i - 2] = atoi(argv[i]);
    if (gpt2) decoder(&m);
    if (network) convnet();
    if (calls) many_calls(atol(argv[2]));
    if (data) stored_calls(atol(argv[2]), argv[3]);
    printf("\n}}\n");
    return ferror(stdout) ? 1 : 0;
}
