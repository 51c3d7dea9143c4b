/* Two looks at the elements of a row that failed: how far each is off, in a unit in which honest errors are
 * alike wherever they sit, and which of them are off too far. */
#include "standards/judge_places.h"

#include <math.h>

#include "standards/error_model.h"
#include "standards/error_places.h"
#include "standards/metrics/metrics.h"

struct look {
    const struct reference *want;
    enum dtype dtype; /* of the components of `got` */
    const double *got;
    size_t line;       /* components along the last axis */
    const double *rms; /* of the finite references of each line; NULL with a bound */
};

/* Is `got` of the kind that `want` is in the dtype? The 8-bit formats may overflow to NaN. */
static bool same_kind(const struct look *look, double want, double got)
{
    bool narrow = look->dtype == DT_F8E4M3 || look->dtype == DT_F8E5M2;
    if (isnan(want)) return isnan(got);
    if (isfinite(got)) return isfinite(want);
    if (fabs(want) <= dtype_info(look->dtype)->largest) return false;
    return isnan(got) ? narrow : got == copysign(INFINITY, want);
}

/* How far component i is off. */
static double distance_at(const struct look *look, size_t i)
{
    const struct reference *want = look->want;
    double value = want->hi[i], got = look->got[i];
    if (!same_kind(look, value, got)) return INFINITY;
    double error = fabs((got - value) - (want->lo ? want->lo[i] : 0));
    if (!isfinite(error)) return 0;
    if (want->kernel_bound) return error / error_model_allowed(want, i);
    return error / dtype_ulp(look->dtype, fmax(fabs(value), look->rms[i / look->line]));
}

static double rms_of(const double *values, size_t n)
{
    double squares = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i])) {
            squares += values[i] * values[i];
            count++;
        }
    return count > 0 ? sqrt(squares / count) : 0;
}

static struct status measure_lines(struct look *look, struct arena *arena)
{
    const struct reference *want = look->want;
    size_t lines = want->n / look->line;
    double *rms = arena_allocate_array(arena, lines, sizeof *rms);
    if (!rms) return status_no_memory(lines * sizeof *rms);
    for (size_t i = 0; i < lines; i++) rms[i] = rms_of(want->hi + i * look->line, look->line);
    look->rms = rms;
    return status_ok();
}

/* From which distance on a component is off. */
static double least_distance(const struct look *look)
{
    double worst = 0;
    if (look->want->kernel_bound) return nextafter(1, 2);
    for (size_t i = 0; i < look->want->n; i++) worst = fmax(worst, distance_at(look, i));
    return worst > 0 ? worst / 4 : INFINITY; /* infinite stays infinite */
}

/* A complex element is off when one of its parts is. */
static void add_floating(struct error_places *places, const struct look *look)
{
    size_t parts = dtype_is_complex(look->want->dtype) ? 2 : 1;
    double least = least_distance(look);
    for (size_t i = 0; i < look->want->n; i += parts) {
        double distance = distance_at(look, i);
        if (parts == 2) distance = fmax(distance, distance_at(look, i + 1));
        if (distance >= least) error_places_add(places, i / parts);
    }
}

static struct status collect_floating(struct error_places *places, struct arena *arena,
                                      const struct reference *want, const struct tensor *got)
{
    double *values = arena_allocate_array(arena, want->n, sizeof *values);
    if (!values) return status_no_memory(want->n * sizeof *values);
    dtype_to_double(values, got->data, got->dtype, tensor_elements(got));
    struct look look = { want, metrics_component_dtype(got->dtype), values, 1, NULL };
    if (want->rank) look.line = (size_t)want->shape[want->rank - 1];
    if (dtype_is_complex(want->dtype)) look.line *= 2;
    if (!want->kernel_bound) TRY(measure_lines(&look, arena));
    add_floating(places, &look);
    return status_ok();
}

static struct status collect_integers(struct error_places *places, struct arena *arena,
                                      const struct reference *want, const struct tensor *got)
{
    int64_t *values = arena_allocate_array(arena, want->n, sizeof *values);
    if (!values) return status_no_memory(want->n * sizeof *values);
    dtype_to_int64(values, got->data, got->dtype, want->n);
    for (size_t i = 0; i < want->n; i++)
        if (values[i] != want->integer[i]) error_places_add(places, i);
    return status_ok();
}

static bool same_shape(const struct reference *want, const struct tensor *got)
{
    if (want->rank != got->rank) return false;
    for (int d = 0; d < want->rank; d++)
        if (want->shape[d] != got->shape[d]) return false;
    return dtype_is_complex(want->dtype) == dtype_is_complex(got->dtype) &&
           dtype_is_integral(want->dtype) == dtype_is_integral(got->dtype);
}

struct status judge_places(struct judged *judged, struct arena *arena, const struct reference *want,
                           const struct tensor *got)
{
    struct tensor dense;
    struct error_places *places = NULL;
    struct places_found found;
    char text[PLACES_TEXT_BYTES];
    bool fails = judged->verdict == VERDICT_WARNING || judged->verdict == VERDICT_ERROR;
    if (!fails || !want->n || !same_shape(want, got)) return status_ok();
    TRY(error_places_open(&places, arena, got->rank, got->shape));
    TRY(tensor_densify(&dense, arena, got));
    TRY(want->integer ? collect_integers(places, arena, want, &dense)
                      : collect_floating(places, arena, want, &dense));
    error_places_find(&found, places);
    places_text(text, &found);
    if (!*text) return status_ok();
    judged->places = arena_copy_string(arena, text);
    return judged->places ? status_ok() : status_no_memory(0);
}
