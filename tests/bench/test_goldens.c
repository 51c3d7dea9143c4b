/* The catalogue against PyTorch in float64: every golden, forward and gradient.
 *
 * An element agrees when it is within 1e-12 relative of PyTorch's float64 value, or within our
 * bound plus PyTorch's own rounding, taken as 1e-13 of the tensor's largest value (sums that
 * cancel). Goldens computed in the native dtype agree within a few units of that dtype. Of random
 * calls PyTorch's own rounding is what the model of a legitimate float64 kernel says.
 *
 * `bench-goldens NAME` runs only records whose API contains NAME and prints each disagreement;
 * `bench-goldens NAME FOLDER` those of the folders in FOLDER (tests/long/against_torch makes them). Calls that
 * PyTorch refuses are counted when they are accepted here: no dump contains them.
 */
#include <check.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/golden.h"
#include "bench/pytorch_known.h"
#include "bench/random_golden.h"
#include "support/suite.h"

static const char *filter, *other_folder;

/* Public goldens in which PyTorch's float64 result is the one that is wrong (or not what the
 * call's dtype asks for). test_pytorch_defects.c shows it with MPFR, record by record. */
static const char *const defects[] = {
    "Torch.digamma.0",   "Torch.digamma.1",   "Torch.polygamma.0",        "Tensor.nextafter_.0",
    "Functional.celu.0", "Functional.celu.1", "Functional.hardsigmoid.1",
};

static bool is_defect(const struct golden *golden)
{
    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++)
        if (golden->is_public && !strcmp(golden->api, defects[i])) return true;
    return false;
}

static double largest_magnitude(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]) && fabs(x[i]) > most) most = fabs(x[i]);
    return most;
}

/* Integers are compared as such: beyond 2^53 neighbours are one double. */
static size_t different_integers(char *text, size_t bytes, const struct reference *r,
                                 const struct tensor *dense, struct arena *arena)
{
    int64_t *want = arena_allocate(arena, r->n * sizeof *want);
    size_t bad = 0;
    dtype_to_int64(want, dense->data, dense->dtype, r->n);
    for (size_t i = 0; i < r->n; i++)
        if (r->integer[i] != want[i] && !bad++)
            snprintf(text, bytes, "element %zu: %lld, PyTorch %lld", i, (long long)r->integer[i],
                     (long long)want[i]);
    return bad;
}

/* The number of elements that disagree; the first is described. */
static size_t disagreements(char *text, size_t bytes, const struct reference *r,
                            const struct golden_tensor *golden, struct arena *arena)
{
    struct tensor dense;
    ck_assert_int_eq(tensor_densify(&dense, arena, &golden->tensor).code, 0);
    bool complex_valued = dtype_is_complex(r->dtype);
    size_t n = tensor_elements(&dense) * (complex_valued ? 2 : 1), bad = 0;
    bool same = dense.rank == r->rank && n == r->n;
    for (int d = 0; same && d < r->rank; d++) same = dense.shape[d] == r->shape[d];
    if (!same) {
        char have[128], want[128];
        shape_format(have, sizeof have, r->rank, r->shape);
        shape_format(want, sizeof want, dense.rank, dense.shape);
        snprintf(text, bytes, "shape %s, PyTorch %s", have, want);
        return 1;
    }
    double *want = arena_allocate(arena, 2 * n * sizeof *want);
    if (complex_valued && !dtype_is_complex(dense.dtype)) {
        snprintf(text, bytes, "complex, PyTorch %s", dtype_info(dense.dtype)->name);
        return 1;
    }
    dtype_to_double(want, dense.data, dense.dtype, tensor_elements(&dense));
    if (r->integer && dtype_is_integral(dense.dtype))
        return different_integers(text, bytes, r, &dense, arena);
    double scale = largest_magnitude(want, n);
    enum dtype rounded = golden->dtype != DT_NONE ? golden->dtype : dense.dtype;
    double unit = golden->is_float64 ? 1e-12
                                     : 8 * dtype_ulp(rounded == DT_F64 ? DT_F32 : rounded, 1);
    for (size_t i = 0; i < n; i++) {
        double have = r->integer ? (double)r->integer[i] : r->hi[i];
        double tolerance = unit * fabs(want[i]) + reference_bound(r, i) +
                           (golden->is_float64 ? 1e-13 : unit) * scale;
        bool agrees = r->integer ? have == want[i]
                      : isnan(want[i]) || isinf(want[i])
                          ? (isnan(want[i]) && isnan(have)) || have == want[i] ||
                                (!golden->is_float64 && isinf(want[i]))
                          : fabs(have - want[i]) <= tolerance;
        if (agrees || (golden->open && !(isfinite(have) && isfinite(want[i])))) continue;
        if (!bad++)
            snprintf(text, bytes, "element %zu: %.17g, PyTorch %.17g, bound %.3g", i, have, want[i],
                     reference_bound(r, i));
    }
    return bad;
}

