/* Recorded tensors: those of real dumps against the statistics recorded beside them, and names
 * that must not be followed. */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "core/file.h"
#include "core/memory.h"
#include "elements.h"
#include "formats/dump.h"
#include "formats/npy.h"
#include "formats/pt.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct arena arena;
static struct dump *dump;
static struct scratch scratch;

static void start(void)
{
    arena = (struct arena){ 0 };
    dump = NULL;
    scratch = scratch_make();
}

static void finish(void)
{
    dump_close(dump);
    arena_release(&arena);
    scratch_remove(&scratch);
}

/* ---- real dumps ------------------------------------------------------------------------- */

struct progress {
    struct arena *arena;
    size_t loaded;
};

/* Largest and smallest element in double; NaN when there is one. */
static void extremes(double *max, double *min, const struct tensor *t)
{
    size_t n = tensor_elements(t);
    *max = -INFINITY;
    *min = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double x[2] = { 0, 0 };
        dtype_to_double(x, (char *)t->data + i * dtype_info(t->dtype)->bytes, t->dtype, 1);
        /* The dumper takes statistics of float64 and integers in float32. */
        double value = dtype_is_complex(t->dtype) ? hypot(x[0], x[1]) : (double)(float)x[0];
        if (isnan(value)) {
            *max = *min = value;
            return;
        }
        if (value > *max) *max = value;
        if (value < *min) *min = value;
    }
}

static void compare(double got, struct statistic recorded, const struct tensor_record *r)
{
    if (recorded.kind == STATISTIC_ABSENT) return;
    double tolerance = dtype_is_complex(r->dtype) ? 1e-6 * fabs(recorded.number) : 0;
    ck_assert_msg((isnan(got) && isnan(recorded.number)) || got == recorded.number ||
                      fabs(got - recorded.number) <= tolerance,
                  "%s: %g, not %g", r->data_name, got, recorded.number);
}

static bool check_tensor(struct value *value, void *context)
{
    struct progress *progress = context;
    const struct tensor_record *r = value->tensor.record;
    struct tensor t, dense;
    double max, min;

    if (!r->data_name) return true;
    struct status status = dump_load_tensor(&t, progress->arena, dump, r);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    ck_assert_int_eq(t.dtype, r->dtype);
    check_shape(&t, r->rank, r->shape);
    ck_assert_int_eq(tensor_densify(&dense, progress->arena, &t).code, STATUS_OK);
    progress->loaded++;
    if (!tensor_elements(&t)) return true;
    extremes(&max, &min, &dense);
    compare(max, r->max, r);
    compare(min, r->min, r);
    return true;
}

static const struct {
    const char *name;
    size_t tensors; /* files in the directory */
} real_dumps[] = { { "m2/L1_tensor", 265 }, { "m5x/L1_tensor", 11 }, { "m5a/L1_tensor", 404 } };

/* Every file of the data directories is read, and its Max and Min are those recorded by the
 * dumper. */
START_TEST(real_data_have_the_recorded_statistics)
{
    char path[512];
    struct arena tensors = { 0 };
    struct progress progress = { .arena = &tensors };

    snprintf(path, sizeof path, "%s/dumps/%s/dump.json", PROBE_TEST_DATA, real_dumps[_i].name);
    ck_assert_int_eq(dump_open(&dump, path, FILES_TRUSTED).code, STATUS_OK);
    for (size_t i = 0; i < dump_count(dump); i++) {
        struct api_case c;
        ck_assert_int_eq(dump_read_case(&c, &arena, dump, i).code, STATUS_OK);
        struct value *lists[] = { &c.args, &c.kwargs, &c.outputs, &c.cotangents, &c.gradients };
        for (int k = 0; k < 5; k++) value_each_tensor(lists[k], check_tensor, &progress);
        dump_release_tensors(dump, &tensors);
        arena_reset(&tensors);
        arena_reset(&arena);
    }
    ck_assert_uint_eq(progress.loaded, real_dumps[_i].tensors);
    arena_release(&tensors);
}
END_TEST

/* ---- made-up dumps ---------------------------------------------------------------------- */

/* A dump with one tensor argument in the scratch directory; `fields` follow its shape. */
static void make_dump(const char *data_dir, const char *dtype, const char *shape,
                      const char *fields)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"dump_data_dir\": %s, \"data\": {\"Torch.f.0.forward\": {\"input_args\": [{\"type"
             "\": \"torch.Tensor\", \"dtype\": \"%s\", \"shape\": %s%s%s}]}}}",
             data_dir, dtype, shape, fields ? ", " : "", fields ? fields : "");
    dump_close(dump);
    remove(scratch_path(&scratch, "dump.json"));
    struct status status =
        dump_open(&dump, scratch_text(&scratch, "dump.json", text), FILES_CHECKED);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
}

