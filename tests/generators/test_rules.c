/* How a call finds its rules, and what they make of arguments without sense. */
#include "generators/philox.h"
#include "rule_checks.h"

/* ---- look-up ------------------------------------------------------------------------ */

/* In-place, "linalg." and "_ex" names find the row of the plain name; bernoulli_ has its
 * own, in which self may be anything. */
START_TEST(names_find_their_rules)
{
    static const char *const names[] = { "Torch.cholesky", "Torch.linalg.cholesky",
                                         "Aten.linalg_cholesky_ex", "Torch.cholesky_ex" };
    for (int k = 0; k < 4; k++) {
        struct built_case *b = numbered(names[k]);
        add(b, TENSOR2(b, DT_F32, -1, 1, 3, 3));
        generate(b);
        ck_assert_msg(noted(b, "positive definite"), "%s", names[k]);
        free_case(b);
    }
    struct built_case *b = numbered("Tensor.bernoulli_");
    add(b, TENSOR1(b, DT_F32, -5, 5, 9));
    generate(b);
    ck_assert_double_eq(reals(b, &b->args[0])[0], -5);
    free_case(b);
}
END_TEST

/* ---- arguments that make no sense --------------------------------------------------- */

static struct value random_tensor(struct built_case *b, struct philox *draws)
{
    static const enum dtype dtypes[] = { DT_F32, DT_I64,  DT_I64, DT_I32,   DT_BOOL,
                                         DT_U8,  DT_BF16, DT_C64, DT_F8E4M3 };
    static const double bounds[][2] = { { 0, 1 },        { -3, 3 },        { 0, 7 },
                                        { 2, 2 },        { -9, -2 },       { 0, 0 },
                                        { -1e19, 1e19 }, { -1e19, -9e18 }, { 9e18, 1e19 },
                                        { -1, INFINITY } };
    enum dtype dtype = dtypes[philox_below(draws, 9)];
    const double *range = bounds[philox_below(draws, dtype_is_integral(dtype) ? 9 : 10)];
    int64_t dims[4] = { -1, -1, -1, -1 };
    uint64_t rank = philox_below(draws, 5);
    for (uint64_t d = 0; d < rank; d++)
        dims[d] = philox_below(draws, 12) ? 1 + (int64_t)philox_below(draws, 4) : 0;
    if (rank > 1 && philox_below(draws, 2)) dims[rank - 2] = dims[rank - 1];
    return tensor4(b, dtype, range[0], range[1], dims[0], dims[1], dims[2], dims[3]);
}

static struct value random_value(struct built_case *b, struct philox *draws, int depth)
{
    static const int64_t extremes[] = { INT64_MIN, INT64_MAX, INT64_MIN / 2 - 1, INT64_MAX / 2 + 1,
                                        -101 };
    static const double reals[] = { 1e300, -1e300, 3, NAN };
    struct value items[4];
    switch (philox_below(draws, 12)) {
    case 0: return none();
    case 1:
        return integer(philox_below(draws, 4) ? (int64_t)philox_below(draws, 9) - 3
                                              : extremes[philox_below(draws, 5)]);
    case 2: return string("sum");
    case 3: return boolean(philox_below(draws, 2));
    case 4: return ellipsis();
    case 5: return full_slice(b);
    case 6: return (struct value){ .kind = VALUE_FLOAT, .real = reals[philox_below(draws, 4)] };
    case 7:
        if (depth > 1) return none();
        for (int i = 0; i < 4; i++) items[i] = random_value(b, draws, depth + 1);
        return list(b, philox_below(draws, 5), items);
    default: return random_tensor(b, draws);
    }
}

/* Pass the arguments of `parameters` by position, by name, or not at all. */
static void add_random_arguments(struct built_case *b, const char *parameters, struct philox *draws)
{
    static const char *const others[] = { "dim",        "accumulate", "reduce",    "sparse_mode",
                                          "group_list", "lengths",    "attn_mask", "sorter" };
    char *words = arena_copy_string(&b->arena, parameters), *rest = words;
    bool by_name = philox_below(draws, 4) == 0;
    for (const char *word; (word = strsep(&rest, " ")) && b->c.kwargs.list.count < 6;) {
        if (!*word || philox_below(draws, 12) == 0) by_name = true;
        else if (by_name) add_keyword(b, word, random_value(b, draws, 0));
        else add(b, random_value(b, draws, 0));
    }
    if (philox_below(draws, 3) == 0)
        add_keyword(b, others[philox_below(draws, 8)], random_value(b, draws, 0));
    if (philox_below(draws, 2)) add_output(b, random_tensor(b, draws));
    if (philox_below(draws, 2)) add_cotangent(b, random_tensor(b, draws));
}