/* A device in the native arithmetic must come close too: it shares the index logic. */
static bool native_is_close(const struct tensor *got, const struct golden_tensor *golden,
                            struct arena *arena)
{
    struct tensor want, have;
    ck_assert_int_eq(tensor_densify(&want, arena, &golden->tensor).code, 0);
    ck_assert_int_eq(tensor_densify(&have, arena, got).code, 0);
    size_t n = tensor_elements(&want);
    if (!tensor_same_shape(&want, &have)) return false;
    if (dtype_is_complex(have.dtype) != dtype_is_complex(want.dtype)) return false;
    if (have.dtype == want.dtype && dtype_is_integral(have.dtype))
        return !memcmp(have.data, want.data, n * dtype_info(have.dtype)->bytes);
    double *a = arena_allocate(arena, 2 * n * sizeof *a),
           *b = arena_allocate(arena, 2 * n * sizeof *b);
    dtype_to_double(a, want.data, want.dtype, n);
    dtype_to_double(b, have.data, have.dtype, n);
    if (dtype_is_complex(want.dtype)) n *= 2;
    double scale = largest_magnitude(a, n);
    double unit = dtype_is_integral(have.dtype)
                      ? 0
                      : dtype_ulp(have.dtype == DT_C64 ? DT_F32 : have.dtype, 1) * 64;
    if (!dtype_is_integral(have.dtype) && unit < 1e-4) unit = 1e-4;
    for (size_t i = 0; i < n; i++)
        if (isfinite(a[i]) && isfinite(b[i]) &&
            fabs(a[i] - b[i]) > unit * (fabs(a[i]) + scale) + 1e-7)
            return false;
    return true;
}

/* PyTorch's own draws have the dtype, the shape and the property. */
static bool draws_hold(char *text, size_t bytes, const struct bench_output *output,
                       const struct golden_tensor *golden, struct arena *arena)
{
    const struct reference *r = &output->reference;
    const struct tensor *draws = &golden->tensor;
    enum dtype dtype = golden->dtype != DT_NONE ? golden->dtype : r->dtype;
    bool same = draws->rank == r->rank;
    for (int d = 0; same && d < r->rank; d++) same = draws->shape[d] == r->shape[d];
    if (!same || dtype != r->dtype) {
        snprintf(text, bytes, "draws have another shape or dtype: %s, PyTorch %s",
                 dtype_info(r->dtype)->name, dtype_info(dtype)->name);
        return false;
    }
    struct tensor stored;
    double *x = arena_allocate(arena, 2 * tensor_elements(draws) * sizeof *x);
    if (golden->open) return true; /* parameters that are no numbers */
    if (golden->is_float64 || dtype == draws->dtype || dtype_is_integral(dtype))
        return output->property->holds(output->property, draws, text, bytes);
    ck_assert_int_eq(tensor_densify(&stored, arena, draws).code, 0);
    dtype_to_double(x, stored.data, stored.dtype, tensor_elements(draws));
    ck_assert_int_eq(tensor_create(&stored, arena, dtype, draws->rank, draws->shape).code, 0);
    dtype_from_double(stored.data, dtype, x, tensor_elements(draws));
    return output->property->holds(output->property, &stored, text, bytes);
}

struct tally {
    size_t records, missing, bad_forward, bad_backward, no_backward, bad_native, accepted, defects;
    size_t undetermined;
    size_t conventions; /* with infinities or NaN among the arguments */
    size_t rounded;     /* PyTorch's double is off by what double arithmetic explains */
};

static void complain(const struct golden *golden, const char *what, const char *text)
{
    printf("%-36s %-14s %s\n", golden->api, what, text);
}

