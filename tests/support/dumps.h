/* Dumps made for tests. */
#ifndef PROBE_TESTS_RUNNER_DUMPS_H
#define PROBE_TESTS_RUNNER_DUMPS_H

#include "support/workspace.h"

struct dump_text {
    FILE *out;
    char *text;
    size_t length;
    bool first;
};

__attribute__((unused)) static void dump_begin(struct dump_text *d)
{
    d->first = true;
    d->out = open_memstream(&d->text, &d->length);
    fputs("{\"task\":\"statistics\",\"level\":\"L1\",\"dump_data_dir\":null,\"data\":{", d->out);
}

__attribute__((unused)) static void dump_entry(struct dump_text *d, const char *name,
                                               const char *body)
{
    fprintf(d->out, "%s\n\"%s\":{%s}", d->first ? "" : ",", name, body);
    d->first = false;
}

/* A float32 tensor of n elements in [lo, hi]. */
__attribute__((unused)) static const char *tensor_text(size_t n, double lo, double hi)
{
    static char texts[8][256];
    static int next;
    char *text = texts[next++ % 8];
    snprintf(text, sizeof texts[0],
             "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[%zu],\"Max\":%.6f,"
             "\"Min\":%.6f,\"Mean\":0.0,\"Norm\":1.0,\"requires_grad\":true}",
             n, hi, lo);
    return text;
}

/* Torch.{api}.{index} of two tensors of n elements, with its backward. */
__attribute__((unused)) static void dump_binary(struct dump_text *d, const char *api, size_t index,
                                                size_t n)
{
    char name[128], body[1200];
    const char *a = tensor_text(n, -2, 2), *b = tensor_text(n, 1, 3);
    snprintf(name, sizeof name, "Torch.%s.%zu.forward", api, index);
    snprintf(body, sizeof body, "\"input_args\":[%s,%s],\"input_kwargs\":{},\"output\":[%s]", a, b,
             tensor_text(n, -4, 9));
    dump_entry(d, name, body);
    snprintf(name, sizeof name, "Torch.%s.%zu.backward", api, index);
    snprintf(body, sizeof body, "\"input\":[%s],\"output\":[%s,%s]", tensor_text(n, -1, 1), a, b);
    dump_entry(d, name, body);
}

__attribute__((unused)) static void dump_write(struct dump_text *d, const char *path)
{
    fputs("}}\n", d->out);
    fclose(d->out);
    write_file(path, d->text, d->length);
    free(d->text);
}

/* Many small calls of several APIs. */
__attribute__((unused)) static void write_many_calls(const char *path, size_t calls, size_t n)
{
    static const char *const apis[] = { "add", "mul", "sub", "div" };
    struct dump_text d;
    dump_begin(&d);
    for (size_t i = 0; i < calls; i++) dump_binary(&d, apis[i % 4], i, n);
    dump_write(&d, path);
}

#endif
