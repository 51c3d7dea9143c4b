/* Cases -> inputs: which arguments become tensors, under which keys, with which dtype; what
 * is converted, rounded, counted, refused; and that nothing depends on order or memory. */
#include <stdio.h>

#include "case_builder.h"
#include "core/memory.h"
#include "formats/dump.h"
#include "formats/pt.h"
#include "generators/fill.h"
#include "support/scratch.h"

static uint64_t hash_of(const struct value *value)
{
    ck_assert_ptr_nonnull(value->tensor.tensor);
    return hash_tensor(value->tensor.tensor);
}

/* ---- structure ---------------------------------------------------------------------- */

/* Tensors in lists, dicts, keyword arguments and cotangents are made, each from the key of
 * its own path; None and numbers stay. */
START_TEST(every_tensor_has_its_own_key)
{
    struct built_case *b = build_case("Torch.thing.3");
    add(b, TENSOR1(b, DT_F32, -1, 1, 50));
    const struct value inner[] = { TENSOR1(b, DT_F32, -1, 1, 50), none(),
                                   TENSOR1(b, DT_F32, -1, 1, 50) };
    add(b, list(b, 3, inner));
    add(b, integer(4));
    add_keyword(b, "mask", TENSOR1(b, DT_F32, -1, 1, 50));
    add_keyword(b, "flag", boolean(true));
    add_cotangent(b, TENSOR1(b, DT_F32, -1, 1, 50));
    add_cotangent(b, none());
    add_cotangent(b, TENSOR1(b, DT_F32, -1, 1, 50));
    generate(b);
    const struct {
        const char *path;
        const struct value *value;
    } expected[] = {
        { "input.0", &b->args[0] },
        { "input.1.0", &b->args[1].list.items[0] },
        { "input.1.2", &b->args[1].list.items[2] },
        { "kwargs.mask", &b->kwargs[0] },
        { "cotangent.0", &b->cotangents[0] },
        { "cotangent.2", &b->cotangents[2] },
    };
    struct range range = range_of_reals(DT_F32, -1, 1);
    for (int i = 0; i < 6; i++) {
        float x[50];
        int64_t n = 50;
        struct tensor want;
        tensor_wrap(&want, x, DT_F32, 1, &n);
        fill_tensor(&want, &range, fill_key(1234, "Torch.thing.3", expected[i].path), NULL);
        ck_assert_mem_eq(expected[i].value->tensor.tensor->data, x, sizeof x);
        for (int k = 0; k < i; k++)
            ck_assert_uint_ne(hash_of(expected[i].value), hash_of(expected[k].value));
    }
    ck_assert_int_eq(b->cotangents[1].kind, VALUE_NONE);
    ck_assert_int_eq(b->args[1].list.items[1].kind, VALUE_NONE);
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);
}
END_TEST

START_TEST(dicts_are_walked_by_key)
{
    struct built_case *b = build_case("Torch.thing.0");
    struct value items[] = { TENSOR1(b, DT_F32, -1, 1, 9) };
    const char *keys[] = { "weights" };
    add(b, (struct value){ .kind = VALUE_DICT, .list = { items, keys, 1 } });
    generate(b);
    float x[9];
    int64_t n = 9;
    struct tensor want;
    struct range range = range_of_reals(DT_F32, -1, 1);
    tensor_wrap(&want, x, DT_F32, 1, &n);
    fill_tensor(&want, &range, fill_key(1234, "Torch.thing.0", "input.0.weights"), NULL);
    ck_assert_mem_eq(items[0].tensor.tensor->data, x, sizeof x);
    free_case(b);
}
END_TEST

