/* One C function per function of the language, and the table of their names. */
#include "runner/devices/plugin/plugin_functions.h"

#include <math.h>
#include <string.h>

#include "core/checked.h"
#include "core/nearest_name.h"

static struct status wrong(const char *expected)
{
    return status_error(STATUS_BAD_INPUT, "%s is expected", expected);
}

static void set_integer(struct expression_value *out, int64_t integer)
{
    *out = (struct expression_value){ .kind = EXPRESSION_INT, .integer = integer };
}

static void set_real(struct expression_value *out, double real)
{
    *out = (struct expression_value){ .kind = EXPRESSION_FLOAT, .real = real };
}

static bool get_real(double *out, const struct expression_value *v)
{
    if (v->kind == EXPRESSION_FLOAT) *out = v->real;
    else if (v->kind == EXPRESSION_INT) *out = (double)v->integer;
    else if (v->kind == EXPRESSION_BOOL) *out = (double)v->boolean;
    else return false;
    return true;
}

/* A list of integers from an array. */
static struct status set_list(struct expression_value *out, struct arena *arena,
                              const int64_t *numbers, size_t count)
{
    struct expression_value *items = arena_allocate_array(arena, count, sizeof *items);
    if (!items) return status_no_memory(count * sizeof *items);
    for (size_t i = 0; i < count; i++) set_integer(&items[i], numbers[i]);
    *out = (struct expression_value){ .kind = EXPRESSION_LIST, .list = { items, count } };
    return status_ok();
}

/* The integers of a list; at most `room`. */
static bool get_list(int64_t *numbers, size_t *count, size_t room, const struct expression_value *v)
{
    if (v->kind != EXPRESSION_LIST || v->list.count > room) return false;
    for (size_t i = 0; i < v->list.count; i++) {
        if (v->list.items[i].kind != EXPRESSION_INT) return false;
        numbers[i] = v->list.items[i].integer;
    }
    *count = v->list.count;
    return true;
}

/* --- of tensors ------------------------------------------------------------------------------- */

static struct status call_shape(struct expression_value *out, struct arena *arena,
                                const struct expression_value *a, size_t count)
{
    (void)count;
    if (a[0].kind != EXPRESSION_TENSOR) return wrong("a tensor");
    return set_list(out, arena, a[0].tensor->shape, (size_t)a[0].tensor->rank);
}

/* Strides of the dense row-major elements that a kernel is given. */
static struct status call_strides(struct expression_value *out, struct arena *arena,
                                  const struct expression_value *a, size_t count)
{
    int64_t strides[TENSOR_MAX_RANK], step = 1;
    (void)count;
    if (a[0].kind != EXPRESSION_TENSOR) return wrong("a tensor");
    for (int i = a[0].tensor->rank - 1; i >= 0; i--) {
        strides[i] = step;
        if (a[0].tensor->shape[i] > 1) step *= a[0].tensor->shape[i];
    }
    return set_list(out, arena, strides, (size_t)a[0].tensor->rank);
}

static struct status call_rank(struct expression_value *out, struct arena *arena,
                               const struct expression_value *a, size_t count)
{
    (void)arena, (void)count;
    if (a[0].kind != EXPRESSION_TENSOR) return wrong("a tensor");
    set_integer(out, a[0].tensor->rank);
    return status_ok();
}

static struct status call_numel(struct expression_value *out, struct arena *arena,
                                const struct expression_value *a, size_t count)
{
    (void)arena, (void)count;
    if (a[0].kind != EXPRESSION_TENSOR) return wrong("a tensor");
    set_integer(out, (int64_t)tensor_elements(a[0].tensor));
    return status_ok();
}

static struct status call_dtype(struct expression_value *out, struct arena *arena,
                                const struct expression_value *a, size_t count)
{
    (void)arena, (void)count;
    if (a[0].kind != EXPRESSION_TENSOR) return wrong("a tensor");
    *out = (struct expression_value){ .kind = EXPRESSION_STRING,
                                      .string = dtype_short_name(a[0].tensor->dtype) };
    return status_ok();
}

/* Row length of a matrix in row-major storage, at least 1 as BLAS asks. */
static struct status call_leading(struct expression_value *out, struct arena *arena,
                                  const struct expression_value *a, size_t count)
{
    (void)arena, (void)count;
    if (a[0].kind != EXPRESSION_TENSOR || a[0].tensor->rank < 1) return wrong("a tensor");
    int64_t columns = a[0].tensor->shape[a[0].tensor->rank - 1];
    set_integer(out, columns > 1 ? columns : 1);
    return status_ok();
}

