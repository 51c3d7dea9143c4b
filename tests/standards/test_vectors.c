/* The 51 reference vectors of the peer's formulas: `v104` under doc, `v2026` under v2. */
#include "standards/metric_data.h"
#include "support/suite.h"

struct vector {
    const char *name;
    enum dtype device, bench;
    size_t n;
    double *want, *got;
    const cJSON *expect;
};

static void read_vector(struct vector *out, struct arena *arena, const cJSON *item)
{
    const cJSON *bench = cJSON_GetObjectItem(item, "bench"), *number;
    const cJSON *device = cJSON_GetObjectItem(item, "device");
    size_t i = 0;

    out->name = cJSON_GetObjectItem(item, "name")->valuestring;
    out->device = dtype_from_name(cJSON_GetObjectItem(item, "dtype")->valuestring);
    out->bench = dtype_from_name(cJSON_GetObjectItem(item, "bench_dtype")->valuestring);
    out->n = (size_t)cJSON_GetArraySize(bench);
    out->want = arena_allocate_array(arena, out->n, sizeof(double));
    out->got = arena_allocate_array(arena, out->n, sizeof(double));
    cJSON_ArrayForEach(number, bench) out->want[i++] = number_of(number);
    i = 0;
    cJSON_ArrayForEach(number, device) out->got[i++] = number_of(number);
    out->expect = cJSON_GetObjectItem(item, "expect");
}

static struct judged judge_as(struct arena *arena, const struct vector *vector,
                              const struct profile *profile, const char *api)
{
    int64_t shape[1] = { (int64_t)vector->n };
    struct api_case c = { .full_name = "Torch.x.0", .type = "Torch", .api = api };
    struct judge_request request = { .profile = profile,
                                     .c = &c,
                                     .bench_dtype = vector->bench,
                                     .input_dtype = vector->device,
                                     .precision = 14 };
    struct wanted want = { .reference = reference_of(arena, vector->bench, 1, shape, vector->want,
                                                     vector->n) };
    struct value got = { .kind = VALUE_TENSOR };
    struct judged judged;

    got.tensor.tensor = tensor_of(arena, vector->device, 1, shape, vector->got);
    ck_assert_int_eq(judge_output(&judged, arena, &request, &want, &got).code, STATUS_OK);
    return judged;
}

/* One API per standard. */
static const struct {
    const char *api, *key_v104, *key_v2026;
    struct {
        const char *key;
        enum details_column column;
    } cells[6];
    /* clang-format off */
} standards[] = {
    { "softmax", "benchmark_v104", "benchmark_v2026",
      { { "small_value_err_ratio", COLUMN_SMALL_VALUE_RATIO }, { "rmse", COLUMN_RMSE },
        { "eb", COLUMN_ERROR_BALANCE }, { "max_rel_err", COLUMN_MAX_RELATIVE_ERROR },
        { "mean_rel_err", COLUMN_MEAN_RELATIVE_ERROR } } },
    { "mul", "absolute_v104", "absolute_v2026",
      { { "inf_nan_error_ratio", COLUMN_INF_NAN_RATIO },
        { "rel_err_ratio", COLUMN_RELATIVE_ERROR_RATIO },
        { "abs_err_ratio", COLUMN_ABSOLUTE_ERROR_RATIO } } },
    { "matmul", "ulp", "ulp",
      { { "max", COLUMN_MAX_ULP }, { "mean", COLUMN_MEAN_ULP },
        { "proportion", COLUMN_ULP_PROPORTION } } },
    { "relu", NULL, NULL, { { "error_rate", COLUMN_BINARY_MISMATCH } } },
};
/* clang-format on */

/* What doc does better on purpose: equal non-finite values agree, and the unit of a bfloat16
 * subnormal does not overflow. */
static bool is_improved(const char *name)
{
    return strstr(name, "_both") || strstr(name, "inf_saturated") ||
           !strcmp(name, "bfloat16/denormal");
}

static int compare_cell(const struct vector *vector, const char *key, const cJSON *want,
                        const char *got)
{
    double tolerance = vector->bench == DT_F64 ? 1e-12 : 1e-5;
    if (same_cell(want->valuestring, got, tolerance)) return 0;
    fprintf(stderr, "%s %s: \"%s\", expected \"%s\"\n", vector->name, key, got, want->valuestring);
    return 1;
}

