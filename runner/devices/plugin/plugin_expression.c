/* A recursive descent that evaluates while it reads. Manifests have short expressions and a call
 * evaluates a few dozen, so no tree is kept: 0.1 us a token is less than a tree would cost to
 * walk. Parts that must not be evaluated (the branch not taken, a check without names) are read
 * with `live` off. */
#include "runner/devices/plugin/plugin_expression.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "runner/devices/plugin/plugin_functions.h"

enum { DEPTH_MAX = 60, NAME_MAX_BYTES = 64, LIST_MAX = 4096 };

struct reader {
    const char *text, *at;
    const struct expression_scope *scope;
    bool live;
    int depth;
};

static struct status read_expression(struct expression_value *out, struct reader *r);

static struct status fault(const struct reader *r, const char *message)
{
    return status_error(STATUS_BAD_INPUT, "column %d: %s", (int)(r->at - r->text) + 1, message);
}

static void skip_space(struct reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n') r->at++;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Take an operator made of marks, or a word. */
static bool take(struct reader *r, const char *token)
{
    size_t length = strlen(token);
    skip_space(r);
    if (strncmp(r->at, token, length)) return false;
    if (is_name(token[0]) && is_name(r->at[length])) return false;
    /* "/" is not the start of "//", nor "<" of "<=". */
    if (length == 1 && strchr("/<>=", *token) && (r->at[1] == '=' || r->at[1] == '/')) return false;
    r->at += length;
    return true;
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

static int64_t as_integer(const struct expression_value *v)
{
    return v->kind == EXPRESSION_BOOL ? v->boolean : v->integer;
}

static bool truth(const struct expression_value *v)
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

static bool equal(const struct expression_value *a, const struct expression_value *b)
{
    if (is_number(a) && is_number(b)) {
        if (a->kind == EXPRESSION_FLOAT || b->kind == EXPRESSION_FLOAT)
            return as_real(a) == as_real(b);
        return as_integer(a) == as_integer(b);
    }
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case EXPRESSION_STRING: return !strcmp(a->string, b->string);
    case EXPRESSION_TENSOR: return a->tensor == b->tensor;
    case EXPRESSION_LIST:
        if (a->list.count != b->list.count) return false;
        for (size_t i = 0; i < a->list.count; i++)
            if (!equal(&a->list.items[i], &b->list.items[i])) return false;
        return true;
    default: return true;
    }
}

static struct expression_value from_bool(bool b)
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

static struct status integer_operation(struct expression_value *out, const struct reader *r,
                                       char operation, int64_t a, int64_t b)
{
    int64_t result = 0;
    bool overflow = false;
    if ((operation == 'f' || operation == '%') && b == 0) return fault(r, "division by zero");
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
    if (overflow) return fault(r, "the number does not fit 64 bits");
    *out = (struct expression_value){ .kind = EXPRESSION_INT, .integer = result };
    return status_ok();
}

static struct status join(struct expression_value *out, const struct reader *r,
                          const struct expression_value *a, const struct expression_value *b)
{
    size_t count = a->list.count + b->list.count;
    if (count > LIST_MAX) return fault(r, "the list is too long");
    struct expression_value *items = arena_allocate_array(r->scope->arena, count, sizeof *items);
    if (!items) return status_no_memory(count * sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = i < a->list.count ? a->list.items[i] : b->list.items[i - a->list.count];
    *out = (struct expression_value){ .kind = EXPRESSION_LIST, .list = { items, count } };
    return status_ok();
}

/* `operation` is one of + - * / % and f for floor division. */
static struct status operate(struct expression_value *out, const struct reader *r, char operation,
                             const struct expression_value *a, const struct expression_value *b)
{
    if (!r->live) return status_ok();
    if (operation == '+' && a->kind == EXPRESSION_LIST && b->kind == EXPRESSION_LIST)
        return join(out, r, a, b);
    if (!is_number(a) || !is_number(b)) return fault(r, "arithmetic needs numbers");
    if (a->kind != EXPRESSION_FLOAT && b->kind != EXPRESSION_FLOAT && operation != '/')
        return integer_operation(out, r, operation, as_integer(a), as_integer(b));
    double x = as_real(a), y = as_real(b), result;
    if (y == 0 && strchr("/f%", operation)) return fault(r, "division by zero");
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

enum comparison { EQUAL, UNEQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, IN, NOT_IN };

static struct status compare(struct expression_value *out, const struct reader *r,
                             enum comparison how, const struct expression_value *a,
                             const struct expression_value *b)
{
    bool result = false;
    if (!r->live) return status_ok();
    if (how == IN || how == NOT_IN) {
        if (b->kind != EXPRESSION_LIST) return fault(r, "\"in\" needs a list on its right");
        for (size_t i = 0; i < b->list.count; i++) result |= equal(a, &b->list.items[i]);
        *out = from_bool(result == (how == IN));
        return status_ok();
    }
    if (how == EQUAL || how == UNEQUAL) {
        *out = from_bool(equal(a, b) == (how == EQUAL));
        return status_ok();
    }
    if (!is_number(a) || !is_number(b)) return fault(r, "an order comparison needs numbers");
    /* A double does not tell all integers of 64 bits apart. */
    bool real = a->kind == EXPRESSION_FLOAT || b->kind == EXPRESSION_FLOAT;
    bool less = real ? as_real(a) < as_real(b) : as_integer(a) < as_integer(b);
    bool more = real ? as_real(a) > as_real(b) : as_integer(a) > as_integer(b);
    switch (how) {
    case LESS: result = less; break;
    case LESS_EQUAL: result = less || equal(a, b); break;
    case GREATER: result = more; break;
    default: result = more || equal(a, b); break;
    }
    *out = from_bool(result);
    return status_ok();
}

/* --- the grammar, from the tightest binding outward ------------------------------------------ */

static struct status read_number(struct expression_value *out, struct reader *r)
{
    char *end;
    errno = 0;
    long long integer = strtoll(r->at, &end, 10);
    if (*end != '.' && *end != 'e' && *end != 'E') {
        if (errno) return fault(r, "the number does not fit 64 bits");
        *out = (struct expression_value){ .kind = EXPRESSION_INT, .integer = integer };
    } else {
        *out = (struct expression_value){ .kind = EXPRESSION_FLOAT, .real = strtod(r->at, &end) };
    }
    r->at = end;
    if (is_name(*r->at)) return fault(r, "an operator is expected after a number");
    return status_ok();
}

static struct status read_string(struct expression_value *out, struct reader *r)
{
    const char *start = ++r->at;
    while (*r->at && *r->at != '\'') r->at++;
    if (!*r->at) return fault(r, "the string does not end");
    out->kind = EXPRESSION_STRING;
    out->string = "";
    if (r->live) {
        out->string = arena_copy_bytes(r->scope->arena, start, (size_t)(r->at - start));
        if (!out->string) return status_no_memory(0);
    }
    r->at++;
    return status_ok();
}

/* Items up to a closing mark that is consumed. Room grows by doubling in the arena. */
static struct status read_items(struct expression_value **out, size_t *count, struct reader *r,
                                const char *closing)
{
    struct expression_value *items = NULL;
    size_t room = 0;
    *count = 0;
    if (take(r, closing)) return status_ok();
    do {
        struct expression_value item = { 0 };
        TRY(read_expression(&item, r));
        if (*count == LIST_MAX) return fault(r, "the list is too long");
        if (r->live) {
            if (*count == room) {
                size_t grown = room ? 2 * room : 4;
                struct expression_value *more =
                    arena_allocate_array(r->scope->arena, grown, sizeof *more);
                if (!more) return status_no_memory(grown * sizeof *more);
                if (room) memcpy(more, items, room * sizeof *more);
                items = more;
                room = grown;
            }
            items[*count] = item;
        }
        ++*count;
    } while (take(r, ","));
    if (!take(r, closing)) return fault(r, "a comma or the end of the list is expected");
    *out = items;
    return status_ok();
}

static struct status call_function(struct expression_value *out, struct reader *r, const char *name)
{
    const struct expression_function *function = expression_function_find(name);
    struct expression_value *arguments = NULL;
    size_t count;
    if (!function) return fault(r, "no such function");
    TRY(read_items(&arguments, &count, r, ")"));
    if (count < function->least || count > function->most)
        return fault(r, "wrong number of arguments for the function");
    if (!r->live) return status_ok();
    struct status st = function->call(out, r->scope->arena, arguments, count);
    if (st.code == STATUS_BAD_INPUT)
        return status_error(st.code, "column %d: %s: %s", (int)(r->at - r->text) + 1, name,
                            st.text);
    return st;
}

static struct status read_name(struct expression_value *out, struct reader *r)
{
    static const struct {
        const char *name;
        struct expression_value value;
    } constants[] = {
        { "None", { .kind = EXPRESSION_NONE } },
        { "True", { .kind = EXPRESSION_BOOL, .boolean = true } },
        { "False", { .kind = EXPRESSION_BOOL, .boolean = false } },
        { "inf", { .kind = EXPRESSION_FLOAT, .real = INFINITY } },
        { "nan", { .kind = EXPRESSION_FLOAT, .real = NAN } },
    };
    char name[NAME_MAX_BYTES];
    size_t length = 0;
    const char *start = r->at;
    while (is_name(*r->at)) {
        if (length == sizeof name - 1) return fault(r, "the name is too long");
        name[length++] = *r->at++;
    }
    name[length] = '\0';
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (strcmp(name, constants[i].name)) continue;
        *out = constants[i].value;
        return status_ok();
    }
    if (take(r, "(")) return call_function(out, r, name);
    if (!r->live || r->scope->find(out, r->scope->context, name)) return status_ok();
    return status_error(STATUS_BAD_INPUT, "column %d: there is no \"%s\" here",
                        (int)(start - r->text) + 1, name);
}

static struct status read_atom(struct expression_value *out, struct reader *r)
{
    skip_space(r);
    char c = *r->at;
    if ((c >= '0' && c <= '9') || (c == '.' && r->at[1] >= '0' && r->at[1] <= '9'))
        return read_number(out, r);
    if (c == '\'') return read_string(out, r);
    if (take(r, "(")) {
        TRY(read_expression(out, r));
        return take(r, ")") ? status_ok() : fault(r, "\")\" is expected");
    }
    if (take(r, "[")) {
        out->list.items = NULL;
        TRY(read_items(&out->list.items, &out->list.count, r, "]"));
        out->kind = EXPRESSION_LIST;
        return status_ok();
    }
    if (is_name(c)) return read_name(out, r);
    return fault(r, *r->at ? "a value is expected" : "the expression ends too early");
}

/* A bound of a slice: NONE when it is left out; counted from the end when negative. */
static size_t slice_bound(const struct expression_value *bound, size_t count, size_t otherwise)
{
    if (bound->kind == EXPRESSION_NONE) return otherwise;
    int64_t i = as_integer(bound), n = (int64_t)count;
    if (i < 0) i += n;
    return i < 0 ? 0 : i > n ? count : (size_t)i;
}

static struct status apply_index(struct expression_value *value, const struct reader *r,
                                 const struct expression_value *first,
                                 const struct expression_value *last, bool is_slice)
{
    if (!r->live) return status_ok();
    if (value->kind != EXPRESSION_LIST) return fault(r, "only lists can be indexed");
    if ((first->kind != EXPRESSION_INT && !(is_slice && first->kind == EXPRESSION_NONE)) ||
        (last->kind != EXPRESSION_INT && last->kind != EXPRESSION_NONE))
        return fault(r, "an index is an integer");
    size_t count = value->list.count;
    if (is_slice) {
        size_t from = slice_bound(first, count, 0), to = slice_bound(last, count, count);
        value->list.count = from < to ? to - from : 0;
        if (value->list.count)
            value->list.items += from; /* an empty list has no items to point to */
        return status_ok();
    }
    int64_t i = first->integer < 0 ? first->integer + (int64_t)count : first->integer;
    if (i < 0 || i >= (int64_t)count) return fault(r, "the index is outside the list");
    *value = value->list.items[i];
    return status_ok();
}

static struct status read_postfix(struct expression_value *out, struct reader *r)
{
    TRY(read_atom(out, r));
    while (take(r, "[")) {
        struct expression_value first = { 0 }, last = { 0 };
        bool is_slice = take(r, ":");
        if (!is_slice) {
            TRY(read_expression(&first, r));
            is_slice = take(r, ":");
        }
        if (is_slice && !take(r, "]")) {
            TRY(read_expression(&last, r));
            if (!take(r, "]")) return fault(r, "\"]\" is expected");
        } else if (!is_slice && !take(r, "]")) {
            return fault(r, "\"]\" is expected");
        }
        TRY(apply_index(out, r, &first, &last, is_slice));
    }
    return status_ok();
}

static struct status read_unary(struct expression_value *out, struct reader *r)
{
    static const struct expression_value zero = { .kind = EXPRESSION_INT };
    if (!take(r, "-")) return read_postfix(out, r);
    struct expression_value value = { 0 };
    if (++r->depth > DEPTH_MAX) return fault(r, "nested too deeply");
    TRY(read_unary(&value, r));
    r->depth--;
    if (r->live && value.kind == EXPRESSION_FLOAT) {
        value.real = -value.real; /* 0 - 0.0 would lose the sign */
        *out = value;
        return status_ok();
    }
    return operate(out, r, '-', &zero, &value);
}

static struct status read_product(struct expression_value *out, struct reader *r)
{
    TRY(read_unary(out, r));
    for (;;) {
        struct expression_value right = { 0 };
        char operation = take(r, "//")  ? 'f'
                         : take(r, "*") ? '*'
                         : take(r, "/") ? '/'
                         : take(r, "%") ? '%'
                                        : 0;
        if (!operation) return status_ok();
        TRY(read_unary(&right, r));
        TRY(operate(out, r, operation, out, &right));
    }
}

static struct status read_sum(struct expression_value *out, struct reader *r)
{
    TRY(read_product(out, r));
    for (;;) {
        struct expression_value right = { 0 };
        char operation = take(r, "+") ? '+' : take(r, "-") ? '-' : 0;
        if (!operation) return status_ok();
        TRY(read_product(&right, r));
        TRY(operate(out, r, operation, out, &right));
    }
}

static bool take_comparison(enum comparison *how, struct reader *r)
{
    static const struct {
        const char *token;
        enum comparison how;
        /* clang-format off */
    } table[] = {
        { "==", EQUAL },         { "!=", UNEQUAL }, { "<=", LESS_EQUAL },
        { ">=", GREATER_EQUAL }, { "<", LESS },     { ">", GREATER },
        { "in", IN },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!take(r, table[i].token)) continue;
        *how = table[i].how;
        return true;
    }
    const char *start = r->at;
    *how = NOT_IN;
    if (take(r, "not") && take(r, "in")) return true;
    r->at = start;
    return false;
}

/* a < b <= c means a < b and b <= c, as in Python. */
static struct status read_comparison(struct expression_value *out, struct reader *r)
{
    struct expression_value left, right = { 0 }, one = { 0 };
    enum comparison how;
    TRY(read_sum(out, r));
    left = *out;
    for (bool first = true; take_comparison(&how, r); first = false) {
        TRY(read_sum(&right, r));
        TRY(compare(&one, r, how, &left, &right));
        if (r->live) *out = from_bool(one.boolean && (first || truth(out)));
        left = right;
    }
    return status_ok();
}

static struct status read_not(struct expression_value *out, struct reader *r)
{
    if (!take(r, "not")) return read_comparison(out, r);
    if (++r->depth > DEPTH_MAX) return fault(r, "nested too deeply");
    TRY(read_not(out, r));
    r->depth--;
    if (r->live) *out = from_bool(!truth(out));
    return status_ok();
}

/* The right side is read but not evaluated once the left one has decided. */
static struct status read_logic(struct expression_value *out, struct reader *r, bool is_and)
{
    TRY(is_and ? read_not(out, r) : read_logic(out, r, true));
    while (take(r, is_and ? "and" : "or")) {
        struct expression_value right = { 0 };
        bool was_live = r->live;
        r->live = was_live && truth(out) == is_and;
        TRY(is_and ? read_not(&right, r) : read_logic(&right, r, true));
        if (r->live) *out = right;
        r->live = was_live;
    }
    return status_ok();
}

/* `a if c else b`: the condition comes after what it decides about, so the first branch is
 * read twice: once to find the condition, once more when it is taken. */
static struct status read_expression(struct expression_value *out, struct reader *r)
{
    if (++r->depth > DEPTH_MAX) return fault(r, "nested too deeply");
    const char *start = r->at;
    bool was_live = r->live;
    struct expression_value condition = { 0 };

    r->live = false;
    TRY(read_logic(out, r, false));
    bool conditional = take(r, "if");
    r->live = was_live;
    if (!conditional) {
        if (was_live) {
            r->at = start;
            TRY(read_logic(out, r, false));
        }
        r->depth--;
        return status_ok();
    }
    TRY(read_logic(&condition, r, false));
    if (!take(r, "else")) return fault(r, "\"else\" is expected");
    if (was_live && truth(&condition)) {
        const char *otherwise = r->at;
        r->at = start;
        TRY(read_logic(out, r, false));
        r->at = otherwise;
        r->live = false;
        TRY(read_expression(&condition, r));
        r->live = was_live;
    } else {
        TRY(read_expression(out, r));
    }
    r->depth--;
    return status_ok();
}

static struct status read_whole(struct expression_value *out, struct reader *r)
{
    *out = (struct expression_value){ 0 };
    TRY(read_expression(out, r));
    skip_space(r);
    return *r->at ? fault(r, "an operator or the end is expected") : status_ok();
}

struct status expression_evaluate(struct expression_value *out,
                                  const struct expression_scope *scope, const char *text)
{
    struct reader reader = { .text = text, .at = text, .scope = scope, .live = true };
    return read_whole(out, &reader);
}

struct status expression_check(const char *text)
{
    struct reader reader = { .text = text, .at = text };
    struct expression_value unused;
    return read_whole(&unused, &reader);
}

/* --- results of one kind ---------------------------------------------------------------------- */

struct status expression_as_bool(bool *out, const struct expression_scope *scope, const char *text)
{
    struct expression_value value;
    TRY(expression_evaluate(&value, scope, text));
    *out = truth(&value);
    return status_ok();
}

struct status expression_as_int(int64_t *out, const struct expression_scope *scope,
                                const char *text)
{
    struct expression_value value;
    TRY(expression_evaluate(&value, scope, text));
    if (value.kind != EXPRESSION_INT && value.kind != EXPRESSION_BOOL)
        return status_error(STATUS_BAD_INPUT, "\"%s\" is not an integer", text);
    *out = as_integer(&value);
    return status_ok();
}

struct status expression_as_shape(int64_t *shape, int *rank, const struct expression_scope *scope,
                                  const char *text)
{
    struct expression_value value;
    size_t elements;
    TRY(expression_evaluate(&value, scope, text));
    if (value.kind != EXPRESSION_LIST || value.list.count > TENSOR_MAX_RANK)
        return status_error(STATUS_BAD_INPUT, "\"%s\" is not a list of at most %d integers", text,
                            TENSOR_MAX_RANK);
    for (size_t i = 0; i < value.list.count; i++) {
        if (value.list.items[i].kind != EXPRESSION_INT)
            return status_error(STATUS_BAD_INPUT, "\"%s\" is not a list of integers", text);
        shape[i] = value.list.items[i].integer;
    }
    *rank = (int)value.list.count;
    if (!shape_elements(&elements, *rank, shape))
        return status_error(STATUS_BAD_INPUT, "\"%s\" is not a shape", text);
    return status_ok();
}

struct status expression_as_string(const char **out, const struct expression_scope *scope,
                                   const char *text)
{
    struct expression_value value;
    TRY(expression_evaluate(&value, scope, text));
    if (value.kind != EXPRESSION_STRING)
        return status_error(STATUS_BAD_INPUT, "\"%s\" is not a string", text);
    *out = value.string;
    return status_ok();
}

struct status expression_as_tensor(const struct tensor **out, const struct expression_scope *scope,
                                   const char *text)
{
    struct expression_value value;
    TRY(expression_evaluate(&value, scope, text));
    if (value.kind != EXPRESSION_TENSOR && value.kind != EXPRESSION_NONE)
        return status_error(STATUS_BAD_INPUT, "\"%s\" is not a tensor", text);
    *out = value.kind == EXPRESSION_TENSOR ? value.tensor : NULL;
    return status_ok();
}

/* --- values of a call -------------------------------------------------------------------------- */

const char *dtype_short_name(enum dtype dtype)
{
    const char *name = dtype_info(dtype)->name;
    return strncmp(name, "torch.", 6) ? name : name + 6;
}

struct status expression_from_value(struct expression_value *out, struct arena *arena,
                                    const struct value *value)
{
    *out = (struct expression_value){ 0 };
    switch (value->kind) {
    case VALUE_NONE: return status_ok();
    case VALUE_BOOL: *out = from_bool(value->boolean); return status_ok();
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
