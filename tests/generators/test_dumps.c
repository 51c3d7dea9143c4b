/* Every call of the real dumps in tests/data: inputs can be made for all of them, lie in
 * the recorded range unless a note says why not, and are the same bits in any order, on any
 * thread and for any subset; stored tensors are handed on as they are. */
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "case_builder.h"

/* The last holds calls whose arguments a uniform draw would make illegal. */
static const char *const statistics_dumps[] = {
    "dumps/m1/L1_statistics/dump.json",  "dumps/m2/L1_statistics/dump.json",
    "dumps/m2/mix_statistics/dump.json", "dumps/m2_bf16/L1_statistics/dump.json",
    "dumps/m3/L1_statistics/dump.json",  "dumps/m5a/L1_statistics/dump.json",
    "dumps/m5x/L1_statistics/dump.json", "generators/awkward_calls.json",
};
enum { AWKWARD = 7 };
static const char *const tensor_dumps[] = { "dumps/m2/L1_tensor/dump.json",
                                            "dumps/m5a/L1_tensor/dump.json",
                                            "dumps/m5x/L1_tensor/dump.json" };

static struct dump *open_dump(const char *name)
{
    struct dump *dump;
    char path[500];
    snprintf(path, sizeof path, "%s/%s", PROBE_TEST_DATA, name);
    struct status status = dump_open(&dump, path, FILES_CHECKED);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    return dump;
}

struct call {
    struct arena arena;
    struct api_case c;
    struct generate_notes notes;
};

static void make_call(struct call *call, const struct dump *dump, size_t i, bool keep_recorded)
{
    const struct generate_options options = { .seed = 1234, .keep_recorded = keep_recorded };
    struct status status = dump_read_case(&call->c, &call->arena, dump, i);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    status = generate_inputs(&call->c, &call->notes, &call->arena, dump, &options);
    ck_assert_msg(status.code == STATUS_OK, "%s: %s", call->c.full_name, status.text);
}

/* ---- ranges ------------------------------------------------------------------------- */

/* What a test of one tensor needs to know of its call. */
struct check {
    const struct call *call;
    size_t tensors;
};

static bool call_noted(const struct call *call, const char *text)
{
    for (size_t i = 0; i < call->notes.count; i++)
        if (strstr(call->notes.lines[i], text)) return true;
    return false;
}

/* |x| of each element, or x where it is real. */
static double magnitude(const double *x, size_t i, bool is_complex)
{
    return is_complex ? hypot(x[2 * i], x[2 * i + 1]) : x[i];
}

static void check_range(struct check *check, const struct value *value, const char *where)
{
    const struct tensor_record *record = value->tensor.record;
    const struct tensor *tensor = value->tensor.tensor;
    const char *name = check->call->c.full_name;
    bool is_complex = dtype_is_complex(record->dtype);
    size_t n = tensor_elements(tensor), nans = 0, infinities = 0;

    check->tensors++;
    ck_assert_int_eq(tensor->dtype, record->dtype);
    ck_assert_int_eq(tensor->rank, record->rank);
    for (int d = 0; d < record->rank; d++) ck_assert_int_eq(tensor->shape[d], record->shape[d]);
    if (n == 0) return;
    double *x = calloc(2 * n, sizeof *x);
    dtype_to_double(x, tensor->data, tensor->dtype, n);
    double lo = record->min.number, hi = record->max.number;
    for (size_t i = 0; i < n; i++) {
        double m = magnitude(x, i, is_complex);
        nans += isnan(m);
        infinities += isinf(m) != 0;
        /* HF32 rounding may step over a bound by 2^-12 of it, as it does on both sides. */
        double slack = call_noted(check->call, "HF32") ? 0x1p-12 * fmax(fabs(lo), fabs(hi)) : 0;
        if (!isnan(lo) && !isnan(m) && !isinf(m))
            ck_assert_msg(m >= lo - slack && m <= hi + slack,
                          "%s %s[%zu] = %.17g not in [%.17g, %.17g]", name, where, i, m, lo, hi);
    }
    ck_assert_msg(nans == (size_t)(isnan(lo) != 0), "%s %s: %zu NaN", name, where, nans);
    if (!isnan(lo) && lo < hi)
        ck_assert_msg(infinities == (size_t)(isinf(lo) != 0) + (size_t)(isinf(hi) != 0),
                      "%s %s: %zu infinities", name, where, infinities);
    free(x);
}

