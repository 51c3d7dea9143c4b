/* Which of the gradients that a real-data dump stores belong to which argument, and which may belong
 * to none: small dumps are written here, with data files that tell every element apart. */
#include <ctype.h>

#include "formats/dump.h"
#include "formats/npy.h"
#include "runner/devices/device.h"
#include "support/cases.h"
#include "support/suite.h"
#include "support/workspace.h"

static struct workspace w;
static struct arena arena;

/* Element k of file X is this. */
static double element_of(char file, int k) { return 100 * (file - 'a') + k; }

static void write_data(char file, int rank, const int64_t *shape, const float *elements)
{
    char name[64];
    struct tensor t;
    ck_assert(!tensor_create(&t, &arena, DT_F32, rank, shape).code);
    for (size_t k = 0; k < tensor_elements(&t); k++)
        ((float *)t.data)[k] = elements ? elements[k] : (float)element_of(file, (int)k);
    snprintf(name, sizeof name, "dump_tensor_data/%c.npy", file);
    (void)remove(in(&w, name)); /* a file that is there is not written over */
    ck_assert(!npy_write(in(&w, name), &t, &arena).code);
}

/* Values as JSON, from words: "a:2x3" is a tensor whose elements are in file a, "A:2x3" the same that
 * requires a gradient, "?:2x3" one that the dump does not store, "a:" a scalar, "[" and "]" a list, and
 * other words stand for themselves. */
static void write_values(FILE *out, const char *words)
{
    char word[64];
    int used;
    bool comma = false;
    for (; sscanf(words, "%63s%n", word, &used) == 1; words += used) {
        if (comma && !strchr("]}", *word)) fputs(",", out);
        comma = !strchr("[{", *word);
        if (word[1] != ':') {
            fputs(word, out);
            continue;
        }
        int64_t extents[4];
        int rank = 0;
        fprintf(
            out,
            "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"Max\":1,\"Min\":0,\"Mean\":0,"
            "\"Norm\":1,\"requires_grad\":%s,\"shape\":[",
            isupper((unsigned char)*word) ? "true" : "false");
        for (char *at = word + 2; *at; at += *at == 'x') {
            extents[rank] = strtol(at, &at, 10);
            fprintf(out, rank ? ",%ld" : "%ld", (long)extents[rank]);
            rank++;
        }
        char file = (char)tolower((unsigned char)*word);
        if (file == '?') fputs("]}", out);
        else {
            fprintf(out, "],\"data_name\":\"%c.npy\"}", file);
            write_data(file, rank, extents, NULL);
        }
    }
}

struct call {
    const char *name, *arguments, *outputs, *gradients; /* gradients: NULL for no backward */
    bool of_arguments;
};

static struct dump *write_call(const struct call *call, const char *cotangents)
{
    struct dump *dump;
    FILE *out = fopen(in(&w, "dump.json"), "w");
    fprintf(out,
            "{\"task\":\"tensor\",\"level\":\"L1\",\"framework\":\"pytorch\",%s"
            "\"dump_data_dir\":\"dump_tensor_data\",\"data\":{\"%s.0.forward\":{\"input_args\":[",
            call->of_arguments ? "\"gradients\":\"arguments\"," : "", call->name);
    write_values(out, call->arguments);
    fputs("],\"input_kwargs\":{},\"output\":[", out);
    write_values(out, call->outputs);
    fputs("]}", out);
    if (call->gradients) {
        fprintf(out, ",\"%s.0.backward\":{\"input\":[", call->name);
        write_values(out, cotangents);
        fputs("],\"output\":[", out);
        write_values(out, call->gradients);
        fputs("]}", out);
    }
    fputs("}}", out);
    fclose(out);
    struct status st = dump_open(&dump, in(&w, "dump.json"), FILES_CHECKED);
    ck_assert_msg(!st.code, "%s", st.text);
    return dump;
}

static struct status run(struct device_result *out, const struct dump *dump)
{
    struct device *device;
    struct api_case c;
    struct device_options options = { .backend = "recorded" };
    ck_assert(!device_find("recorded")->open(&device, &options).code);
    struct status st = dump_read_case(&c, &arena, dump, 0);
    ck_assert_msg(!st.code, "%s", st.text);
    st = device->class->run(device, out, &arena, &c, c.has_backward);
    device->class->close(device);
    return st;
}

/* The values are those of these words: "a" is the whole of file a, "a'" a matrix of it transposed, "-"
 * None, another word a number. */
