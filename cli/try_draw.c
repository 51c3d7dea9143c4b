/* An element is a function of seed, name of the call, number of the tensor and index, as in the
 * generator of inputs. */
#include "cli/try_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/value.h"
#include "generators/fill.h"
#include "generators/philox.h"

/* In (0, 1]. */
static double unit(struct philox *philox) { return ((double)philox_next(philox) + 1) * 0x1p-32; }

static double draw_normal(struct philox *philox, double low, double high)
{
    static const double turn = 6.283185307179586;
    double radius = sqrt(-2 * log(unit(philox)));
    return (low + high) / 2 + (high - low) / 4 * radius * cos(turn * unit(philox));
}

static double draw_integer(struct philox *philox, double low, double high)
{
    double first = ceil(low), last = floor(high);
    if (!(last > first) || last - first > 0x1p53) return first;
    return first + (double)philox_below(philox, (uint64_t)(last - first) + 1);
}

struct drawing {
    struct arena *arena;
    double (*draw)(struct philox *philox, double low, double high);
    const char *name;
    uint64_t seed;
    size_t tensors;
    struct status status;
};

static struct status fill(struct drawing *d, struct value *value)
{
    const struct tensor_record *record = value->tensor.record;
    double low = record->min.number, high = record->max.number;
    char path[32];
    (void)snprintf(path, sizeof path, "try.%zu", d->tensors++);
    if (!dtype_is_float(record->dtype) || !isfinite(low) || !isfinite(high)) return status_ok();
    struct tensor *tensor = arena_allocate(d->arena, sizeof *tensor);
    if (!tensor) return status_no_memory(sizeof *tensor);
    TRY(tensor_create(tensor, d->arena, record->dtype, record->rank, record->shape));
    struct philox philox = philox_open(fill_key(d->seed, d->name, path), STREAM_VALUE);
    size_t n = tensor_elements(tensor), width = dtype_info(record->dtype)->bytes;
    for (size_t i = 0; i < n; i++) {
        double x = d->draw(&philox, low, high);
        dtype_from_double((unsigned char *)tensor->data + i * width, record->dtype, &x, 1);
    }
    value->tensor.tensor = tensor;
    return status_ok();
}

static bool fill_tensor_value(struct value *tensor, void *context)
{
    struct drawing *d = context;
    d->status = fill(d, tensor);
    return !d->status.code;
}

struct status try_draw(struct api_case *c, struct arena *arena, const char *distribution,
                       uint64_t seed)
{
    struct drawing d = { .arena = arena,
                         .draw = !strcmp(distribution, "normal") ? draw_normal : draw_integer,
                         .name = c->full_name,
                         .seed = seed };
    if (!strcmp(distribution, "uniform")) return status_ok();
    if (value_each_tensor(&c->args, fill_tensor_value, &d))
        (void)value_each_tensor(&c->kwargs, fill_tensor_value, &d);
    return d.status;
}