static bool check_input(struct value *value, void *context)
{
    check_range(context, value, "input");
    return true;
}

START_TEST(elements_lie_in_the_recorded_range)
{
    struct dump *dump = open_dump(statistics_dumps[_i]);
    size_t tensors = 0;

    for (size_t i = 0; i < dump_count(dump); i++) {
        struct call call = { 0 };
        struct check check = { &call, 0 };
        make_call(&call, dump, i, false);
        (void)value_each_tensor(&call.c.args, check_input, &check);
        (void)value_each_tensor(&call.c.kwargs, check_input, &check);
        (void)value_each_tensor(&call.c.cotangents, check_input, &check);
        size_t bytes = generate_input_bytes(&call.c);
        ck_assert_uint_ne(bytes, SIZE_MAX);
        tensors += check.tensors;
        arena_release(&call.arena);
    }
    ck_assert_uint_gt(tensors, 0);
    dump_close(dump);
}
END_TEST

/* ---- order and threads -------------------------------------------------------------- */

static bool add_hash(struct value *value, void *context)
{
    uint64_t *hash = context;
    *hash = *hash * 31 + hash_tensor(value->tensor.tensor);
    return true;
}

static uint64_t hash_call(const struct dump *dump, size_t i)
{
    struct call call = { 0 };
    uint64_t hash = 0;
    make_call(&call, dump, i, false);
    (void)value_each_tensor(&call.c.args, add_hash, &hash);
    (void)value_each_tensor(&call.c.kwargs, add_hash, &hash);
    (void)value_each_tensor(&call.c.cotangents, add_hash, &hash);
    arena_release(&call.arena);
    return hash;
}

struct worker {
    const struct dump *dump;
    uint64_t *hashes;
    size_t first, step;
};

static void *hash_every_nth(void *context)
{
    const struct worker *worker = context;
    for (size_t i = worker->first; i < dump_count(worker->dump); i += worker->step)
        worker->hashes[i] = hash_call(worker->dump, i);
    return NULL;
}

/* Forward, backward, and on four threads at once: the same bits for every call; and a
 * second reading of the file changes nothing. */
