/* Outputs judged under the profiles of the product, for the tests of the judge. */
#ifndef PROBE_TESTS_STANDARDS_JUDGED_OUTPUTS_H
#define PROBE_TESTS_STANDARDS_JUDGED_OUTPUTS_H

#include "core/memory.h"
#include "standards/metric_data.h"
#include "support/suite.h"

static struct arena arena;
static struct profile *doc, *v2, *v3, *strict;

static struct api_case plain = { .full_name = "Torch.softmax.3",
                                 .type = "Torch",
                                 .api = "softmax" };

__attribute__((unused)) static struct judge_request request_for(const struct profile *profile,
                                                                const char *api, enum dtype bench,
                                                                enum dtype input)
{
    static struct api_case c;
    c = plain;
    c.api = api;
    return (struct judge_request){
        .profile = profile, .c = &c, .bench_dtype = bench, .input_dtype = input, .precision = 14
    };
}

__attribute__((unused)) static struct value tensor_value(struct tensor *tensor)
{
    struct value value = { .kind = VALUE_TENSOR };
    value.tensor.tensor = tensor;
    return value;
}

__attribute__((unused)) static struct judged judge_with(const struct judge_request *request,
                                                        struct reference *reference,
                                                        struct tensor *tensor)
{
    struct wanted want = { .reference = reference };
    struct value got = tensor_value(tensor);
    struct judged judged;
    ck_assert_int_eq(judge_output(&judged, &arena, request, &want, &got).code, STATUS_OK);
    for (int column = 0; column < COLUMN_COUNT; column++)
        ck_assert_ptr_nonnull(judged.cells[column]);
    ck_assert_str_eq(judged.cells[COLUMN_STATUS], verdict_name(judged.verdict));
    return judged;
}

/* n values of float32 (bench float64) under an API and profile. */
__attribute__((unused)) static struct judged judge_list(const struct profile *profile,
                                                        const char *api, enum dtype device,
                                                        size_t n, const double *want,
                                                        const double *got)
{
    int64_t shape[1] = { (int64_t)n };
    enum dtype bench = device == DT_F32 ? DT_F64 : dtype_is_float(device) ? DT_F32 : device;
    struct judge_request request = request_for(profile, api, bench, device);
    return judge_with(&request, reference_of(&arena, device, 1, shape, want, n),
                      tensor_of(&arena, device, 1, shape, got));
}

__attribute__((unused)) static void expect(const struct judged *judged, enum verdict verdict,
                                           const char *message)
{
    ck_assert_str_eq(verdict_name(judged->verdict), verdict_name(verdict));
    if (message)
        ck_assert_msg(strstr(judged->cells[COLUMN_MESSAGE], message), "%s",
                      judged->cells[COLUMN_MESSAGE]);
}

__attribute__((unused)) static void setup(void)
{
    ck_assert_int_eq(profile_load(&doc, "doc", NULL, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(profile_load(&v2, "v2", NULL, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(profile_load(&v3, "v3", NULL, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(profile_load(&strict, "strict", NULL, FILES_CHECKED).code, STATUS_OK);
}

__attribute__((unused)) static void teardown(void)
{
    arena_release(&arena);
    profile_release(doc);
    profile_release(v2);
    profile_release(v3);
    profile_release(strict);
}

#endif