static struct status load(struct tensor *out)
{
    struct api_case c;
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
    return dump_load_tensor(out, &arena, dump, c.args.list.items[0].tensor.record);
}

static void write_tensor(const char *name, enum dtype dtype, int rank, const int64_t *shape)
{
    struct tensor t;
    fill_tensor(&t, &arena, dtype, rank, shape);
    const char *path = scratch_path(&scratch, name);
    struct status status = strstr(name, ".npy") ? npy_write(path, &t, &arena)
                                                : pt_write(path, &t, &arena);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
}

static void make_data_directory(void)
{
    ck_assert_int_eq(mkdir(scratch_path(&scratch, "dump_tensor_data"), 0750), 0);
}

static const int64_t six[] = { 2, 3 };

START_TEST(pt_and_npy_files_are_loaded)
{
    struct tensor t;
    make_data_directory();
    write_tensor("dump_tensor_data/a.pt", DT_F32, 2, six);
    write_tensor("dump_tensor_data/a.npy", DT_I64, 2, six);
    make_dump("\"anything\"", "torch.float32", "[2, 3]", "\"data_name\": \"a.pt\"");
    ck_assert_int_eq(load(&t).code, STATUS_OK);
    check_elements(&t);
    make_dump("\"anything\"", "torch.int64", "[2, 3]", "\"data_name\": \"a.npy\"");
    ck_assert_int_eq(load(&t).code, STATUS_OK);
    check_elements(&t);
}
END_TEST

/* bfloat16 and float8 come as float32 in .npy; values that are none of theirs are refused. */
START_TEST(widened_types_are_narrowed)
{
    struct tensor t;
    make_data_directory();
    write_tensor("dump_tensor_data/b.npy", DT_BF16, 2, six);
    write_tensor("dump_tensor_data/e.npy", DT_F8E5M2, 2, six);
    make_dump("\"x\"", "torch.bfloat16", "[2, 3]", "\"data_name\": \"b.npy\"");
    ck_assert_int_eq(load(&t).code, STATUS_OK);
    ck_assert_int_eq(t.dtype, DT_BF16);
    check_elements(&t);
    make_dump("\"x\"", "torch.float8_e5m2", "[2, 3]", "\"data_name\": \"e.npy\"");
    ck_assert_int_eq(load(&t).code, STATUS_OK);
    check_elements(&t);

    struct tensor fine;
    fill_tensor(&fine, &arena, DT_F32, 2, six);
    ((float *)fine.data)[3] = 1.0001f;
    ck_assert_int_eq(
        npy_write(scratch_path(&scratch, "dump_tensor_data/f.npy"), &fine, &arena).code, STATUS_OK);
    make_dump("\"x\"", "torch.bfloat16", "[2, 3]", "\"data_name\": \"f.npy\"");
    struct status status = load(&t);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "holds elements of torch.float32, and the dump says "
                                              "torch.bfloat16"));
}
END_TEST

/* NaN stays one in every narrow type, infinities where there are any; other types are not widened. */
START_TEST(odd_values_are_narrowed)
{
    static const struct {
        const char *dtype;
        float value;
        bool fits;
        /* clang-format off */
    } rows[] = {
        { "torch.bfloat16", NAN, true },       { "torch.bfloat16", INFINITY, true },
        { "torch.float8_e5m2", NAN, true },    { "torch.float8_e5m2", -INFINITY, true },
        { "torch.float8_e5m2", 57344, true },  { "torch.float8_e5m2", 1e9f, false },
        { "torch.float8_e4m3fn", NAN, true },  { "torch.float8_e4m3fn", INFINITY, false },
        { "torch.float8_e4m3fn", 448, true },  { "torch.float8_e4m3fn", 1.0625f, false },
        { "torch.float16", 1, false },         { "torch.float64", 1, false },
        { "torch.bool", 1, false },
    };
    /* clang-format on */
    make_data_directory();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tensor wide, t;
        const char *path = scratch_path(&scratch, "dump_tensor_data/x.npy");
        fill_tensor(&wide, &arena, DT_F32, 2, six);
        for (int k = 0; k < 6; k++) ((float *)wide.data)[k] = k == 4 ? rows[i].value : 0.5f;
        remove(path);
        ck_assert_int_eq(npy_write(path, &wide, &arena).code, STATUS_OK);
        make_dump("\"x\"", rows[i].dtype, "[2, 3]", "\"data_name\": \"x.npy\"");
        struct status status = load(&t);
        ck_assert_msg(status.code == (rows[i].fits ? STATUS_OK : STATUS_SKIP), "%s of %g: %s",
                      rows[i].dtype, (double)rows[i].value, status.text);
        if (!rows[i].fits) {
            ck_assert_ptr_nonnull(strstr(status.text, rows[i].dtype));
            continue;
        }
        float back[6];
        dtype_to_float(back, t.data, t.dtype, 6);
        for (int k = 0; k < 6; k++) {
            float want = ((float *)wide.data)[k];
            ck_assert(back[k] == want || (isnan(back[k]) && isnan(want)));
        }
    }
}
END_TEST

