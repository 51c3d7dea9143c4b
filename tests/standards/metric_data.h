/* Reading tests/data/metrics: pairs of tensors with the cells that the peer printed for them. */
#ifndef PROBE_TESTS_STANDARDS_METRIC_DATA_H
#define PROBE_TESTS_STANDARDS_METRIC_DATA_H

#include <check.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/arena.h"
#include "standards/judge.h"

/* The whole of a gzip file, NUL-terminated; to be freed. */
static inline char *read_gzip(const char *path, size_t *bytes)
{
    gzFile file = gzopen(path, "rb");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    size_t capacity = 1 << 20, used = 0;
    char *text = malloc(capacity + 1);
    for (;;) {
        int got = gzread(file, text + used, (unsigned)(capacity - used));
        ck_assert_int_ge(got, 0);
        if (got == 0) break;
        used += (size_t)got;
        if (used == capacity) text = realloc(text, (capacity *= 2) + 1);
    }
    gzclose(file);
    text[used] = '\0';
    if (bytes) *bytes = used;
    return text;
}

/* A number as the files write it: C99 hex, "nan", "inf". */
static inline double number_of(const cJSON *item)
{
    return cJSON_IsString(item) ? strtod(item->valuestring, NULL) : item->valuedouble;
}

/* A tensor of `dtype` from doubles (integers: exact in double). */
static inline struct tensor *tensor_of(struct arena *arena, enum dtype dtype, int rank,
                                       const int64_t *shape, const double *values)
{
    struct tensor *tensor = arena_allocate_zeroed(arena, 1, sizeof *tensor);
    ck_assert_int_eq(tensor_create(tensor, arena, dtype, rank, shape).code, STATUS_OK);
    dtype_from_double(tensor->data, dtype, values, tensor_elements(tensor));
    return tensor;
}

/* A reference that is exact. Integers go into `integer`. */
static inline struct reference *reference_of(struct arena *arena, enum dtype dtype, int rank,
                                             const int64_t *shape, const double *values, size_t n)
{
    struct reference *reference = arena_allocate_zeroed(arena, 1, sizeof *reference);
    reference->dtype = dtype;
    reference->rank = rank;
    for (int i = 0; i < rank; i++) reference->shape[i] = shape[i];
    reference->n = n;
    reference->state = REFERENCE_EXACT;
    if (dtype_is_integral(dtype)) {
        reference->integer = arena_allocate_array(arena, n, sizeof(int64_t));
        for (size_t i = 0; i < n; i++) reference->integer[i] = (int64_t)values[i];
    } else {
        reference->hi = arena_allocate_array(arena, n, sizeof(double));
        memcpy(reference->hi, values, n * sizeof(double));
    }
    return reference;
}

/* The API name of a full name with at least type, name and index: "Torch.linalg.inv.0" gives
 * "linalg.inv". */
static inline char *api_of(struct arena *arena, const char *full_name)
{
    const char *start = strchr(full_name, '.') + 1, *end = strrchr(full_name, '.');
    return arena_copy_bytes(arena, start, (size_t)(end - start));
}

/* Is `got` what the peer printed as `want`: the same text, or the same number up to `relative`
 * or one unit of the last printed digit? */
static inline bool same_cell(const char *want, const char *got, double relative)
{
    if (!strcmp(want, got)) return true;
    char *want_end, *got_end;
    double w = strtod(want, &want_end), g = strtod(got, &got_end);
    if (want_end == want || got_end == got || *want_end || *got_end) return false;
    if (isnan(w) || isnan(g)) return isnan(w) && isnan(g);
    const char *point = strchr(want, '.');
    bool fixed = point && strlen(point + 1) == 14;
    if ((point == NULL) != (strchr(got, '.') == NULL)) return false;
    if (fixed && fabs(w - g) <= 1.5e-14) return true;
    return fabs(w - g) <= relative * fabs(w);
}

#endif