static void check_values(const struct value *list, const char *words)
{
    char word[16];
    int used;
    size_t i = 0;
    for (; sscanf(words, "%15s%n", word, &used) == 1; words += used, i++) {
        ck_assert_uint_lt(i, list->list.count);
        const struct value *v = &list->list.items[i];
        if (*word == '-') {
            ck_assert_int_eq(v->kind, VALUE_NONE);
            continue;
        }
        if (isdigit((unsigned char)*word)) {
            ck_assert_int_eq(v->kind, VALUE_INT);
            ck_assert_int_eq(v->integer, atoi(word));
            continue;
        }
        ck_assert_int_eq(v->kind, VALUE_TENSOR);
        const struct tensor *t = v->tensor.tensor;
        int64_t rows = t->rank == 2 ? t->shape[0] : 1;
        int64_t columns = t->rank == 2 ? t->shape[1] : (int64_t)tensor_elements(t);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t k = 0; k < columns; k++) {
                const float *row = t->data;
                int64_t at = t->rank == 2 ? r * t->stride[0] + k * t->stride[1] : k;
                double want = element_of(*word, (int)(word[1] ? k * rows + r : r * columns + k));
                ck_assert_msg(row[at] == want, "value %zu, element [%d, %d]: %g, not %g", i, (int)r,
                              (int)k, row[at], want);
            }
    }
    ck_assert_uint_eq(list->list.count, i);
}

static void set_up(void)
{
    w = workspace_make();
    ck_assert_int_eq(mkdir(in(&w, "dump_tensor_data"), 0750), 0);
}

static void tear_down(void)
{
    workspace_remove(&w);
    arena_release(&arena);
}

#define SEVERAL                                                                                    \
    "PyTorch runs this call as several autograd nodes, so the recorded gradients may be those of " \
    "the last node and not of the arguments."
#define NO_MATCH                                                                                 \
    "The recorded gradients do not match the tensor arguments in number and shape, so they are " \
    "not those of the arguments."

static const struct {
    struct call call;
    const char *dealt; /* or NULL and: */
    const char *reason;
    /* clang-format off */
} backwards[] = {
    /* addmm(bias, input, weight transposed) behind a linear of a matrix. */
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "c:4 a:2x3 b:3x4", false }, "a b' c", NULL },
    { { "Functional.linear", "X:3x3 Y:3x3 Z:3", "o:3x3", "c:3 a:3x3 b:3x3", false }, "a b' c", NULL },
    { { "Functional.linear", "X:0x3 Y:4x3 Z:4", "o:0x4", "c:4 a:0x3 b:3x4", false }, "a b' c", NULL },
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "c:4 a:2x3 b:4x3", false }, NULL, SEVERAL },
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "c:4 a:2x3 b:3x5", false }, NULL, SEVERAL },
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "c:5 a:2x3 b:3x4", false }, NULL, SEVERAL },
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "c:1x4 a:2x3 b:3x4", false }, NULL, SEVERAL },
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "c:4 a:3x2 b:3x4", false }, NULL, SEVERAL },
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "c:4 a:2x3 b:12", false }, NULL, SEVERAL },
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "c:4 a:2x3", false }, NULL, SEVERAL },
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "c:4 a:2x3 null", false }, NULL, SEVERAL },
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "?:4 a:2x3 b:3x4", false }, NULL, SEVERAL },
    { { "Functional.linear", "X:1x2x3 Y:4x3 Z:4", "o:1x2x4", "c:4 a:1x2x3 b:3x4", false }, NULL, SEVERAL },
    { { "Functional.linear", "X:2x3 Y:3 Z:4", "o:2", "c:4 a:2x3 b:0x3", false }, NULL, SEVERAL },
    { { "Functional.linear", "X:2x3 Y:4x3", "o:2x4", "a:2x3 b:3x4", false }, NULL, SEVERAL },
    { { "Torch.matmul", "X:2x3 Y:3x4 Z:4", "o:2x4", "c:4 a:2x3 b:3x4", false }, NULL, SEVERAL },
    /* The dump says whose they are. */
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "a:2x3 b:4x3 c:4", true }, "a b c", NULL },
    { { "Functional.linear", "X:2x3 y:4x3 Z:4", "o:2x4", "a:2x3 c:4", true }, "a - c", NULL },
    { { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "c:4 a:2x3 b:3x4", true }, NULL, NO_MATCH },
    /* One autograd node: for all tensors, or for those that require a gradient, with or without
     * nulls for the other inputs. */
    { { "Torch.mul", "X:2x3 Y:3", "o:2x3", "a:2x3 b:3", false }, "a b", NULL },
    { { "Torch.mul", "X:2x3 y:3", "o:2x3", "a:2x3 null", false }, "a -", NULL },
    { { "Torch.mul", "X:2x3 y:3", "o:2x3", "a:2x3", false }, "a -", NULL },
    { { "Torch.mul", "x:2x3 Y:3", "o:2x3", "b:3", false }, "- b", NULL },
    { { "Torch.mul", "x:2x3 Y:3", "o:2x3", "[ null ] b:3", false }, "- b", NULL },
    { { "Torch.mul", "X:2x3 2", "o:2x3", "null a:2x3", false }, "a", NULL },
    { { "Torch.mul", "X:2x3 Y:3", "o:2x3", "a:2x3", false }, NULL, NO_MATCH },
    { { "Torch.mul", "X:2x3 Y:3", "o:2x3", "a:2x3 b:3 c:3", false }, NULL, NO_MATCH },
    { { "Torch.mul", "X:2x3 Y:3", "o:2x3", "a:2x3 b:4", false }, NULL, NO_MATCH },
    { { "Torch.mul", "X:2x3 Y:3", "o:2x3", "a:2x3 7", false }, NULL, NO_MATCH },
    { { "Torch.mul", "X:2x3 Y:3", "o:2x3", "a:2x3 ?:3", false }, NULL,
      "The dump does not store gradient 1 of this call." },
    { { "Torch.mul", "X:2x3 Y:3", "o:2x3", "", false }, NULL,
      "The dump has no recorded gradients of this call." },
};
/* clang-format on */