START_TEST(files_must_agree_with_the_record)
{
    struct tensor t;
    make_data_directory();
    write_tensor("dump_tensor_data/a.pt", DT_F32, 2, six);
    make_dump("\"x\"", "torch.float16", "[2, 3]", "\"data_name\": \"a.pt\"");
    struct status status = load(&t);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "dump_tensor_data/a.pt"));
    ck_assert_ptr_nonnull(strstr(status.text, "torch.float32, and the dump says torch.float16"));
    make_dump("\"x\"", "torch.float32", "[3, 2]", "\"data_name\": \"a.pt\"");
    status = load(&t);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "has the shape (2, 3), and the dump says (3, 2)"));
}
END_TEST

/* The directory beside the dump comes first, then the recorded string; without either, or with a
 * dump of statistics, there is a reason. */
START_TEST(directories_in_their_order)
{
    struct tensor t;
    char recorded[256];

    ck_assert_int_eq(mkdir(scratch_path(&scratch, "elsewhere"), 0750), 0);
    write_tensor("elsewhere/a.pt", DT_F32, 2, six);
    snprintf(recorded, sizeof recorded, "\"%s\"", scratch_path(&scratch, "elsewhere"));
    make_dump(recorded, "torch.float32", "[2, 3]", "\"data_name\": \"a.pt\"");
    ck_assert_int_eq(load(&t).code, STATUS_OK);

    make_data_directory();
    make_dump(recorded, "torch.float32", "[2, 3]", "\"data_name\": \"a.pt\"");
    struct status status = load(&t);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "dump_tensor_data/a.pt' does not exist"));

    ck_assert_int_eq(rmdir(scratch_path(&scratch, "dump_tensor_data")), 0);
    make_dump("\"/nonexistent\"", "torch.float32", "[2, 3]", "\"data_name\": \"a.pt\"");
    status = load(&t);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "dump_tensor_data' nor in '"));

    make_dump("null", "torch.float32", "[2, 3]", "\"data_name\": \"a.pt\"");
    status = load(&t);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "names no data directory"));
    make_dump("\"x\"", "torch.float32", "[2, 3]", NULL);
    status = load(&t);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "names no data file"));
}
END_TEST

/* Whole paths of old dumps count from the data directory's name, so that moved dumps work. */
START_TEST(recorded_paths_of_moved_dumps)
{
    struct tensor t;
    make_data_directory();
    write_tensor("dump_tensor_data/a.pt", DT_F32, 2, six);
    make_dump("\"x\"", "torch.float32", "[2, 3]",
              "\"datapath\": \"/gone/step0/dump_tensor_data/a.pt\", \"data_name\": \"b.pt\"");
    struct status status = load(&t);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);

    /* The last directory of that name counts, and only a whole name does. */
    static const struct {
        const char *path;
        bool found;
    } rows[] = {
        { "/dump_tensor_data/a.pt", true },
        { "/dump_tensor_data/gone/dump_tensor_data/a.pt", true },
        { "/my_dump_tensor_data/dump_tensor_data/a.pt", true },
        { "/my_dump_tensor_data/a.pt", false },
        { "/dump_tensor_data2/a.pt", false },
        { "/gone/dump_tensor_data", false },
        { "/gone/a.pt", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char fields[200];
        snprintf(fields, sizeof fields, "\"datapath\": \"%s\"", rows[i].path);
        make_dump("\"x\"", "torch.float32", "[2, 3]", fields);
        status = load(&t);
        ck_assert_msg(status.code == (rows[i].found ? STATUS_OK : STATUS_SKIP), "%s: %s",
                      rows[i].path, status.text);
        if (!rows[i].found) ck_assert_ptr_nonnull(strstr(status.text, "leaves the directory"));
    }
}
END_TEST