START_TEST(order_and_threads_do_not_matter)
{
    enum { THREADS = 4 };
    struct dump *dump = open_dump(statistics_dumps[_i]);
    size_t n = dump_count(dump);
    uint64_t *forward = calloc(n, sizeof *forward), *threaded = calloc(n, sizeof *threaded);
    pthread_t threads[THREADS];
    struct worker workers[THREADS];

    for (size_t i = 0; i < n; i++) forward[i] = hash_call(dump, i);
    for (size_t i = n; i-- > 0;) ck_assert_uint_eq(hash_call(dump, i), forward[i]);
    for (size_t t = 0; t < THREADS; t++) {
        workers[t] = (struct worker){ dump, threaded, t, THREADS };
        ck_assert_int_eq(pthread_create(&threads[t], NULL, hash_every_nth, &workers[t]), 0);
    }
    for (size_t t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    ck_assert_mem_eq(threaded, forward, n * sizeof *forward);
    dump_close(dump);
    dump = open_dump(statistics_dumps[_i]);
    ck_assert_uint_eq(hash_call(dump, n / 2), forward[n / 2]);
    free(forward);
    free(threaded);
    dump_close(dump);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------- */

/* Inputs of call `i` with `room` bytes left in the arena. */
static struct status make_within(const struct dump *dump, size_t i, size_t room, size_t *used)
{
    const struct generate_options options = { .seed = 1234 };
    struct call call = { 0 };
    struct status status = dump_read_case(&call.c, &call.arena, dump, i);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    size_t before = call.arena.used_bytes;
    if (room < SIZE_MAX) call.arena.limit_bytes = before + room;
    status = generate_inputs(&call.c, &call.notes, &call.arena, dump, &options);
    *used = call.arena.used_bytes - before;
    /* What the call takes was foretold, but for paths, notes and file headers. */
    ck_assert_uint_le(*used, generate_input_bytes(&call.c) + 8192);
    arena_release(&call.arena);
    return status;
}

/* Every call with less memory than it takes, in steps of an allocation: an error each time.
 * Only a note may be lost for want of memory. */
START_TEST(too_little_memory_is_an_error)
{
    struct dump *dump = open_dump(statistics_dumps[AWKWARD]);
    for (size_t i = 0; i < dump_count(dump); i++) {
        size_t needed, used;
        ck_assert_int_eq(make_within(dump, i, SIZE_MAX, &needed).code, STATUS_OK);
        size_t failures = 0;
        for (size_t room = 0; room < needed; room += 64) {
            struct status status = make_within(dump, i, room, &used);
            ck_assert(status.code == STATUS_OK || status.code == STATUS_NO_MEMORY);
            failures += status.code != STATUS_OK;
        }
        ck_assert_uint_gt(failures, 1);
    }
    dump_close(dump);
}
END_TEST

/* ---- stored tensors ----------------------------------------------------------------- */

struct stored {
    size_t tensors;
    const struct api_case *c;
};

/* The stored elements have the recorded extremes, computed in float32 as the dumper did. */
static bool check_stored(struct value *value, void *context)
{
    struct stored *stored = context;
    const struct tensor_record *record = value->tensor.record;
    const struct tensor *tensor = value->tensor.tensor;
    struct arena arena = { 0 };
    struct tensor dense;

    if (!record->data_name || !tensor) return true;
    stored->tensors++;
    ck_assert_int_eq(tensor->dtype, record->dtype);
    ck_assert_int_eq(tensor_densify(&dense, &arena, tensor).code, STATUS_OK);
    size_t n = tensor_elements(&dense);
    float highest = -INFINITY;
    double *x = arena_allocate_array(&arena, 2 * n, sizeof *x);
    dtype_to_double(x, dense.data, dense.dtype, n);
    for (size_t i = 0; i < n && !dtype_is_complex(dense.dtype); i++) {
        if (!((float)x[i] <= highest)) highest = (float)x[i];
        if (isnan(x[i])) break;
    }
    if (n && !dtype_is_complex(dense.dtype))
        ck_assert_msg(highest == (float)record->max.number ||
                          (isnan(highest) && isnan(record->max.number)),
                      "%s: %s", stored->c->full_name, record->data_name);
    arena_release(&arena);
    return true;
}

START_TEST(stored_tensors_are_handed_on)
{
    struct dump *dump = open_dump(tensor_dumps[_i]);
    struct stored stored = { 0 }, results = { 0 };

    for (size_t i = 0; i < dump_count(dump); i++) {
        struct call call = { 0 };
        make_call(&call, dump, i, true);
        stored.c = results.c = &call.c;
        (void)value_each_tensor(&call.c.args, check_stored, &stored);
        (void)value_each_tensor(&call.c.kwargs, check_stored, &stored);
        (void)value_each_tensor(&call.c.cotangents, check_stored, &stored);
        ck_assert_msg(call.notes.count == 0, "%s: %s", call.c.full_name, call.notes.lines[0]);
        struct status status = generate_load_outputs(&call.c, &call.arena, dump);
        ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
        status = generate_load_gradients(&call.c, &call.arena, dump);
        ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
        (void)value_each_tensor(&call.c.outputs, check_stored, &results);
        (void)value_each_tensor(&call.c.gradients, check_stored, &results);
        arena_release(&call.arena);
    }
    ck_assert_uint_gt(stored.tensors, 5);
    ck_assert_uint_gt(results.tensors, 1);
    dump_close(dump);
}
END_TEST

/* A dump of one call in a fresh directory, with stored tensors from tests/data/pt. */
struct small_dump {
    char directory[64];
    struct dump *dump;
};

static void copy_file(const char *from, const char *to)
{
    static char bytes[100000];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    ck_assert_ptr_nonnull(in);
    ck_assert_ptr_nonnull(out);
    size_t n = fread(bytes, 1, sizeof bytes, in);
    ck_assert_uint_eq(fwrite(bytes, 1, n, out), n);
    fclose(in);
    ck_assert_int_eq(fclose(out), 0);
}

static const char *const stored_files[] = { "float32.view.zip.pt", "int32.view.zip.pt" };

static struct small_dump make_small_dump(const char *text)
{
    struct small_dump small = { .directory = "/tmp/test_dumps_XXXXXX" };
    char path[300], from[300];

    ck_assert_ptr_nonnull(mkdtemp(small.directory));
    snprintf(path, sizeof path, "%s/dump_tensor_data", small.directory);
    ck_assert_int_eq(mkdir(path, 0750), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/dump_tensor_data/%s", small.directory, stored_files[i]);
        snprintf(from, sizeof from, "%s/pt/%s", PROBE_TEST_DATA, stored_files[i]);
        copy_file(from, path);
    }
    snprintf(path, sizeof path, "%s/dump.json", small.directory);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    chmod(path, 0640);
    struct status status = dump_open(&small.dump, path, FILES_CHECKED);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    return small;
}

static void remove_small_dump(struct small_dump *small)
{
    char path[300];
    dump_close(small->dump);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/dump_tensor_data/%s", small->directory, stored_files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/dump_tensor_data", small->directory);
    rmdir(path);
    snprintf(path, sizeof path, "%s/dump.json", small->directory);
    unlink(path);
    rmdir(small->directory);
}

#define TENSOR_TEXT(DTYPE, SHAPE, LO, HI, MORE)                                      \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch." DTYPE "\", \"shape\": " SHAPE \
    ", \"Max\": " HI ", \"Min\": " LO ", \"Mean\": 0.1, \"Norm\": 1.0, "             \
    "\"requires_grad\": false" MORE "}"
#define VIEW_TEXT                                          \
    TENSOR_TEXT("float32", "[2, 2, 5]", "-0.375", "0.875", \
                ", \"data_name\": \"float32.view.zip.pt\"")
#define CALL_TEXT(DIRECTORY, NAME, ARGUMENTS)                                \
    "{\"task\": \"tensor\", \"level\": \"L1\", \"framework\": \"pytorch\", " \
    "\"dump_data_dir\": " DIRECTORY ", \"data\": {\"" NAME ".forward\": "    \
    "{\"input_args\": [" ARGUMENTS "], \"input_kwargs\": {}, \"output\": []}}}"

static void run_small(struct call *call, const struct small_dump *small, bool keep_recorded)
{
    *call = (struct call){ 0 };
    make_call(call, small->dump, 0, keep_recorded);
}

static const struct tensor *argument(const struct call *call, size_t i)
{
    return call->c.args.list.items[i].tensor.tensor;
}

/* A stored view keeps its strides; a tensor beside it without a file is drawn. */
START_TEST(stored_views_stay_views)
{
    struct small_dump small = make_small_dump(
        CALL_TEXT("\"dump_tensor_data\"", "Torch.add.0",
                  VIEW_TEXT ", " TENSOR_TEXT("float32", "[2, 2, 5]", "3", "4", "")));
    struct call call;
    run_small(&call, &small, false);
    const struct tensor *view = argument(&call, 0), *drawn = argument(&call, 1);
    ck_assert(view->stride[0] == 1 && view->stride[1] == 6 && view->stride[2] == 12);
    ck_assert_float_eq(((const float *)view->data)[0], -0.375f);
    ck_assert_float_eq(((const float *)drawn->data)[0], 3);
    ck_assert_float_eq(((const float *)drawn->data)[19], 4);
    ck_assert_uint_eq(call.notes.count, 0);
    arena_release(&call.arena);
    remove_small_dump(&small);
}
END_TEST

/* Without a data directory the dump is one of statistics: data_name is not followed. */
START_TEST(names_without_a_directory_are_not_followed)
{
    struct small_dump small = make_small_dump(CALL_TEXT("null", "Torch.add.0", VIEW_TEXT));
    struct call call;
    run_small(&call, &small, false);
    ck_assert(tensor_is_dense(argument(&call, 0)));
    ck_assert_float_eq(((const float *)argument(&call, 0)->data)[19], 0.875f);
    arena_release(&call.arena);
    remove_small_dump(&small);
}
END_TEST

/* HF32 rounds a copy and leaves the file alone. 0.875 and its like have few bits, so the
 * rounding shows in the strides: the copy is dense. */
START_TEST(loaded_tensors_are_rounded_in_a_copy)
{
    struct small_dump small =
        make_small_dump(CALL_TEXT("\"dump_tensor_data\"", "Functional.conv1d.0", VIEW_TEXT));
    for (int keep = 0; keep < 2; keep++) {
        struct call call;
        run_small(&call, &small, keep);
        const struct tensor *tensor = argument(&call, 0);
        ck_assert_int_eq(tensor_is_dense(tensor), !keep);
        ck_assert_int_eq(call_noted(&call, "HF32"), !keep);
        ck_assert_float_eq(((const float *)tensor->data)[0], -0.375f);
        arena_release(&call.arena);
    }
    remove_small_dump(&small);
}
END_TEST

/* int32 targets of cross_entropy become int64, loaded ones too, element by element. */
START_TEST(loaded_targets_are_converted)
{
    struct small_dump small = make_small_dump(
        CALL_TEXT("\"dump_tensor_data\"", "Functional.cross_entropy.0",
                  VIEW_TEXT ", " TENSOR_TEXT("int32", "[2, 2, 5]", "-3", "7",
                                             ", \"data_name\": \"int32.view.zip.pt\"")));
    struct call kept, converted;
    run_small(&kept, &small, true);
    run_small(&converted, &small, false);
    ck_assert_int_eq(argument(&kept, 1)->dtype, DT_I32);
    ck_assert_int_eq(argument(&converted, 1)->dtype, DT_I64);
    struct tensor dense;
    ck_assert_int_eq(tensor_densify(&dense, &kept.arena, argument(&kept, 1)).code, STATUS_OK);
    const int32_t *want = dense.data;
    const int64_t *got = argument(&converted, 1)->data;
    for (int i = 0; i < 20; i++) ck_assert_int_eq(got[i], want[i]);
    ck_assert_int_eq(got[0], -3);
    ck_assert(call_noted(&converted, "converted"));
    arena_release(&kept.arena);
    arena_release(&converted.arena);
    remove_small_dump(&small);
}
END_TEST

/* A missing file is a reason to skip, and says which. */
START_TEST(missing_files_are_named)
{
    struct small_dump small = make_small_dump(
        CALL_TEXT("\"dump_tensor_data\"", "Torch.add.0",
                  TENSOR_TEXT("float32", "[3]", "0", "1", ", \"data_name\": \"gone.pt\"")));
    const struct generate_options options = { .seed = 1234 };
    struct call call = { 0 };
    ck_assert_int_eq(dump_read_case(&call.c, &call.arena, small.dump, 0).code, STATUS_OK);
    struct status status = generate_inputs(&call.c, &call.notes, &call.arena, small.dump, &options);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "gone.pt"));
    ck_assert_ptr_nonnull(strstr(status.text, "input.0"));
    arena_release(&call.arena);
    remove_small_dump(&small);
}
END_TEST

