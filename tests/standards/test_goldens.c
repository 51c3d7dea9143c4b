/* Every row that the peer computed in its metric cases, under the profile of its release. */
#include "standards/metric_data.h"
#include "support/suite.h"

static const char *const runs[] = { "m5a_dev_a", "m5a_dev_c", "m2_bf16_dev_a", "m5a_accum_dev_a",
                                    "m2_bf16_accum_dev_a" };

struct golden {
    struct arena arena;
    struct judge_request request;
    struct api_case c;
    struct wanted want;
    struct value got;
    const cJSON *row;
};

/* Storage dtype of a side: bfloat16 tensors lie in the file as float32. */
static size_t read_side(double *out, const cJSON *side, const char *bytes, int *rank,
                        int64_t *shape)
{
    const char *name = cJSON_GetObjectItem(side, "dtype")->valuestring;
    enum dtype stored = dtype_from_name(name);
    ck_assert_msg(stored != DT_NONE, "dtype %s", name);
    size_t n = (size_t)cJSON_GetObjectItem(side, "nbytes")->valuedouble / dtype_info(stored)->bytes;
    size_t offset = (size_t)cJSON_GetObjectItem(side, "offset")->valuedouble;
    const cJSON *extent;
    *rank = 0;
    cJSON_ArrayForEach(extent, cJSON_GetObjectItem(side, "shape"))
        shape[(*rank)++] = (int64_t)extent->valuedouble;
    if (out) {
        void *aligned = malloc(n * dtype_info(stored)->bytes + 1);
        memcpy(aligned, bytes + offset, n * dtype_info(stored)->bytes);
        dtype_to_double(out, aligned, stored, n);
        free(aligned);
    }
    return n;
}

static void value_of(struct value *out, const cJSON *item)
{
    *out = (struct value){ .kind = VALUE_NONE };
    if (cJSON_IsBool(item)) {
        out->kind = VALUE_BOOL;
        out->boolean = cJSON_IsTrue(item);
    } else if (cJSON_IsNumber(item)) {
        out->kind = VALUE_FLOAT;
        out->real = item->valuedouble;
    }
}

/* "Torch.sum.0.forward.output.2" into case, direction and index. */
static void split_name(struct golden *golden, const char *name)
{
    const char *output = strrchr(name, '.');
    const char *direction = strstr(name, ".forward.output.");
    golden->request.backward = direction == NULL;
    if (!direction) direction = strstr(name, ".backward.output.");
    golden->request.index = (size_t)atoi(output + 1);
    golden->c.full_name = arena_copy_bytes(&golden->arena, name, (size_t)(direction - name));
    golden->c.api = api_of(&golden->arena, golden->c.full_name);
}

static void load_tensors(struct golden *golden, const cJSON *item, const char *bytes)
{
    const cJSON *bench = cJSON_GetObjectItem(item, "bench");
    const cJSON *device = cJSON_GetObjectItem(item, "device");
    enum dtype bench_dtype = dtype_from_name(cJSON_GetObjectItem(item, "bench_dtype")->valuestring);
    enum dtype device_dtype =
        dtype_from_name(cJSON_GetObjectItem(item, "device_dtype")->valuestring);
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    size_t n = read_side(NULL, bench, bytes, &rank, shape);
    double *values = arena_allocate_array(&golden->arena, n, sizeof *values);

    read_side(values, bench, bytes, &rank, shape);
    golden->want.reference = reference_of(&golden->arena, bench_dtype, rank, shape, values, n);
    read_side(values, device, bytes, &rank, shape);
    golden->got.kind = VALUE_TENSOR;
    golden->got.tensor.tensor = tensor_of(&golden->arena, device_dtype, rank, shape, values);
    golden->request.bench_dtype = bench_dtype;
}