/* Names that leave the directory, or lead to what is no plain file, are not followed. */
START_TEST(names_do_not_leave_the_directory)
{
    /* clang-format off */
    static const char *const names[] = {
        "../secret.pt", "./../secret.pt", "sub/../../secret.pt", "link.pt", "near.pt",
        "up/secret.pt", "/etc/passwd", "/x/dump_tensor_data/../secret.pt",
        "/dump_tensor_data/dump_tensor_data/../../secret.pt", "fifo.pt", "sub", "", ".", "..",
        "sub/", "a.pt/", "a\\nb.pt", "none.pt", "a.bin", "a",
    };
    /* clang-format on */
    struct tensor t;
    char fields[256];

    make_data_directory();
    write_tensor("secret.pt", DT_F32, 2, six);
    write_tensor("dump_tensor_data/a.pt", DT_F32, 2, six);
    scratch_text(&scratch, "dump_tensor_data/a.bin", "x");
    ck_assert_int_eq(mkdir(scratch_path(&scratch, "dump_tensor_data/sub"), 0750), 0);
    ck_assert_int_eq(symlink("../secret.pt", scratch_path(&scratch, "dump_tensor_data/link.pt")),
                     0);
    ck_assert_int_eq(symlink("a.pt", scratch_path(&scratch, "dump_tensor_data/near.pt")), 0);
    ck_assert_int_eq(symlink("..", scratch_path(&scratch, "dump_tensor_data/up")), 0);
    ck_assert_int_eq(mkfifo(scratch_path(&scratch, "dump_tensor_data/fifo.pt"), 0640), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(fields, sizeof fields, "\"data_name\": \"%s\"", names[i]);
        make_dump("\"x\"", "torch.float32", "[2, 3]", fields);
        struct status status = load(&t);
        ck_assert_msg(status.code == STATUS_SKIP, "'%s': %d %s", names[i], status.code,
                      status.text);
        ck_assert_uint_gt(strlen(status.text), 20);
    }
}
END_TEST

START_TEST(damaged_files_skip)
{
    struct tensor t;
    make_data_directory();
    write_tensor("dump_tensor_data/a.pt", DT_F32, 2, six);
    const char *path = scratch_path(&scratch, "dump_tensor_data/a.pt");
    ck_assert_int_eq(truncate(path, 100), 0);
    make_dump("\"x\"", "torch.float32", "[2, 3]", "\"data_name\": \"a.pt\"");
    struct status status = load(&t);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "its end is missing"));
    ck_assert_int_eq(chmod(path, 0666), 0);
    status = load(&t);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "can be written by every user"));
}
END_TEST

/* Big files are mapped: they cost no arena, and go with the arena they were loaded for. */
START_TEST(big_files_are_mapped)
{
    static const int64_t million[] = { 1 << 20 };
    struct arena other = { 0 };
    struct tensor t, u;
    struct api_case c;

    make_data_directory();
    write_tensor("dump_tensor_data/a.pt", DT_F32, 1, million);
    arena_release(&arena);
    make_dump("\"x\"", "torch.float32", "[1048576]", "\"data_name\": \"a.pt\"");
    ck_assert_int_eq(load(&t).code, STATUS_OK);
    ck_assert_uint_lt(arena.held_bytes, 1 << 20);
    check_elements(&t);
    ck_assert_int_eq(dump_read_case(&c, &other, dump, 0).code, STATUS_OK);
    ck_assert_int_eq(dump_load_tensor(&u, &other, dump, c.args.list.items[0].tensor.record).code,
                     STATUS_OK);
    ck_assert_ptr_ne(t.data, u.data);
    dump_release_tensors(dump, &other);
    check_elements(&t); /* still there */
    ck_assert_int_eq(dump_load_tensor(&u, &other, dump, c.args.list.items[0].tensor.record).code,
                     STATUS_OK);
    check_elements(&u);
    arena_release(&other);
}
END_TEST

static enum file_operation faulty;
static int operations_left;

static int fail_operation(enum file_operation operation, const char *path)
{
    (void)path;
    return operation == faulty && operations_left-- == 0 ? 5 /* EIO */ : 0;
}

/* Every system call of a load fails once: the call is skipped, with the reason; a small file is
 * read, a big one mapped. */