/* Recorded results: what has a file is loaded, also beside one whose file is gone, which is
 * the failure reported; without a data directory nothing is loaded. */
START_TEST(recorded_results_are_loaded)
{
    static const char text[] =
        "{\"dump_data_dir\": %s, \"data\": {\"Torch.neg.0.forward\": {\"input_args\": "
        "[" VIEW_TEXT "], \"input_kwargs\": {}, \"output\": [" TENSOR_TEXT(
            "float32", "[3]", "0", "1",
            ", \"data_name\": \"gone.pt\"") ", " VIEW_TEXT
                                            ", " TENSOR_TEXT("float32", "[3]", "0", "1", "") "]}}}";
    char filled_in[3000];

    for (int stored = 0; stored < 2; stored++) {
        snprintf(filled_in, sizeof filled_in, text, stored ? "\"dump_tensor_data\"" : "null");
        struct small_dump small = make_small_dump(filled_in);
        struct call call;
        run_small(&call, &small, true);
        struct status status = generate_load_outputs(&call.c, &call.arena, small.dump);
        const struct value *outputs = call.c.outputs.list.items;
        ck_assert_int_eq(status.code, stored ? STATUS_SKIP : STATUS_OK);
        if (stored) ck_assert_ptr_nonnull(strstr(status.text, "gone.pt"));
        ck_assert_ptr_null(outputs[0].tensor.tensor);
        ck_assert_int_eq(outputs[1].tensor.tensor != NULL, stored);
        ck_assert_ptr_null(outputs[2].tensor.tensor);
        ck_assert_int_eq(generate_load_outputs(&call.c, &call.arena, NULL).code, STATUS_OK);
        arena_release(&call.arena);
        remove_small_dump(&small);
    }
}
END_TEST