START_TEST(gradients_are_dealt_to_their_arguments)
{
    struct device_result r;
    struct dump *dump = write_call(&backwards[_i].call, "null");
    struct status st = run(&r, dump);
    ck_assert_msg(!st.code, "%s", st.text);
    check_values(&r.outputs, "o");
    ck_assert_str_eq(r.backward.text, backwards[_i].reason ? backwards[_i].reason : "");
    if (backwards[_i].reason) {
        ck_assert_int_eq(r.backward.code, STATUS_SKIP);
        ck_assert_int_eq(r.gradients.kind, VALUE_NONE);
    } else {
        check_values(&r.gradients, backwards[_i].dealt);
    }
    dump_close(dump);
}
END_TEST

static const struct {
    struct call call;
    const char *outputs, *reason;
    /* clang-format off */
} forwards[] = {
    { { "Torch.exp", "x:2", "o:2", NULL, false }, "o", NULL },
    { { "Torch.topk", "x:2", "[ o:2 [ p:2 7 ] ] null", NULL, false }, "o p 7 -", NULL },
    { { "Torch.topk", "x:2", "{\"k\": [ o:2 p:2 ] }", NULL, false }, "o p", NULL },
    { { "Torch.sum", "x:2", "o:", NULL, false }, "o", NULL },
    { { "Torch.exp", "x:2", "?:2", NULL, false }, NULL, "The dump does not store output 0 of this call." },
    { { "Torch.topk", "x:2", "[ o:2 ?:2 ]", NULL, false }, NULL,
      "The dump does not store output 1 of this call." },
    { { "Torch.exp", "x:2", "", NULL, false }, NULL, "The dump has no recorded outputs of this call." },
    { { "Tensor.__setitem__", "x:2 0 1", "null", NULL, false }, NULL,
      "This call changes its first argument and returns None; the dump does not store what it became." },
    { { "Tensor.__delitem__", "x:2 0", "null", NULL, false }, NULL,
      "This call changes its first argument and returns None; the dump does not store what it became." },
    { { "Tensor.backward", "x:2", "null", NULL, false }, "-", NULL },
    { { "Tensor.__setitem__", "x:2 0 1", "o:2", NULL, false }, "o", NULL },
};
/* clang-format on */

START_TEST(outputs_are_the_recorded_ones)
{
    struct device_result r;
    struct dump *dump = write_call(&forwards[_i].call, "null");
    struct status st = run(&r, dump);
    ck_assert_str_eq(st.text, forwards[_i].reason ? forwards[_i].reason : "");
    if (forwards[_i].reason) ck_assert_int_eq(st.code, STATUS_SKIP);
    else check_values(&r.outputs, forwards[_i].outputs);
    ck_assert_int_eq(r.gradients.kind, VALUE_NONE);
    dump_close(dump);
}
END_TEST

/* The verdict on a recorded linear: its own gradients pass, and one wrong element of the turned
 * weight's does not. */