/* The value of a tensor of one element. */
static struct status call_item(struct expression_value *out, struct arena *arena,
                               const struct expression_value *a, size_t count)
{
    (void)arena, (void)count;
    if (a[0].kind != EXPRESSION_TENSOR || tensor_elements(a[0].tensor) != 1 ||
        dtype_is_complex(a[0].tensor->dtype))
        return wrong("a real tensor of one element");
    if (dtype_is_integral(a[0].tensor->dtype)) {
        int64_t integer;
        dtype_to_int64(&integer, a[0].tensor->data, a[0].tensor->dtype, 1);
        set_integer(out, integer);
        return status_ok();
    }
    double real;
    dtype_to_double(&real, a[0].tensor->data, a[0].tensor->dtype, 1);
    set_real(out, real);
    return status_ok();
}

static struct status call_itemsize(struct expression_value *out, struct arena *arena,
                                   const struct expression_value *a, size_t count)
{
    enum dtype dtype = DT_NONE;
    (void)arena, (void)count;
    if (a[0].kind == EXPRESSION_TENSOR) dtype = a[0].tensor->dtype;
    else if (a[0].kind == EXPRESSION_STRING) dtype = dtype_from_name(a[0].string);
    if (dtype == DT_NONE) return wrong("a tensor or the name of a dtype");
    set_integer(out, (int64_t)dtype_info(dtype)->bytes);
    return status_ok();
}

/* --- of lists ----------------------------------------------------------------------------------- */

static struct status call_len(struct expression_value *out, struct arena *arena,
                              const struct expression_value *a, size_t count)
{
    (void)arena, (void)count;
    if (a[0].kind != EXPRESSION_LIST) return wrong("a list");
    set_integer(out, (int64_t)a[0].list.count);
    return status_ok();
}

static struct status call_product(struct expression_value *out, struct arena *arena,
                                  const struct expression_value *a, size_t count)
{
    int64_t product = 1;
    (void)arena, (void)count;
    if (a[0].kind != EXPRESSION_LIST) return wrong("a list of integers");
    for (size_t i = 0; i < a[0].list.count; i++)
        if (a[0].list.items[i].kind != EXPRESSION_INT ||
            __builtin_mul_overflow(product, a[0].list.items[i].integer, &product))
            return wrong("a list of integers with a product of 64 bits");
    set_integer(out, product);
    return status_ok();
}

static struct status call_sum(struct expression_value *out, struct arena *arena,
                              const struct expression_value *a, size_t count)
{
    int64_t sum = 0;
    (void)arena, (void)count;
    if (a[0].kind != EXPRESSION_LIST) return wrong("a list of integers");
    for (size_t i = 0; i < a[0].list.count; i++)
        if (a[0].list.items[i].kind != EXPRESSION_INT ||
            __builtin_add_overflow(sum, a[0].list.items[i].integer, &sum))
            return wrong("a list of integers with a sum of 64 bits");
    set_integer(out, sum);
    return status_ok();
}

static struct status call_reversed(struct expression_value *out, struct arena *arena,
                                   const struct expression_value *a, size_t count)
{
    (void)count;
    if (a[0].kind != EXPRESSION_LIST) return wrong("a list");
    size_t n = a[0].list.count;
    struct expression_value *items = arena_allocate_array(arena, n, sizeof *items);
    if (!items) return status_no_memory(n * sizeof *items);
    for (size_t i = 0; i < n; i++) items[i] = a[0].list.items[n - 1 - i];
    *out = (struct expression_value){ .kind = EXPRESSION_LIST, .list = { items, n } };
    return status_ok();
}

/* range(n): [0, 1, ..., n-1]. */
static struct status call_range(struct expression_value *out, struct arena *arena,
                                const struct expression_value *a, size_t count)
{
    int64_t numbers[TENSOR_MAX_RANK];
    (void)count;
    if (a[0].kind != EXPRESSION_INT || a[0].integer < 0 || a[0].integer > TENSOR_MAX_RANK)
        return wrong("an integer between 0 and 16");
    for (int64_t i = 0; i < a[0].integer; i++) numbers[i] = i;
    return set_list(out, arena, numbers, (size_t)a[0].integer);
}

/* repeat(x, n): [x, x, ...]; a list of n items stays as it is (PyTorch's int-or-pair). */
static struct status call_repeat(struct expression_value *out, struct arena *arena,
                                 const struct expression_value *a, size_t count)
{
    (void)count;
    if (a[1].kind != EXPRESSION_INT || a[1].integer < 0 || a[1].integer > TENSOR_MAX_RANK)
        return wrong("a count between 0 and 16");
    size_t n = (size_t)a[1].integer;
    if (a[0].kind == EXPRESSION_LIST && a[0].list.count == n) {
        *out = a[0];
        return status_ok();
    }
    const struct expression_value *item = &a[0];
    if (a[0].kind == EXPRESSION_LIST) {
        if (a[0].list.count != 1) return wrong("one item, or as many as the count");
        item = &a[0].list.items[0];
    }
    struct expression_value *items = arena_allocate_array(arena, n, sizeof *items);
    if (!items) return status_no_memory(n * sizeof *items);
    for (size_t i = 0; i < n; i++) items[i] = *item;
    *out = (struct expression_value){ .kind = EXPRESSION_LIST, .list = { items, n } };
    return status_ok();
}