/* Where more than one answer is right, the device makes PyTorch's choice. */
static void check_native(struct tally *tally, struct golden *golden, const struct value *choice,
                         struct arena *arena)
{
    struct bench *bench;
    struct value outputs, gradients = { .kind = VALUE_NONE };
    struct status far = status_ok();
    struct status st = bench_open(&bench, &golden->c, arena, BENCH_NATIVE);
    if (!st.code) st = bench_settle(bench, choice);
    if (!st.code) st = bench_native_outputs(&outputs, bench);
    for (size_t i = 0; !st.code && i < golden->output_count && i < outputs.list.count; i++)
        if (golden->outputs[i].present && outputs.list.items[i].kind == VALUE_TENSOR &&
            !native_is_close(outputs.list.items[i].tensor.tensor, &golden->outputs[i], arena))
            far = status_error(STATUS_DEVICE, "output %zu is far from PyTorch", i);
    if (!st.code && golden->c.has_backward) {
        st = bench_native_gradients(&gradients, bench, &golden->c.cotangents);
        for (size_t i = 0; !st.code && i < golden->gradient_count; i++)
            if (golden->gradients[i].present && tensor_elements(&golden->gradients[i].tensor) &&
                (gradients.list.items[i].kind != VALUE_TENSOR ||
                 !native_is_close(gradients.list.items[i].tensor.tensor, &golden->gradients[i],
                                  arena)))
                far = status_error(STATUS_DEVICE, "gradient %zu is far from PyTorch", i);
    }
    if (!st.code && !far.code) return;
    if (!st.code && other_folder &&
        rounding_explains(&golden->c, &outputs, &gradients, false, arena))
        return;
    tally->bad_native++;
    complain(golden, "native", st.code ? st.text : far.text);
}

static bool has_draws(struct bench *bench)
{
    for (size_t i = 0; i < bench_output_count(bench); i++)
        if (bench_output(bench, i)->kind == BENCH_OUTPUT_RANDOM) return true;
    return false;
}

/* Do the outputs agree? Otherwise `text` says what the first one does that does not. */
static bool outputs_agree(char *text, size_t bytes, struct bench *bench,
                          const struct golden *golden, struct arena *arena)
{
    const bool is_random = has_draws(bench);
    for (size_t i = 0; i < golden->output_count; i++) {
        const struct golden_tensor *want = &golden->outputs[i];
        if (!want->present) continue;
        if (i >= bench_output_count(bench)) {
            snprintf(text, bytes, "%zu outputs, PyTorch %zu", bench_output_count(bench),
                     golden->output_count);
            return false;
        }
        const struct bench_output *have = bench_output(bench, i);
        if (other_folder && random_output_is_open(have, &want->tensor, is_random)) continue;
        if (have->kind == BENCH_OUTPUT_RANDOM) {
            if (!draws_hold(text, bytes, have, want, arena)) return false;
        } else if (have->kind != BENCH_OUTPUT_TENSOR) {
            snprintf(text, bytes, "output %zu is no tensor", i);
            return false;
        } else if (disagreements(text, bytes, &have->reference, want, arena)) {
            return false;
        } else if (want->dtype != DT_NONE && have->reference.dtype != want->dtype) {
            snprintf(text, bytes, "output %zu has dtype %s, PyTorch's %s", i,
                     dtype_info(have->reference.dtype)->name, dtype_info(want->dtype)->name);
            return false;
        }
    }
    return true;
}

/* Do the gradients, a list as bench_backward makes it? */
static bool gradients_agree(char *text, size_t bytes, const struct bench_output *gradients,
                            const struct golden *golden, struct arena *arena)
{
    for (size_t i = 0; i < golden->gradient_count; i++) {
        if (!golden->gradients[i].present || !tensor_elements(&golden->gradients[i].tensor))
            continue;
        snprintf(text, bytes, "gradient %zu is missing", i);
        if (gradients[i].kind != BENCH_OUTPUT_TENSOR ||
            disagreements(text, bytes, &gradients[i].reference, &golden->gradients[i], arena))
            return false;
    }
    return true;
}