START_TEST(shapes_and_dtypes_are_the_recorded_ones)
{
    for (int dtype = DT_F64; dtype < DT_COUNT; dtype++) {
        struct built_case *b = build_case("Torch.thing.0");
        add(b, TENSOR3(b, (enum dtype)dtype, 0, 1, 2, 3, 4));
        add(b, TENSOR0(b, (enum dtype)dtype, 1, 1));
        add(b, TENSOR2(b, (enum dtype)dtype, 0, 1, 3, 0));
        generate(b);
        const struct tensor *t = b->args[0].tensor.tensor;
        ck_assert_int_eq(t->dtype, dtype);
        ck_assert(t->rank == 3 && t->shape[0] == 2 && t->shape[1] == 3 && t->shape[2] == 4);
        ck_assert_int_eq(b->args[1].tensor.tensor->rank, 0);
        double one[2];
        dtype_to_double(one, b->args[1].tensor.tensor->data, (enum dtype)dtype, 1);
        ck_assert_double_eq(fabs(one[0]) + (dtype_is_complex((enum dtype)dtype) ? fabs(one[1]) : 0),
                            1);
        ck_assert_uint_eq(tensor_elements(b->args[2].tensor.tensor), 0);
        free_case(b);
    }
}
END_TEST

/* Empty tensors need no statistics. */
START_TEST(empty_tensors_have_null_statistics)
{
    struct built_case *b = build_case("Torch.thing.0");
    struct value v = TENSOR2(b, DT_F32, 0, 0, 3, 0);
    struct tensor_record record = *v.tensor.record;
    record.max.kind = record.min.kind = STATISTIC_ABSENT;
    v.tensor.record = &record;
    add(b, v);
    generate(b);
    free_case(b);
}
END_TEST

/* ---- determinism -------------------------------------------------------------------- */

static struct built_case *sample_case(const char *name)
{
    struct built_case *b = build_case(name);
    add(b, TENSOR2(b, DT_F32, -1, 1, 30, 40));
    add(b, integer(0));
    add(b, TENSOR2(b, DT_I64, 0, 29, 20, 40));
    add(b, TENSOR2(b, DT_F32, -1, 1, 20, 40));
    add_cotangent(b, TENSOR2(b, DT_F32, -1, 1, 30, 40));
    return b;
}

/* Twice, after other calls, in an arena that held other bytes: the same. Another seed, name
 * or index: others. */
START_TEST(inputs_are_a_pure_function)
{
    struct built_case *first = sample_case("Torch.scatter.0");
    struct built_case *other = sample_case("Torch.scatter.1");
    struct built_case *again = sample_case("Torch.scatter.0");
    struct built_case *seeded = sample_case("Torch.scatter.0");

    memset(arena_allocate(&again->arena, 200000), 0xee, 200000);
    seeded->options.seed = 1235;
    generate(first);
    generate(other);
    generate(again);
    generate(seeded);
    for (int i = 0; i < 4; i++) {
        if (i == 1) continue;
        uint64_t hash = hash_of(&first->args[i]);
        ck_assert_uint_eq(hash, hash_of(&again->args[i]));
        ck_assert_uint_ne(hash, hash_of(&other->args[i]));
        ck_assert_uint_ne(hash, hash_of(&seeded->args[i]));
    }
    ck_assert_uint_eq(hash_of(&first->cotangents[0]), hash_of(&again->cotangents[0]));
    generate(first); /* once more in place */
    ck_assert_uint_eq(hash_of(&first->args[2]), hash_of(&again->args[2]));
    free_case(first);
    free_case(other);
    free_case(again);
    free_case(seeded);
}
END_TEST

/* The bits of a call that rules changed, on every host (see test_fill.c). */
START_TEST(rules_give_the_same_bits_on_every_host)
{
    struct built_case *b = sample_case("Torch.scatter.0");
    generate(b);
    ck_assert_msg(hash_of(&b->args[2]) == 0xa90a93e413e3e1ebu, "0x%016llx",
                  (unsigned long long)hash_of(&b->args[2]));
    free_case(b);
    b = build_case("Torch.cholesky.0");
    add(b, TENSOR3(b, DT_F32, -0.5, 7, 3, 9, 9));
    generate(b);
    ck_assert_msg(hash_of(&b->args[0]) == 0x8933a41e5936449bu, "0x%016llx",
                  (unsigned long long)hash_of(&b->args[0]));
    free_case(b);
}
END_TEST