static void golden_load(struct golden *golden, const cJSON *item, const char *bytes,
                        const struct profile *profile)
{
    memset(&golden->request, 0, sizeof *golden - offsetof(struct golden, request));
    arena_reset(&golden->arena);
    golden->request.profile = profile;
    golden->request.c = &golden->c;
    golden->request.precision = 14;
    split_name(golden, cJSON_GetObjectItem(item, "name")->valuestring);
    golden->row = cJSON_GetObjectItem(item, "row");
    if (cJSON_GetObjectItem(item, "bench")) {
        load_tensors(golden, item, bytes);
        return;
    }
    struct value *value = arena_allocate_zeroed(&golden->arena, 1, sizeof *value);
    value_of(value, cJSON_GetObjectItem(item, "bench_value"));
    golden->want.value = value;
    value_of(&golden->got, cJSON_GetObjectItem(item, "device_value"));
}

static bool same_status(const char *want, const char *got)
{
    return !strcmp(want, got) || (!strcmp(want, "Warning") && !strcmp(got, "warning"));
}

/* Relative tolerance of a cell, by the working type of its row. */
static double tolerance(const struct golden *golden)
{
    bool doubles = golden->want.reference && golden->request.bench_dtype == DT_F64;
    return doubles ? 1e-12 : 1e-5;
}

static int compare_row(const struct golden *golden, const struct judged *judged, const char *run,
                       const char *name)
{
    int bad = 0, column = COLUMN_BENCH_DTYPE;
    const cJSON *cell;

    cJSON_ArrayForEach(cell, golden->row)
    {
        const char *want = cell->valuestring, *got = judged->cells[column];
        bool same = column == COLUMN_STATUS    ? same_status(want, got)
                    : column == COLUMN_MESSAGE ? !strcmp(want, got)
                                               : same_cell(want, got, tolerance(golden));
        if (!same) {
            bad = 1;
            fprintf(stderr, "%s %s: %s is \"%s\", the peer has \"%s\"\n", run, name,
                    details_headers[column], got, want);
        }
        column++;
    }
    ck_assert_int_eq(column, COLUMN_COUNT);
    return bad;
}

/* The user's file that moves the APIs of a run under the accumulative standard. */
static const struct profile *load_profile(const cJSON *index, const char *path)
{
    struct profile *profile = NULL;
    const cJSON *apis = cJSON_GetObjectItem(index, "accumulative_error_apis"), *api;
    if (cJSON_GetArraySize(apis)) {
        FILE *file = fopen(path, "w");
        fputs("{ \"overrides\": [ { \"standard\": \"accumulative\", \"api\": [", file);
        cJSON_ArrayForEach(api, apis)
            fprintf(file, "%s\"%s\"", api == apis->child ? "" : ", ", api->valuestring);
        fputs("] } ] }\n", file);
        fclose(file);
    }
    struct status status =
        profile_load(&profile, "v2", cJSON_GetArraySize(apis) ? path : NULL, FILES_CHECKED);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    remove(path);
    return profile;
}

START_TEST(rows_are_the_peers)
{
    char path[512], override[64];
    size_t bytes_count;
    snprintf(path, sizeof path, "%s/metrics/%s/index.json.gz", PROBE_TEST_DATA, runs[_i]);
    char *text = read_gzip(path, NULL);
    snprintf(path, sizeof path, "%s/metrics/%s/tensors.bin.gz", PROBE_TEST_DATA, runs[_i]);
    char *bytes = read_gzip(path, &bytes_count);
    cJSON *index = cJSON_Parse(text);
    ck_assert_ptr_nonnull(index);
    snprintf(override, sizeof override, "override_%d_%d.json", _i, (int)getpid());
    const struct profile *profile = load_profile(index, override);

    struct golden golden = { 0 };
    int bad = 0, rows = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(index, "cases"))
    {
        struct judged judged;
        golden_load(&golden, item, bytes, profile);
        struct status status =
            judge_output(&judged, &golden.arena, &golden.request, &golden.want, &golden.got);
        ck_assert_int_eq(status.code, STATUS_OK);
        bad +=
            compare_row(&golden, &judged, runs[_i], cJSON_GetObjectItem(item, "name")->valuestring);
        rows++;
    }
    ck_assert_int_gt(rows, 50);
    ck_assert_msg(bad == 0, "%d of %d rows differ", bad, rows);
    arena_release(&golden.arena);
    profile_release((struct profile *)profile);
    cJSON_Delete(index);
    free(text);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("goldens");
    TCase *tcase = tcase_create("goldens");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, rows_are_the_peers, 0, (int)(sizeof runs / sizeof runs[0]));
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