/* The shape that two shapes broadcast to. */
static struct status call_broadcast(struct expression_value *out, struct arena *arena,
                                    const struct expression_value *a, size_t count)
{
    int64_t shape[TENSOR_MAX_RANK], other[TENSOR_MAX_RANK], both[TENSOR_MAX_RANK];
    size_t rank = 0, n;
    for (size_t k = 0; k < count; k++) {
        if (!get_list(other, &n, TENSOR_MAX_RANK, &a[k])) return wrong("a shape");
        size_t most = n > rank ? n : rank;
        for (size_t i = 1; i <= most; i++) {
            int64_t x = i <= rank ? shape[rank - i] : 1, y = i <= n ? other[n - i] : 1;
            if (x != y && x != 1 && y != 1) return wrong("shapes that broadcast");
            both[most - i] = x == 1 ? y : x;
        }
        memcpy(shape, both, most * sizeof *shape);
        rank = most;
    }
    return set_list(out, arena, shape, rank);
}

static bool name_axis(bool *named, int64_t axis, size_t rank)
{
    if (axis < 0) axis += (int64_t)rank;
    if (axis < 0 || axis >= (int64_t)rank) return false;
    named[axis] = true;
    return true;
}

/* without(list, i): the list without the item at i (negative: from the end); a list of places
 * drops them all. With a third argument that is true the items become 1 (keepdim). */
static struct status call_without(struct expression_value *out, struct arena *arena,
                                  const struct expression_value *a, size_t count)
{
    int64_t numbers[TENSOR_MAX_RANK], kept[TENSOR_MAX_RANK], axes[TENSOR_MAX_RANK];
    bool named[TENSOR_MAX_RANK] = { false };
    size_t rank, n_axes = 1, n = 0;
    if (!get_list(numbers, &rank, TENSOR_MAX_RANK, &a[0])) return wrong("a list of integers");
    if (a[1].kind == EXPRESSION_INT) axes[0] = a[1].integer;
    else if (!get_list(axes, &n_axes, TENSOR_MAX_RANK, &a[1]))
        return wrong("a place or a list of places");
    for (size_t i = 0; i < n_axes; i++)
        if (!name_axis(named, axes[i], rank)) return wrong("a place inside the list");
    bool keep = count == 3 && a[2].kind == EXPRESSION_BOOL && a[2].boolean;
    for (size_t i = 0; i < rank; i++) {
        if (named[i] && !keep) continue;
        kept[n++] = named[i] ? 1 : numbers[i];
    }
    return set_list(out, arena, kept, n);
}

/* --- of anything ---------------------------------------------------------------------------------- */

static struct status call_has(struct expression_value *out, struct arena *arena,
                              const struct expression_value *a, size_t count)
{
    (void)arena, (void)count;
    *out = (struct expression_value){ .kind = EXPRESSION_BOOL,
                                      .boolean = a[0].kind != EXPRESSION_NONE };
    return status_ok();
}

static struct status call_kind(struct expression_value *out, struct arena *arena,
                               const struct expression_value *a, size_t count)
{
    static const char *const names[] = { "none", "bool", "int", "float", "str", "list", "tensor" };
    (void)arena, (void)count;
    *out = (struct expression_value){ .kind = EXPRESSION_STRING, .string = names[a[0].kind] };
    return status_ok();
}

static struct status call_int(struct expression_value *out, struct arena *arena,
                              const struct expression_value *a, size_t count)
{
    double real;
    (void)arena, (void)count;
    if (a[0].kind == EXPRESSION_INT) {
        *out = a[0];
        return status_ok();
    }
    if (!get_real(&real, &a[0]) || !(fabs(real) < 0x1p62)) return wrong("a number");
    set_integer(out, (int64_t)real);
    return status_ok();
}

static struct status call_float(struct expression_value *out, struct arena *arena,
                                const struct expression_value *a, size_t count)
{
    double real;
    (void)arena, (void)count;
    if (!get_real(&real, &a[0])) return wrong("a number");
    set_real(out, real);
    return status_ok();
}