/* ---- conversions -------------------------------------------------------------------- */

START_TEST(cross_entropy_targets_become_int64)
{
    for (int keep = 0; keep < 2; keep++) {
        struct built_case *b = build_case("Functional.cross_entropy.0");
        b->options.keep_recorded = keep;
        add(b, TENSOR2(b, DT_F32, -1, 1, 8, 5));
        add(b, TENSOR1(b, DT_I32, -7, 4, 8)); /* Min <= 0 becomes 0 */
        add_cotangent(b, TENSOR0(b, DT_F32, 1, 1));
        generate(b);
        ck_assert_int_eq(b->args[1].tensor.tensor->dtype, keep ? DT_I32 : DT_I64);
        const int64_t *x = integers(b, &b->args[1]);
        for (int i = 0; i < 8; i++) ck_assert(x[i] >= 0 && x[i] <= 4);
        ck_assert_int_eq(noted(b, "converted"), !keep);
        free_case(b);
    }
}
END_TEST

START_TEST(histc_counts_floats)
{
    static const enum dtype dtypes[] = { DT_I64, DT_I32, DT_I8 };
    for (int d = 0; d < 3; d++) {
        struct built_case *b = build_case("Torch.histc.0");
        add(b, TENSOR1(b, dtypes[d], 0, 9, 30));
        add(b, TENSOR1(b, DT_I32, 0, 9, 30));
        generate(b);
        ck_assert_int_eq(b->args[0].tensor.tensor->dtype, DT_F32);
        ck_assert_int_eq(b->args[1].tensor.tensor->dtype, DT_I32);
        free_case(b);
    }
}
END_TEST

/* HF32 keeps 11 fraction bits: the low 12 bits of every float32 are zero, for inputs and
 * cotangents of conv1d and conv2d alone, and values are the nearest such to what was drawn.
 */
START_TEST(convolutions_get_hf32)
{
    static const struct {
        const char *name;
        bool keep, rounded;
    } calls[] = {
        { "Functional.conv2d.0", false, true },  { "Torch.conv1d.0", false, true },
        { "Functional.conv2d.0", true, false },  { "Functional.conv3d.0", false, false },
        { "Functional.linear.0", false, false },
    };
    for (int k = 0; k < 5; k++) {
        struct built_case *b = build_case(calls[k].name);
        b->options.keep_recorded = calls[k].keep;
        add(b, TENSOR1(b, DT_F32, -1, 1, 100));
        add(b, TENSOR1(b, DT_BF16, -1, 1, 100));
        add_cotangent(b, TENSOR1(b, DT_F32, -1, 1, 100));
        generate(b);
        const struct value *values[2] = { &b->args[0], &b->cotangents[0] };
        const char *paths[2] = { "input.0", "cotangent.0" };
        for (int v = 0; v < 2; v++) {
            const float *x = values[v]->tensor.tensor->data;
            float drawn[100];
            int64_t n = 100;
            struct tensor plain;
            struct range range = range_of_reals(DT_F32, -1, 1);
            int low_bits = 0;
            tensor_wrap(&plain, drawn, DT_F32, 1, &n);
            fill_tensor(&plain, &range, fill_key(1234, calls[k].name, paths[v]), NULL);
            for (int i = 0; i < 100; i++) {
                uint32_t bits;
                memcpy(&bits, &x[i], sizeof bits);
                low_bits += (bits & 0xfff) != 0;
                /* Half a unit of the last place kept. */
                ck_assert(fabsf(x[i] - drawn[i]) <= 0x1p-12f * fabsf(drawn[i]));
            }
            ck_assert_int_eq(low_bits == 0, calls[k].rounded);
        }
        ck_assert_int_eq(noted(b, "HF32"), calls[k].rounded);
        free_case(b);
    }
}
END_TEST

/* ---- stored tensors ------------------------------------------------------------------- */