static bool is_made(struct value *value, void *context)
{
    (void)context;
    return value->tensor.tensor && tensor_is_dense(value->tensor.tensor);
}

/* Whatever the arguments are, inputs are made, twice the same. */
START_TEST(senseless_arguments_do_no_harm)
{
    struct philox draws = philox_open(20240607, 0);
    const char *parameters, *api;
    char name[100];

    for (size_t i = 0; (api = rules_api(i, &parameters)); i++) {
        for (int call = 0; call < 150; call++) {
            static const char *const groups[] = { "Functional", "Torch", "Tensor" };
            snprintf(name, sizeof name, "%s.%s.%d", groups[call % 3], api, call);
            struct built_case *b = build_case(name);
            add_random_arguments(b, parameters, &draws);
            generate(b);
            if (!value_each_tensor(&b->c.args, is_made, NULL) ||
                !value_each_tensor(&b->c.kwargs, is_made, NULL))
                ck_abort_msg("%s", name);
            uint64_t first = hash_value(&b->c.args, 0);
            first = hash_value(&b->c.kwargs, first);
            generate(b);
            uint64_t second = hash_value(&b->c.args, 0);
            ck_assert_uint_eq(hash_value(&b->c.kwargs, second), first);
            free_case(b);
        }
    }
}
END_TEST

/* What a hand-made call may lack: a type, outputs, and a size that can be counted. */
START_TEST(calls_without_type_or_outputs)
{
    struct built_case *b = numbered("Torch.gather");
    b->c.type = NULL;
    add(b, TENSOR2(b, DT_F32, -1, 1, 6, 9));
    add(b, integer(1));
    add(b, TENSOR1(b, DT_I64, -50, 50, 300));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[2]), 300, 0, 8));
    free_case(b);

    b = numbered("Torch.repeat_interleave");
    b->c.outputs = none();
    add(b, TENSOR1(b, DT_F32, -1, 1, 50));
    add(b, TENSOR1(b, DT_I64, -4, 5, 50));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 50, 0, 5));
    ck_assert(!noted(b, "recorded extent"));
    free_case(b);

    b = numbered("Torch.gather");
    add(b, none());
    add(b, none());
    add(b, TENSOR2(b, DT_I64, 0, 1, INT64_C(1) << 40, INT64_C(1) << 40));
    ck_assert_uint_eq(generate_input_bytes(&b->c), SIZE_MAX);
    free_case(b);
}
END_TEST

/* Sizes that no memory holds are said to need all of it. */
START_TEST(bytes_that_overflow)
{
    static const struct {
        const char *api;
        int64_t extent;
        size_t tensors;
        /* clang-format off */
    } rows[] = {
        { "Torch.gather", INT64_C(1) << 62, 1 },  /* 4 bytes each */
        { "Torch.gather", INT64_C(1) << 59, 1 },  /* 24 bytes of scratch each */
        { "Torch.thing", INT64_C(1) << 61, 6 },   /* all together */
        { "Torch.thing", INT64_C(1) << 62, 2 },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int place = 0; place < 3; place++) {
            struct built_case *b = numbered(rows[i].api);
            for (size_t k = 0; k < rows[i].tensors; k++) {
                struct value x = TENSOR1(b, DT_I64, 0, 1, rows[i].extent);
                if (place == 0) add(b, none()), add(b, none()), add(b, x);
                if (place == 1) add_keyword(b, "index", x);
                if (place == 2) add_cotangent(b, x);
            }
            size_t bytes = generate_input_bytes(&b->c);
            bool counted = place == 2 && i == 1; /* no rule looks at cotangents */
            ck_assert_msg((bytes == SIZE_MAX) == !counted, "row %zu, place %d: %zu", i, place,
                          bytes);
            free_case(b);
        }
    struct built_case *b = numbered("Torch.thing"); /* what is not recorded needs nothing */
    const struct value computed = { .kind = VALUE_TENSOR };
    add(b, computed);
    ck_assert_uint_eq(generate_input_bytes(&b->c), 0);
    struct tensor_record unknown = *TENSOR1(b, DT_F32, 0, 1, 5).tensor.record;
    unknown.dtype = DT_NONE;
    add(b, (struct value){ .kind = VALUE_TENSOR, .tensor = { &unknown, NULL } });
    ck_assert_uint_eq(generate_input_bytes(&b->c), 0);
    free_case(b);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("rules");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, names_find_their_rules);
    tcase_add_test(tests, senseless_arguments_do_no_harm);
    tcase_add_test(tests, calls_without_type_or_outputs);
    tcase_add_test(tests, bytes_that_overflow);
    return run_tests("rules", tests);
}