START_TEST(a_linear_is_judged_by_its_own_gradients)
{
    enum { N = 2, K = 3, M = 4 };
    const struct call call = { "Functional.linear", "X:2x3 Y:4x3 Z:4", "o:2x4", "c:4 a:2x3 b:3x4",
                               false };
    float x[N * K], y[M * K], z[M], g[N * M], o[N * M], a[N * K] = { 0 }, b[K * M] = { 0 },
                                                              c[M] = { 0 };
    for (int i = 0; i < N * K; i++) x[i] = (float)(i - 2);
    for (int i = 0; i < M * K; i++) y[i] = (float)(i * 5 % 7 - 3);
    for (int i = 0; i < M; i++) z[i] = (float)(2 * i + 1);
    for (int i = 0; i < N * M; i++) g[i] = (float)(i * 3 % 5 + 1);
    for (int n = 0; n < N; n++)
        for (int m = 0; m < M; m++) {
            o[n * M + m] = z[m];
            c[m] += g[n * M + m];
            for (int k = 0; k < K; k++) {
                o[n * M + m] += x[n * K + k] * y[m * K + k];
                a[n * K + k] += g[n * M + m] * y[m * K + k];
                b[k * M + m] += g[n * M + m] * x[n * K + k];
            }
        }
    const struct {
        char file;
        int rank;
        int64_t shape[2];
        const float *elements;
    } files[] = { { 'x', 2, { N, K }, x }, { 'y', 2, { M, K }, y }, { 'z', 1, { M }, z },
                  { 'g', 2, { N, M }, g }, { 'o', 2, { N, M }, o }, { 'a', 2, { N, K }, a },
                  { 'b', 2, { K, M }, b }, { 'c', 1, { M }, c } };
    for (int wrong = 0; wrong < 2; wrong++) {
        dump_close(write_call(&call, "g:2x4"));
        b[5] += (float)wrong;
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            write_data(files[i].file, files[i].rank, files[i].shape, files[i].elements);
        const char *directory = wrong ? "wrong" : "right";
        struct outcome run = run_program(&w, "-api_info", "dump.json", "--backend", "recorded",
                                         "-o", directory, NULL);
        ck_assert_msg(run.status == 0, "%s", run.err);
        outcome_free(&run);
        char *details = read_file(only_match(&w, wrong ? "wrong/accuracy_checking_details_*.csv"
                                                       : "right/accuracy_checking_details_*.csv"),
                                  NULL);
        static const char *const rows[] = { "forward.output.0", "backward.output.0",
                                            "backward.output.1", "backward.output.2" };
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            char *row = strstr(details, rows[i]);
            ck_assert_msg(row != NULL, "no row of %s: %s", rows[i], details);
            *strstr(row, "\r\n") = '\0';
            ck_assert_msg(strstr(row, wrong && i == 2 ? ",error," : ",pass,") != NULL, "%s", row);
            row[strlen(row)] = '\r';
        }
        free(details);
    }
}
END_TEST

/* A file of the backward that is gone or damaged costs the backward alone, which says so. */
START_TEST(a_lost_file_of_the_backward_leaves_the_forward)
{
    static const struct {
        const char *file, *words; /* `words` overwrite it; NULL: it is removed */
        const char *backend, *reason;
    } cases[] = {
        { "g", NULL, "recorded",
          "Functional.relu.0 cotangent.0: 'dump_tensor_data/g.npy' does not exist" },
        { "g", "nonsense", "recorded", "cannot read 'dump_tensor_data/g.npy'" },
        { "g", NULL, "cpu",
          "Functional.relu.0 cotangent.0: 'dump_tensor_data/g.npy' does not exist" },
        { "a", NULL, "recorded", "'dump_tensor_data/a.npy' does not exist" },
        { "a", "nonsense", "recorded", "cannot read 'dump_tensor_data/a.npy'" },
    };
    const struct call call = { "Functional.relu", "X:3", "o:3", "a:3", true };
    static const float x[] = { 1, -2, 3 }, o[] = { 1, 0, 3 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64], out[16], pattern[64];
        dump_close(write_call(&call, "g:3"));
        write_data('x', 1, (int64_t[]){ 3 }, x);
        write_data('o', 1, (int64_t[]){ 3 }, o);
        snprintf(path, sizeof path, "dump_tensor_data/%s.npy", cases[i].file);
        snprintf(out, sizeof out, "lost%zu", i);
        ck_assert_int_eq(remove(in(&w, path)), 0);
        if (cases[i].words) write_text(in(&w, path), cases[i].words);
        struct outcome run = run_program(&w, "-api_info", "dump.json", "--backend",
                                         cases[i].backend, "-o", out, NULL);
        ck_assert_msg(run.status == 0, "%s", run.err);
        outcome_free(&run);
        snprintf(pattern, sizeof pattern, "%s/accuracy_checking_result_*.csv", out);
        char *rows = read_file(only_match(&w, pattern), NULL);
        ck_assert_msg(strstr(rows, "Functional.relu.0,pass,SKIP,") != NULL, "case %zu: %s", i,
                      rows);
        ck_assert_msg(strstr(rows, cases[i].reason) != NULL, "case %zu: %s", i, rows);
        free(rows);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recorded_gradients");
    TCase *tests = tcase_create("recorded_gradients");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, gradients_are_dealt_to_their_arguments, 0,
                        sizeof backwards / sizeof *backwards);
    tcase_add_loop_test(tests, outputs_are_the_recorded_ones, 0,
                        sizeof forwards / sizeof *forwards);
    tcase_add_test(tests, a_linear_is_judged_by_its_own_gradients);
    tcase_add_test(tests, a_lost_file_of_the_backward_leaves_the_forward);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