#define STORED(dtype, shape, name)                                               \
    "{\"type\":\"torch.Tensor\",\"dtype\":\"torch." dtype "\",\"shape\":[" shape \
    "],\"Max\":3,\"Min\":0,"                                                     \
    "\"Mean\":1,\"Norm\":1,\"data_name\":\"" name "\"}"

/* clang-format off */
static const char stored_dump[] =
    "{\"task\":\"tensor\",\"level\":\"L1\",\"dump_data_dir\":\"x\",\"data\":{"
    "\"Functional.cross_entropy.0.forward\":{\"input_args\":[" STORED("float32", "3,4", "x.pt") ","
    STORED("int32", "3", "t.pt") "],\"output\":[" STORED("float32", "", "gone.pt") "," STORED("int32", "3", "t.pt") ","
    STORED("float32", "", "gone_too.pt") ",{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[],"
    "\"Max\":1,\"Min\":1,\"Mean\":1,\"Norm\":1},7]},"
    "\"Torch.histc.0.forward\":{\"input_args\":[" STORED("int32", "3", "t.pt") "]},"
    "\"Functional.conv2d.0.forward\":{\"input_args\":[" STORED("float32", "3,4", "x.pt") ","
    STORED("int32", "3", "t.pt") "]}}}";

/* Tensors of a file come as they are, in the dtype in which they are passed, and what is changed of them is
 * a copy. Of recorded outputs every one that can be is loaded, and the first that cannot is named. */
START_TEST(stored_tensors_are_loaded)
{
    static const int64_t matrix[] = { 3, 4 }, three[] = { 3 };
    struct scratch dir = scratch_make();
    struct arena arena = { 0 };
    struct tensor x, t;
    struct dump *dump;
    ck_assert_int_eq(mkdir(scratch_path(&dir, "dump_tensor_data"), 0750), 0);
    ck_assert_int_eq(tensor_create(&x, &arena, DT_F32, 2, matrix).code, STATUS_OK);
    ck_assert_int_eq(tensor_create(&t, &arena, DT_I32, 1, three).code, STATUS_OK);
    for (int i = 0; i < 12; i++) ((float *)x.data)[i] = 1.0f / (float)(i + 1);
    for (int i = 0; i < 3; i++) ((int32_t *)t.data)[i] = 3 - i;
    ck_assert_int_eq(pt_write(scratch_path(&dir, "dump_tensor_data/x.pt"), &x, &arena).code, STATUS_OK);
    ck_assert_int_eq(pt_write(scratch_path(&dir, "dump_tensor_data/t.pt"), &t, &arena).code, STATUS_OK);
    struct status status = dump_open(&dump, scratch_text(&dir, "dump.json", stored_dump), FILES_CHECKED);
    ck_assert_msg(!status.code, "%s", status.text);

    for (int keep = 0; keep < 2; keep++)
        for (size_t call = 0; call < 3; call++) {
            struct api_case c;
            struct generate_notes notes = { .count = 0 };
            const struct generate_options options = { .seed = 1, .keep_recorded = keep };
            ck_assert_int_eq(dump_read_case(&c, &arena, dump, call).code, STATUS_OK);
            status = generate_inputs(&c, &notes, &arena, dump, &options);
            ck_assert_msg(!status.code, "%s", status.text);
            const struct value *args = c.args.list.items, *indices = call == 1 ? &args[0] : &args[1];
            const struct tensor *made = indices->tensor.tensor;
            double values[3];
            ck_assert_int_eq(made->dtype, keep || call == 2 ? DT_I32 : call == 1 ? DT_F32 : DT_I64);
            dtype_to_double(values, made->data, made->dtype, 3);
            for (int i = 0; i < 3; i++) ck_assert_double_eq(values[i], 3 - i);
            if (call == 1) continue;
            const float *floats = args[0].tensor.tensor->data;
            for (int i = 0; i < 12; i++) {
                uint32_t bits;
                memcpy(&bits, &floats[i], sizeof bits);
                if (call == 2 && !keep) ck_assert_uint_eq(bits & 0xfff, 0); /* HF32 */
                else ck_assert(floats[i] == ((float *)x.data)[i]);
            }
            if (call) continue;
            status = generate_load_outputs(&c, &arena, dump);
            ck_assert_int_eq(status.code, STATUS_SKIP);
            ck_assert_ptr_nonnull(strstr(status.text, "dump_tensor_data/gone.pt' does not exist"));
            const struct value *outputs = c.outputs.list.items;
            ck_assert_ptr_null(outputs[0].tensor.tensor);
            ck_assert_mem_eq(outputs[1].tensor.tensor->data, t.data, 12);
            ck_assert_ptr_null(outputs[2].tensor.tensor);
            ck_assert_ptr_null(outputs[3].tensor.tensor);
            ck_assert_int_eq(outputs[4].integer, 7);
        }
    dump_close(dump);
    arena_release(&arena);
    scratch_remove(&dir);
}
/* clang-format on */
END_TEST

