/* Values of a manifest's expressions: where they come from and what can be computed with them. */
#include "runner/devices/plugin/plugin_value.h"

#include <math.h>
#include <string.h>

struct status expression_from_value(struct expression_value *out, struct arena *arena,
                                    const struct value *value)
{
    *out = (struct expression_value){ 0 };
    switch (value->kind) {
    case VALUE_NONE: return status_ok();
    case VALUE_BOOL: *out = expression_bool(value->boolean); return status_ok();
    case VALUE_INT:
        out->kind = EXPRESSION_INT;
        out->integer = value->integer;
        return status_ok();
    case VALUE_FLOAT:
        out->kind = EXPRESSION_FLOAT;
        out->real = value->real;
        return status_ok();
    case VALUE_STRING:
    case VALUE_DEVICE:
    case VALUE_MEMORY_FORMAT:
    case VALUE_UNSUPPORTED:
        out->kind = EXPRESSION_STRING;
        out->string = value->string ? value->string : "";
        return status_ok();
    case VALUE_ELLIPSIS:
        out->kind = EXPRESSION_STRING;
        out->string = "...";
        return status_ok();
    case VALUE_DTYPE:
        out->kind = EXPRESSION_STRING;
        out->string = dtype_short_name(value->dtype);
        return status_ok();
    case VALUE_TENSOR:
        if (!value->tensor.tensor) return status_ok();
        out->kind = EXPRESSION_TENSOR;
        out->tensor = value->tensor.tensor;
        return status_ok();
    case VALUE_LIST:
    case VALUE_DICT:
    case VALUE_SLICE:
    case VALUE_SIZE: break;
    }
    out->kind = EXPRESSION_LIST;
    out->list.count = value->list.count;
    out->list.items = arena_allocate_zeroed(arena, value->list.count, sizeof *out);
    if (!out->list.items) return status_no_memory(value->list.count * sizeof *out);
    for (size_t i = 0; i < value->list.count; i++)
        TRY(expression_from_value(&out->list.items[i], arena, &value->list.items[i]));
    return status_ok();
}

/* --- arithmetic ------------------------------------------------------------------------------ */

static bool is_number(const struct expression_value *v)
{
    return v->kind == EXPRESSION_INT || v->kind == EXPRESSION_FLOAT || v->kind == EXPRESSION_BOOL;
}

static double as_real(const struct expression_value *v)
{
    return v->kind == EXPRESSION_FLOAT  ? v->real
           : v->kind == EXPRESSION_BOOL ? (double)v->boolean
                                        : (double)v->integer;
}

int64_t expression_integer(const struct expression_value *v)
{
    return v->kind == EXPRESSION_BOOL ? v->boolean : v->integer;
}

bool expression_truth(const struct expression_value *v)
{
    switch (v->kind) {
    case EXPRESSION_NONE: return false;
    case EXPRESSION_BOOL: return v->boolean;
    case EXPRESSION_INT: return v->integer != 0;
    case EXPRESSION_FLOAT: return v->real != 0;
    case EXPRESSION_STRING: return v->string[0] != '\0';
    case EXPRESSION_LIST: return v->list.count != 0;
    case EXPRESSION_TENSOR: return true;
    }
    return false;
}

bool expression_equal(const struct expression_value *a, const struct expression_value *b)
{
    if (is_number(a) && is_number(b)) {
        if (a->kind == EXPRESSION_FLOAT || b->kind == EXPRESSION_FLOAT)
            return as_real(a) == as_real(b);
        return expression_integer(a) == expression_integer(b);
    }
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case EXPRESSION_STRING: return !strcmp(a->string, b->string);
    case EXPRESSION_TENSOR: return a->tensor == b->tensor;
    case EXPRESSION_LIST:
        if (a->list.count != b->list.count) return false;
        for (size_t i = 0; i < a->list.count; i++)
            if (!expression_equal(&a->list.items[i], &b->list.items[i])) return false;
        return true;
    default: return true;
    }
}

