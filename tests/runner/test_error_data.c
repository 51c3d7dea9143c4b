/* The names of saved tensors: those of dumpers stay, whatever else a dump writes stays in the directory
 * and apart from others. */
#include "bench/bench.h"
#include "runner/error_data.h"
#include "support/cases.h"
#include "support/suite.h"
#include "support/workspace.h"

static const int64_t shape[] = { 3 };

/* Save the tensors of one call of neg, named `name`, whose device returned x + step. */
static void save(const struct workspace *w, const char *name, double step)
{
    struct arena arena = { 0 };
    static const double elements[] = { 1, 2, 3 };
    const double returned[] = { 1 + step, 2 + step, 3 + step };
    struct value x = tensor_value(&arena, DT_F32, true, 1, shape, elements, 3);
    struct value y = tensor_value(&arena, DT_F32, false, 1, shape, returned, 3);
    struct api_case c = make_case(&arena, "Torch", "neg", list_value(&arena, 1, x));
    struct bench *bench;
    struct status status = bench_open(&bench, &c, &arena, BENCH_REFERENCE);
    ck_assert_msg(!status.code, "%s", status.text);
    const struct device_result got = { .outputs = list_value(&arena, 1, y) };
    const struct bench_precision precision = precision_of_case(&c);
    const struct call_tensors tensors = {
        .c = &c, .bench = bench, .got = &got, .precision = &precision
    };
    const struct error_data data = { in(w, "saved"), &error_layout_numbered };
    c.full_name = name;
    status = error_data_save(&data, &arena, &tensors);
    ck_assert_msg(!status.code, "'%s': %s", name, status.text);
    arena_release(&arena);
}

static size_t files(const struct workspace *w, const char *stem)
{
    static const char *const parts[] = { "forward.input.0", "forward.output.bench.0",
                                         "forward.output.device.0" };
    size_t count = 0;
    for (size_t i = 0; i < 3; i++) {
        char path[600];
        struct stat st;
        snprintf(path, sizeof path, "saved/%s.%s.pt", stem, parts[i]);
        count += !lstat(in(w, path), &st) && S_ISREG(st.st_mode);
    }
    return count;
}

/* Digests are FNV-1a of the whole name. */
START_TEST(names_stay_in_the_directory)
{
#define X40 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    static const char long_name[] = X40 X40 X40 X40;
    static const struct {
        const char *name, *stem;
    } rows[] = {
        { "Torch.linalg.inv-x_1.0", "Torch.linalg.inv-x_1.0" },
        { long_name, long_name },
        { X40 X40 X40 X40 "x", X40 X40 X40 X40 "~b3d760051575ac87" },
        { ".hidden", "_hidden~28280da0cdcb6865" },
        { "..", "_.~07da1a07b4a03f2d" },
        { "a/b c", "a_b_c~9ec6f9bc43112c30" },
        { "Torch.add.0'; rm -rf", "Torch.add.0___rm_-rf~b0314bb009a42216" },
        { "\xe5\x90\x8d", "___~19d4781b662717e7" },
    };
    struct workspace w = workspace_make();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        save(&w, rows[i].name, 0);
        ck_assert_msg(files(&w, rows[i].stem) == 3, "'%s' is not saved as '%s'", rows[i].name,
                      rows[i].stem);
        /* No other files: a name says where its three are, and nothing lies elsewhere. */
        ck_assert_uint_eq(count_matches(&w, "saved/*") + count_matches(&w, "saved/.[!.]*"),
                          3 * (i + 1));
        ck_assert_uint_eq(count_matches(&w, "*"), 1);
    }
    workspace_remove(&w);
}
END_TEST

/* A second attempt at a call puts its own tensors in the place of the first one's. */
START_TEST(files_of_an_earlier_attempt_are_replaced)
{
    struct workspace w = workspace_make();
    save(&w, "Torch.neg.0", 0);
    save(&w, "Torch.neg.1", 1);
    char *first = read_file(in(&w, "saved/Torch.neg.0.forward.output.device.0.pt"), NULL);
    ck_assert_ptr_nonnull(first);
    free(first);
    save(&w, "Torch.neg.0", 1);
    assert_same_files(in(&w, "saved/Torch.neg.0.forward.output.device.0.pt"),
                      in(&w, "saved/Torch.neg.1.forward.output.device.0.pt"));
    assert_same_files(in(&w, "saved/Torch.neg.0.forward.input.0.pt"),
                      in(&w, "saved/Torch.neg.1.forward.input.0.pt"));
    ck_assert_uint_eq(count_matches(&w, "saved/*"), 6);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("error_data");
    TCase *tests = tcase_create("error_data");
    tcase_add_test(tests, names_stay_in_the_directory);
    tcase_add_test(tests, files_of_an_earlier_attempt_are_replaced);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