/* ---- notes, sizes, errors ----------------------------------------------------------- */

START_TEST(notes_end_with_a_line_that_says_more)
{
    struct built_case *b = build_case("Torch.thing.0");
    for (int i = 0; i < 20; i++) add(b, TENSOR1(b, DT_F32, NAN, NAN, 5));
    generate(b);
    ck_assert_uint_eq(b->notes.count, 16);
    ck_assert_ptr_nonnull(strstr(b->notes.lines[0], "input.0"));
    ck_assert_ptr_nonnull(strstr(b->notes.lines[15], "more"));
    struct status status = generate_inputs(&b->c, NULL, &b->arena, NULL, &b->options);
    ck_assert_int_eq(status.code, STATUS_OK);
    free_case(b);
}
END_TEST

/* The count bounds what the arena really gave. */
START_TEST(bytes_cover_what_is_allocated)
{
    struct built_case *b = build_case("Functional.cross_entropy.0");
    add(b, TENSOR2(b, DT_F32, -1, 1, 1000, 50));
    add(b, TENSOR1(b, DT_I32, 0, 49, 1000));
    add_keyword(b, "weight", TENSOR1(b, DT_F64, 0, 1, 50));
    add_cotangent(b, TENSOR0(b, DT_F32, 1, 1));
    size_t bytes = generate_input_bytes(&b->c), before = b->arena.used_bytes;
    ck_assert_uint_ge(bytes, 1000 * 50 * 4 + 1000 * 8 + 50 * 8 + 4);
    generate(b);
    ck_assert_uint_ge(bytes + 2000, b->arena.used_bytes - before);
    free_case(b);

    b = build_case("Torch.take.0"); /* the scratch of a rule overflows */
    add(b, TENSOR1(b, DT_F32, 0, 1, 3));
    add(b, TENSOR2(b, DT_I64, 0, 1, INT64_MAX / 16, 1));
    ck_assert_uint_eq(generate_input_bytes(&b->c), SIZE_MAX);
    free_case(b);

    b = build_case("Torch.thing.0");
    add(b, TENSOR4(b, DT_F32, 0, 1, INT64_MAX / 2, 3, 4, 5));
    ck_assert_uint_eq(generate_input_bytes(&b->c), SIZE_MAX);
    struct status status = generate_inputs(&b->c, NULL, &b->arena, NULL, &b->options);
    ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
    free_case(b);
}
END_TEST

START_TEST(errors_name_the_argument)
{
    struct built_case *b = build_case("Torch.thing.7");
    struct value v = TENSOR1(b, DT_F32, 0, 0, 3);
    struct tensor_record record = *v.tensor.record;
    record.max.kind = record.min.kind = STATISTIC_ABSENT;
    v.tensor.record = &record;
    add_keyword(b, "mask", v);
    struct status status = generate_inputs(&b->c, &b->notes, &b->arena, NULL, &b->options);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "Torch.thing.7 kwargs.mask"));

    record.dtype = DT_NONE;
    record.dtype_name = "torch.uint16";
    status = generate_inputs(&b->c, &b->notes, &b->arena, NULL, &b->options);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "torch.uint16"));
    free_case(b);
}
END_TEST