START_TEST(failing_system_calls_skip)
{
    static const enum file_operation operations[] = { FILE_OPEN, FILE_STAT, FILE_MAP, FILE_READ };
    static const int64_t shapes[2] = { 6, 100000 };
    struct tensor t;
    struct api_case c;

    make_data_directory();
    for (int big = 0; big < 2; big++) {
        char name[32], fields[64], shape[32];
        snprintf(name, sizeof name, "dump_tensor_data/%d.pt", big);
        snprintf(fields, sizeof fields, "\"data_name\": \"%d.pt\"", big);
        snprintf(shape, sizeof shape, "[%d]", (int)shapes[big]);
        write_tensor(name, DT_F32, 1, &shapes[big]);
        make_dump("\"x\"", "torch.float32", shape, fields);
        ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
        const struct tensor_record *record = c.args.list.items[0].tensor.record;
        int failures = 0;
        for (int o = 0; o < 4; o++) {
            for (int n = 0;; n++) {
                faulty = operations[o];
                operations_left = n;
                file_fault = fail_operation;
                struct status status = dump_load_tensor(&t, &arena, dump, record);
                file_fault = NULL;
                if (operations_left >= 0) {
                    ck_assert_int_eq(status.code, STATUS_OK);
                    break;
                }
                ck_assert_int_eq(status.code, STATUS_SKIP);
                ck_assert_ptr_nonnull(strstr(status.text, "Input/output error"));
                failures++;
            }
        }
        ck_assert_int_ge(failures, 4);
    }
}
END_TEST

static int fail_allocation(size_t bytes)
{
    (void)bytes;
    return operations_left-- == 0;
}

START_TEST(failing_allocations_are_no_skip)
{
    static const int64_t shape[] = { 100000 };
    struct tensor t;
    struct api_case c;

    make_data_directory();
    write_tensor("dump_tensor_data/a.pt", DT_F32, 1, shape);
    make_dump("\"x\"", "torch.float32", "[100000]", "\"data_name\": \"a.pt\"");
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
    const struct tensor_record *record = c.args.list.items[0].tensor.record;
    int failures = 0;
    for (int n = 0;; n++) {
        struct arena own = { 0 };
        operations_left = n;
        memory_fault = fail_allocation;
        struct status status = dump_load_tensor(&t, &own, dump, record);
        memory_fault = NULL;
        dump_release_tensors(dump, &own);
        arena_release(&own);
        if (operations_left >= 0) {
            ck_assert_int_eq(status.code, STATUS_OK);
            break;
        }
        ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
        failures++;
    }
    ck_assert_int_ge(failures, 2);
}
END_TEST

/* Several threads load and release at once (for TSan). */
static void *load_many(void *context)
{
    struct arena own = { 0 };
    (void)context;
    for (int i = 0; i < 50; i++) {
        struct api_case c;
        struct tensor t;
        if (dump_read_case(&c, &own, dump, 0).code ||
            dump_load_tensor(&t, &own, dump, c.args.list.items[0].tensor.record).code ||
            ((float *)t.data)[11] != (float)((77 % 11 - 3) / 8.0))
            return (void *)1;
        dump_release_tensors(dump, &own);
        arena_reset(&own);
    }
    arena_release(&own);
    return NULL;
}

START_TEST(threads_share_a_dump)
{
    static const int64_t shape[] = { 100000 };
    pthread_t threads[4];
    make_data_directory();
    write_tensor("dump_tensor_data/a.pt", DT_F32, 1, shape);
    make_dump("\"x\"", "torch.float32", "[100000]", "\"data_name\": \"a.pt\"");
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, load_many, NULL);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        ck_assert_ptr_null(result);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dump_data");
    TCase *tests = tcase_create("dump_data");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, start, finish);
    tcase_add_loop_test(tests, real_data_have_the_recorded_statistics, 0, 3);
    tcase_add_test(tests, pt_and_npy_files_are_loaded);
    tcase_add_test(tests, widened_types_are_narrowed);
    tcase_add_test(tests, odd_values_are_narrowed);
    tcase_add_test(tests, files_must_agree_with_the_record);
    tcase_add_test(tests, directories_in_their_order);
    tcase_add_test(tests, recorded_paths_of_moved_dumps);
    tcase_add_test(tests, names_do_not_leave_the_directory);
    tcase_add_test(tests, damaged_files_skip);
    tcase_add_test(tests, big_files_are_mapped);
    tcase_add_test(tests, failing_system_calls_skip);
    tcase_add_test(tests, failing_allocations_are_no_skip);
    tcase_add_test(tests, threads_share_a_dump);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
