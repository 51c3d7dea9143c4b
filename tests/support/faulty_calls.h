/* A dump with a call for each kernel of tests/shrink/faulty_kernels.c. */
#ifndef PROBE_TESTS_FAULTY_CALLS_H
#define PROBE_TESTS_FAULTY_CALLS_H

#include "support/dumps.h"

__attribute__((unused)) static const char *matrix_text(size_t rows, size_t columns,
                                                       const char *dtype)
{
    static char texts[8][256];
    static int next;
    char *text = texts[next++ % 8];
    snprintf(text, sizeof texts[0],
             "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.%s\",\"shape\":[%zu,%zu],\"Max\":2,"
             "\"Min\":-2,"
             "\"Mean\":0.0,\"Norm\":1.0,\"requires_grad\":true}",
             dtype, rows, columns);
    return text;
}

__attribute__((unused)) static const char *image_text(size_t n, size_t c, size_t h, size_t w)
{
    static char texts[4][256];
    static int next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0],
             "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[%zu,%zu,%zu,%zu],"
             "\"Max\":2,\"Min\":-2,\"Mean\":0.0,\"Norm\":1.0,\"requires_grad\":true}",
             n, c, h, w);
    return text;
}

__attribute__((unused)) static void add_call(struct dump_text *d, const char *name,
                                             const char *args, const char *kwargs,
                                             const char *cotangent)
{
    char key[100], body[1500];
    snprintf(key, sizeof key, "%s.forward", name);
    snprintf(body, sizeof body, "\"input_args\":[%s],\"input_kwargs\":{%s},\"output\":[]", args,
             kwargs);
    dump_entry(d, key, body);
    if (!cotangent) return;
    snprintf(key, sizeof key, "%s.backward", name);
    snprintf(body, sizeof body, "\"input\":[%s],\"output\":[]", cotangent);
    dump_entry(d, key, body);
}

__attribute__((unused)) static const char *two(const char *a, const char *b)
{
    static char text[600];
    snprintf(text, sizeof text, "%s,%s", a, b);
    return text;
}

__attribute__((unused)) static void write_faulty_calls(const char *path)
{
    static const char scaled[] = "\"beta\":{\"type\":\"float\",\"value\":0.5},"
                                 "\"alpha\":{\"type\":\"int\",\"value\":2}";
    static const char grouped[] =
        "\"padding\":[{\"type\":\"int\",\"value\":1},{\"type\":\"int\",\"value\":0}],"
        "\"groups\":{\"type\":\"int\",\"value\":4}";
    char three[900];
    struct dump_text d;
    dump_begin(&d);
    add_call(&d, "Torch.mm.0", two(matrix_text(6, 200, "float32"), matrix_text(200, 9, "float32")),
             "", NULL);
    add_call(&d, "Torch.matmul.0",
             two(matrix_text(6, 40, "float32"), matrix_text(40, 300, "float32")), "", NULL);
    add_call(&d, "Tensor.matmul.0",
             two(matrix_text(16, 24, "float32"), matrix_text(24, 8, "float32")), "",
             matrix_text(16, 8, "float32"));
    snprintf(three, sizeof three, "%s,%s,%s", tensor_text(3, -2, 2), matrix_text(5, 7, "float32"),
             matrix_text(7, 3, "float32"));
    add_call(&d, "Torch.addmm.0", three, scaled, NULL);
    char body[2000];
    snprintf(body, sizeof body, "\"input_args\":[%s,%s],\"input_kwargs\":{%s},\"output\":[%s]",
             image_text(1, 4, 9, 7), image_text(4, 1, 3, 3), grouped, image_text(1, 4, 9, 5));
    dump_entry(&d, "Functional.conv2d.0.forward", body);
    add_call(&d, "Torch.exp.0", matrix_text(5, 100, "float32"), "", NULL);
    add_call(&d, "Torch.abs.0", matrix_text(5, 100, "float32"), "", NULL);
    add_call(&d, "Torch.neg.0", matrix_text(5, 100, "bfloat16"), "", NULL);
    add_call(&d, "Torch.neg.1", matrix_text(5, 100, "float32"), "", NULL);
    add_call(&d, "Torch.log.0", tensor_text(60, 1.5, 3), "", NULL);
    add_call(&d, "Torch.sin.0", tensor_text(60, -2, 2), "", NULL);
    add_call(&d, "Torch.cos.0", tensor_text(60, -2, 2), "", NULL);
    dump_write(&d, path);
}

#endif