static void check_golden(struct tally *tally, struct golden *golden, struct arena *arena)
{
    struct bench *bench;
    struct bench_output *gradients;
    size_t count;
    struct value got;
    char text[320];
    tally->records++;
    struct status st = bench_open(&bench, &golden->c, arena, BENCH_REFERENCE);
    if (golden->refused || (other_folder && golden->native_refused)) {
        tally->accepted += !st.code;
        return;
    }
    const bool open = other_folder && random_golden_open(golden);
    if (st.code) {
        if (other_folder && (open || random_result_is_undetermined(st.text))) {
            tally->undetermined++;
            return;
        }
        tally->missing++;
        complain(golden, "no forward", st.text);
        return;
    }
    tally->conventions += open;
    golden_list(&got, golden->outputs, golden->output_count,
                arena); /* ties: PyTorch's indices are as good as ours */
    st = bench_settle(bench, &got);
    ck_assert_msg(!st.code, "%s: %s", golden->api, st.text);
    bool forward = outputs_agree(text, sizeof text, bench, golden, arena), backward = true;
    if (forward && golden->c.has_backward) {
        st = bench_backward(&gradients, &count, bench, &golden->c.cotangents);
        if (st.code) {
            tally->no_backward++;
            complain(golden, "no backward", st.text);
        } else {
            backward = gradients_agree(text, sizeof text, gradients, golden, arena);
        }
    }
    if (forward && backward && !has_draws(bench)) /* its draws would be others */
        check_native(tally, golden, &got, arena);
    if (forward && backward) return;
    if (other_folder && double_rounding_explains(golden, open, arena)) {
        tally->rounded++;
        return;
    }
    if (other_folder && pytorch_is_known_wrong(&golden->c, forward)) {
        tally->defects++;
        return;
    }
    *(forward ? &tally->bad_backward : &tally->bad_forward) += 1;
    complain(golden, forward ? "backward" : "forward", text);
}

static void check_folder(struct tally *tally, const char *folder)
{
    struct golden_file *file = golden_open(folder);
    struct arena arena = { 0 };
    static struct golden golden;

    ck_assert_msg(file != NULL, "%s cannot be read", folder);
    while (golden_next(file, &golden, &arena)) {
        golden.is_public = !strcmp(folder, PROBE_TEST_DATA "/goldens");
        if (!filter || strstr(golden.api, filter) || !strcmp(golden.family, filter)) {
            if (is_defect(&golden)) tally->defects++;
            else check_golden(tally, &golden, &arena);
        }
        arena_reset(&arena);
    }
    golden_close(file);
    arena_release(&arena);
}

/* Every folder tests/data/goldens* that has an index. */
START_TEST(every_golden_agrees)
{
    struct tally tally = { 0 };
    glob_t folders;

    const char *pattern = PROBE_TEST_DATA "/goldens*/index.jsonl";
    char own[1024];
    if (other_folder) {
        snprintf(own, sizeof own, "%s/*/index.jsonl", other_folder);
        pattern = own;
    }
    ck_assert_int_eq(glob(pattern, 0, NULL, &folders), 0);
    for (size_t i = 0; i < folders.gl_pathc; i++) {
        *strrchr(folders.gl_pathv[i], '/') = '\0';
        check_folder(&tally, folders.gl_pathv[i]);
    }
    globfree(&folders);
    printf("%zu goldens: %zu not in the catalogue, %zu forward and %zu backward disagree, %zu "
           "without backward, %zu native far, %zu refused by PyTorch and accepted here; %zu are "
           "PyTorch's defects, %zu within double rounding, %zu compared where they are finite, %zu "
           "undetermined\n",
           tally.records, tally.missing, tally.bad_forward, tally.bad_backward, tally.no_backward,
           tally.bad_native, tally.accepted, tally.defects, tally.rounded, tally.conventions,
           tally.undetermined);
    fflush(stdout); /* what failed is read, also where the process ends at once */
    ck_assert_uint_gt(tally.records, 0);
    ck_assert_uint_eq(tally.missing + tally.bad_forward + tally.bad_backward + tally.no_backward +
                          tally.bad_native,
                      0);
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 && *arguments[1] ? arguments[1] : NULL;
    other_folder = count > 2 ? arguments[2] : NULL;
    Suite *suite = suite_create("goldens");
    TCase *tests = tcase_create("goldens");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, every_golden_agrees);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