/* The sweep of too_little_memory_is_an_error, where loaded tensors are converted and
 * rounded. */
START_TEST(too_little_memory_for_loaded_tensors)
{
    static const char *const texts[] = {
        CALL_TEXT("\"dump_tensor_data\"", "Functional.conv1d.0", VIEW_TEXT),
        CALL_TEXT("\"dump_tensor_data\"", "Functional.cross_entropy.0",
                  VIEW_TEXT ", " TENSOR_TEXT("int32", "[2, 2, 5]", "-3", "7",
                                             ", \"data_name\": \"int32.view.zip.pt\"")),
    };
    for (int k = 0; k < 2; k++) {
        struct small_dump small = make_small_dump(texts[k]);
        size_t needed, used, failures = 0;
        ck_assert_int_eq(make_within(small.dump, 0, SIZE_MAX, &needed).code, STATUS_OK);
        for (size_t room = 0; room < needed; room += 64)
            failures += make_within(small.dump, 0, room, &used).code == STATUS_NO_MEMORY;
        ck_assert_uint_gt(failures, 3);
        remove_small_dump(&small);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("dumps");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, elements_lie_in_the_recorded_range, 0, 7);
    tcase_add_loop_test(tests, order_and_threads_do_not_matter, 0, 8);
    tcase_add_test(tests, too_little_memory_is_an_error);
    tcase_add_loop_test(tests, stored_tensors_are_handed_on, 0, 3);
    tcase_add_test(tests, stored_views_stay_views);
    tcase_add_test(tests, names_without_a_directory_are_not_followed);
    tcase_add_test(tests, loaded_tensors_are_rounded_in_a_copy);
    tcase_add_test(tests, loaded_targets_are_converted);
    tcase_add_test(tests, missing_files_are_named);
    tcase_add_test(tests, recorded_results_are_loaded);
    tcase_add_test(tests, too_little_memory_for_loaded_tensors);
    return run_tests("dumps", tests);
}