static struct status call_abs(struct expression_value *out, struct arena *arena,
                              const struct expression_value *a, size_t count)
{
    (void)arena, (void)count;
    if (a[0].kind == EXPRESSION_INT && a[0].integer != INT64_MIN)
        set_integer(out, a[0].integer < 0 ? -a[0].integer : a[0].integer);
    else if (a[0].kind == EXPRESSION_FLOAT) set_real(out, fabs(a[0].real));
    else return wrong("a number");
    return status_ok();
}

static struct status call_sqrt(struct expression_value *out, struct arena *arena,
                               const struct expression_value *a, size_t count)
{
    double real;
    (void)arena, (void)count;
    if (!get_real(&real, &a[0])) return wrong("a number");
    set_real(out, sqrt(real));
    return status_ok();
}

/* Of two or more numbers, or of the items of one list. */
static struct status extremum(struct expression_value *out, const struct expression_value *a,
                              size_t count, bool want_largest)
{
    if (count == 1 && a[0].kind == EXPRESSION_LIST) {
        count = a[0].list.count;
        a = a[0].list.items;
    }
    double best = 0, x;
    for (size_t i = 0; i < count; i++) {
        if (!get_real(&x, &a[i])) return wrong("a number");
        if (i && (want_largest ? x <= best : x >= best)) continue;
        best = x;
        *out = a[i];
    }
    return count ? status_ok() : wrong("a list that is not empty");
}

static struct status call_max(struct expression_value *out, struct arena *arena,
                              const struct expression_value *a, size_t count)
{
    (void)arena;
    return extremum(out, a, count, true);
}

static struct status call_min(struct expression_value *out, struct arena *arena,
                              const struct expression_value *a, size_t count)
{
    (void)arena;
    return extremum(out, a, count, false);
}

static struct status call_ceil_div(struct expression_value *out, struct arena *arena,
                                   const struct expression_value *a, size_t count)
{
    (void)arena, (void)count;
    if (a[0].kind != EXPRESSION_INT || a[1].kind != EXPRESSION_INT || a[1].integer <= 0)
        return wrong("an integer and a positive integer");
    int64_t x = a[0].integer, y = a[1].integer;
    set_integer(out, x / y + (x % y > 0));
    return status_ok();
}

const struct expression_function expression_functions[] = {
    { "shape", 1, 1, call_shape, "list of the extents of a tensor" },
    { "strides", 1, 1, call_strides, "list of the strides, in elements, of its dense storage" },
    { "rank", 1, 1, call_rank, "number of dimensions of a tensor" },
    { "numel", 1, 1, call_numel, "number of elements of a tensor" },
    { "dtype", 1, 1, call_dtype, "dtype of a tensor as a string: 'float32'" },
    { "leading", 1, 1, call_leading, "leading dimension of a row-major matrix: its last extent" },
    { "item", 1, 1, call_item, "the number in a tensor of one element" },
    { "itemsize", 1, 1, call_itemsize, "bytes of an element of a tensor or dtype" },
    { "len", 1, 1, call_len, "number of items of a list" },
    { "prod", 1, 1, call_product, "product of a list" },
    { "sum", 1, 1, call_sum, "sum of a list" },
    { "reversed", 1, 1, call_reversed, "the list backwards" },
    { "range", 1, 1, call_range, "[0, 1, ..., n-1]" },
    { "repeat", 2, 2, call_repeat, "repeat(x, n): n times x; a list of n items stays" },
    { "broadcast", 1, 8, call_broadcast, "the shape that shapes broadcast to" },
    { "without", 2, 3, call_without,
      "without(list, place or places[, keep]): dropped, or made 1 when keep is True" },
    { "has", 1, 1, call_has, "is the argument not None" },
    { "kind", 1, 1, call_kind, "'none', 'bool', 'int', 'float', 'str', 'list' or 'tensor'" },
    { "int", 1, 1, call_int, "a number cut to an integer" },
    { "float", 1, 1, call_float, "a number as a float" },
    { "abs", 1, 1, call_abs, "absolute value" },
    { "sqrt", 1, 1, call_sqrt, "square root" },
    { "min", 1, 8, call_min, "smallest of numbers or of a list" },
    { "max", 1, 8, call_max, "largest of numbers or of a list" },
    { "ceil_div", 2, 2, call_ceil_div, "quotient rounded up" },
    { NULL, 0, 0, NULL, NULL },
};

const struct expression_function *expression_function_find(const char *name)
{
    for (const struct expression_function *f = expression_functions; f->name; f++)
        if (!strcmp(f->name, name)) return f;
    return NULL;
}

const char *expression_function_nearest(const char *name)
{
    const char *names[sizeof expression_functions / sizeof *expression_functions];
    size_t count = 0;
    for (; expression_functions[count].name; count++)
        names[count] = expression_functions[count].name;
    return nearest_name(name, names, count);
}