static int compare_standards(struct arena *arena, const struct vector *vector,
                             const struct profile *profile, bool v104)
{
    int bad = 0;
    for (size_t s = 0; s < sizeof standards / sizeof standards[0]; s++) {
        struct judged judged = judge_as(arena, vector, profile, standards[s].api);
        const char *group = v104 ? standards[s].key_v104 : standards[s].key_v2026;
        const cJSON *expect = group ? cJSON_GetObjectItem(vector->expect, group) : vector->expect;
        for (int k = 0; standards[s].cells[k].key; k++)
            bad += compare_cell(vector, standards[s].cells[k].key,
                                cJSON_GetObjectItem(expect, standards[s].cells[k].key),
                                judged.cells[standards[s].cells[k].column]);
    }
    return bad;
}

/* The chain: its columns where it printed them, the values behind them everywhere. */
static int compare_chain(struct arena *arena, const struct vector *vector,
                         const struct profile *profile)
{
    static const struct {
        const char *key;
        size_t offset;
    } values[] = {
        { "max_abs_err", offsetof(struct peer_metrics, max_abs_error) },
        { "hundredth", offsetof(struct peer_metrics, within_hundredth) },
        { "thousandth", offsetof(struct peer_metrics, within_thousandth) },
        { "ten_thousandth", offsetof(struct peer_metrics, within_ten_thousandth) },
    };
    struct judged judged = judge_as(arena, vector, profile, "softmax");
    const cJSON *status = cJSON_GetObjectItem(vector->expect, "status");
    int bad = 0;

    if (strcmp(status->valuestring, verdict_name(judged.verdict))) {
        fprintf(stderr, "%s: %s, expected %s\n", vector->name, verdict_name(judged.verdict),
                status->valuestring);
        bad++;
    }
    bad += compare_cell(vector, "cosine", cJSON_GetObjectItem(vector->expect, "cosine"),
                        judged.cells[COLUMN_COSINE]);
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
        double got = *(const double *)((const char *)&judged.metrics.peer + values[k].offset);
        double want = strtod(cJSON_GetObjectItem(vector->expect, values[k].key)->valuestring, NULL);
        double tolerance = vector->bench == DT_F64 ? 1e-12 : 1e-5;
        if ((isnan(want) && isnan(got)) || want == got ||
            fabs(want - got) <= tolerance * fabs(want) + 1e-14)
            continue;
        fprintf(stderr, "%s %s: %.17g, expected %.17g\n", vector->name, values[k].key, got, want);
        bad++;
    }
    return bad;
}

static void check_all(const char *profile_name, bool v104)
{
    char path[512];
    struct profile *profile = NULL;
    struct arena arena = { 0 };
    int bad = 0, compared = 0;

    snprintf(path, sizeof path, "%s/metrics/metric_vectors.json.gz", PROBE_TEST_DATA);
    char *text = read_gzip(path, NULL);
    cJSON *root = cJSON_Parse(text);
    const cJSON *item;
    ck_assert_int_eq(profile_load(&profile, profile_name, NULL, FILES_CHECKED).code, STATUS_OK);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(root, "cases"))
    {
        struct vector vector;
        arena_reset(&arena);
        read_vector(&vector, &arena, item);
        if (v104 && is_improved(vector.name)) continue;
        bad += compare_standards(&arena, &vector, profile, v104);
        bad += compare_chain(&arena, &vector, profile);
        compared++;
    }
    ck_assert_int_eq(compared, v104 ? 41 : 51);
    ck_assert_msg(bad == 0, "%d values differ", bad);
    profile_release(profile);
    arena_release(&arena);
    cJSON_Delete(root);
    free(text);
}

START_TEST(vectors_under_doc) { check_all("doc", true); }
END_TEST

START_TEST(vectors_under_v2) { check_all("v2", false); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("vectors");
    TCase *tcase = tcase_create("vectors");
    tcase_add_test(tcase, vectors_under_doc);
    tcase_add_test(tcase, vectors_under_v2);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