/* A cotangent that cannot be made costs the cotangents, and the call goes on without them. */
START_TEST(a_call_does_without_its_cotangents)
{
    struct built_case *b = build_case("Torch.thing.7");
    struct value lost = TENSOR1(b, DT_F32, 0, 0, 3);
    struct tensor_record record = *lost.tensor.record;
    record.max.kind = record.min.kind = STATISTIC_ABSENT;
    lost.tensor.record = &record;
    add(b, TENSOR1(b, DT_F32, -1, 1, 5));
    add_cotangent(b, TENSOR1(b, DT_F32, -1, 1, 5));
    add_cotangent(b, lost);
    struct status status = generate_inputs(&b->c, &b->notes, &b->arena, NULL, &b->options);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_ptr_nonnull(b->args[0].tensor.tensor);
    ck_assert_uint_eq(b->c.cotangents.list.count, 0);
    ck_assert_msg(!strncmp(b->c.no_cotangents, "Torch.thing.7 cotangent.1: ", 27), "%s",
                  b->c.no_cotangents);
    free_case(b);
}
END_TEST

/* Every allocation fails once, in calls that use rules with scratch memory: an error each
 * time, and no partial success. */
static int fail_at, allocations;

static int fail_nth(size_t bytes)
{
    (void)bytes;
    return ++allocations == fail_at;
}

START_TEST(failing_allocations_are_reported)
{
    static const char *const names[] = { "Torch.scatter.0", "Torch.searchsorted.0",
                                         "Torch.cholesky.0", "Functional.conv2d.0" };
    for (int k = 0; k < 4; k++) {
        for (fail_at = 1; fail_at < 50; fail_at++) {
            struct built_case *b = build_case(names[k]);
            add(b, TENSOR2(b, DT_F32, -1, 1, 300, 300));
            add(b, k == 0 ? integer(0) : TENSOR2(b, DT_F32, -1, 1, 300, 300));
            if (k == 0) add(b, TENSOR2(b, DT_I64, 0, 299, 300, 300));
            if (k == 0) add(b, TENSOR2(b, DT_F32, -1, 1, 300, 300));
            allocations = 0;
            memory_fault = fail_nth;
            struct status status = generate_inputs(&b->c, &b->notes, &b->arena, NULL, &b->options);
            memory_fault = NULL;
            bool reached = allocations >= fail_at;
            free_case(b);
            ck_assert_int_eq(status.code, reached ? STATUS_NO_MEMORY : STATUS_OK);
            if (!reached) break;
        }
        ck_assert_int_gt(fail_at, 2);
        ck_assert_int_lt(fail_at, 50);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("generate");
    tcase_add_test(tests, every_tensor_has_its_own_key);
    tcase_add_test(tests, dicts_are_walked_by_key);
    tcase_add_test(tests, shapes_and_dtypes_are_the_recorded_ones);
    tcase_add_test(tests, empty_tensors_have_null_statistics);
    tcase_add_test(tests, inputs_are_a_pure_function);
    tcase_add_test(tests, rules_give_the_same_bits_on_every_host);
    tcase_add_test(tests, cross_entropy_targets_become_int64);
    tcase_add_test(tests, histc_counts_floats);
    tcase_add_test(tests, convolutions_get_hf32);
    tcase_add_test(tests, stored_tensors_are_loaded);
    tcase_add_test(tests, notes_end_with_a_line_that_says_more);
    tcase_add_test(tests, bytes_cover_what_is_allocated);
    tcase_add_test(tests, errors_name_the_argument);
    tcase_add_test(tests, a_call_does_without_its_cotangents);
    tcase_add_test(tests, failing_allocations_are_reported);
    return run_tests("generate", tests);
}