struct expression_value expression_bool(bool b)
{
    return (struct expression_value){ .kind = EXPRESSION_BOOL, .boolean = b };
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* With the sign of b, as Python's. */
static int64_t floor_remainder(int64_t a, int64_t b)
{
    int64_t rest = b == -1 ? 0 : a % b; /* the smallest number has no quotient by -1 */
    return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

static struct status integer_operation(struct expression_value *out, char operation, int64_t a,
                                       int64_t b)
{
    int64_t result = 0;
    bool overflow = false;
    if ((operation == 'f' || operation == '%') && b == 0)
        return status_error(STATUS_BAD_INPUT, "division by zero");
    switch (operation) {
    case '+': overflow = __builtin_add_overflow(a, b, &result); break;
    case '-': overflow = __builtin_sub_overflow(a, b, &result); break;
    case '*': overflow = __builtin_mul_overflow(a, b, &result); break;
    case 'f':
        overflow = b == -1 && a == INT64_MIN;
        if (!overflow) result = floor_divide(a, b);
        break;
    default: result = floor_remainder(a, b); break;
    }
    if (overflow) return status_error(STATUS_BAD_INPUT, "the number does not fit 64 bits");
    *out = (struct expression_value){ .kind = EXPRESSION_INT, .integer = result };
    return status_ok();
}

static struct status join(struct expression_value *out, struct arena *arena,
                          const struct expression_value *a, const struct expression_value *b)
{
    size_t count = a->list.count + b->list.count;
    if (count > EXPRESSION_LIST_MAX) return status_error(STATUS_BAD_INPUT, "the list is too long");
    struct expression_value *items = arena_allocate_array(arena, count, sizeof *items);
    if (!items) return status_no_memory(count * sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = i < a->list.count ? a->list.items[i] : b->list.items[i - a->list.count];
    *out = (struct expression_value){ .kind = EXPRESSION_LIST, .list = { items, count } };
    return status_ok();
}

struct status expression_operate(struct expression_value *out, struct arena *arena, char operation,
                                 const struct expression_value *a, const struct expression_value *b)
{
    if (operation == '+' && a->kind == EXPRESSION_LIST && b->kind == EXPRESSION_LIST)
        return join(out, arena, a, b);
    if (!is_number(a) || !is_number(b))
        return status_error(STATUS_BAD_INPUT, "arithmetic needs numbers");
    if (a->kind != EXPRESSION_FLOAT && b->kind != EXPRESSION_FLOAT && operation != '/')
        return integer_operation(out, operation, expression_integer(a), expression_integer(b));
    double x = as_real(a), y = as_real(b), result;
    if (y == 0 && strchr("/f%", operation))
        return status_error(STATUS_BAD_INPUT, "division by zero");
    switch (operation) {
    case '+': result = x + y; break;
    case '-': result = x - y; break;
    case '*': result = x * y; break;
    case '/': result = x / y; break;
    case 'f': result = floor(x / y); break;
    default: result = x - floor(x / y) * y; break;
    }
    *out = (struct expression_value){ .kind = EXPRESSION_FLOAT, .real = result };
    return status_ok();
}

struct status expression_compare(struct expression_value *out, enum expression_relation how,
                                 const struct expression_value *a, const struct expression_value *b)
{
    bool result = false;
    if (how == RELATION_IN || how == RELATION_NOT_IN) {
        if (b->kind != EXPRESSION_LIST)
            return status_error(STATUS_BAD_INPUT, "\"in\" needs a list on its right");
        for (size_t i = 0; i < b->list.count; i++) result |= expression_equal(a, &b->list.items[i]);
        *out = expression_bool(result == (how == RELATION_IN));
        return status_ok();
    }
    if (how == RELATION_EQUAL || how == RELATION_UNEQUAL) {
        *out = expression_bool(expression_equal(a, b) == (how == RELATION_EQUAL));
        return status_ok();
    }
    if (!is_number(a) || !is_number(b))
        return status_error(STATUS_BAD_INPUT, "an order comparison needs numbers");
    /* A double does not tell all integers of 64 bits apart. */
    bool real = a->kind == EXPRESSION_FLOAT || b->kind == EXPRESSION_FLOAT;
    bool less = real ? as_real(a) < as_real(b) : expression_integer(a) < expression_integer(b);
    bool more = real ? as_real(a) > as_real(b) : expression_integer(a) > expression_integer(b);
    switch (how) {
    case RELATION_LESS: result = less; break;
    case RELATION_LESS_EQUAL: result = less || expression_equal(a, b); break;
    case RELATION_GREATER: result = more; break;
    default: result = more || expression_equal(a, b); break;
    }
    *out = expression_bool(result);
    return status_ok();
}
