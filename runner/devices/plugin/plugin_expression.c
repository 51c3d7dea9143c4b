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
#include "core/growing.h"
#include "runner/devices/plugin/plugin_functions.h"

enum { DEPTH_MAX = 60, NAME_MAX_BYTES = 64 };

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

/* The fault of an operation, with its place. */
static struct status located(const struct reader *r, struct status st)
{
    return st.code == STATUS_BAD_INPUT ? fault(r, st.text) : st;
}

static struct status operate(struct expression_value *out, const struct reader *r, char operation,
                             const struct expression_value *a, const struct expression_value *b)
{
    if (!r->live) return status_ok();
    return located(r, expression_operate(out, r->scope->arena, operation, a, b));
}

static struct status compare(struct expression_value *out, const struct reader *r,
                             enum expression_relation how, const struct expression_value *a,
                             const struct expression_value *b)
{
    return r->live ? located(r, expression_compare(out, how, a, b)) : status_ok();
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
        if (*count == EXPRESSION_LIST_MAX) return fault(r, "the list is too long");
        if (r->live) {
            TRY(array_make_room_in(r->scope->arena, &items, &room, *count, sizeof *items));
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
    if (!function)
        return status_error(
            STATUS_BAD_INPUT, "column %d: there is no function \"%s\"; the nearest is \"%s\"",
            (int)(r->at - r->text) - (int)strlen(name), name, expression_function_nearest(name));
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
    int64_t i = expression_integer(bound), n = (int64_t)count;
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

static bool take_comparison(enum expression_relation *how, struct reader *r)
{
    static const struct {
        const char *token;
        enum expression_relation how;
        /* clang-format off */
    } table[] = {
        { "==", RELATION_EQUAL },         { "!=", RELATION_UNEQUAL }, { "<=", RELATION_LESS_EQUAL },
        { ">=", RELATION_GREATER_EQUAL }, { "<", RELATION_LESS },     { ">", RELATION_GREATER },
        { "in", RELATION_IN },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!take(r, table[i].token)) continue;
        *how = table[i].how;
        return true;
    }
    const char *start = r->at;
    *how = RELATION_NOT_IN;
    if (take(r, "not") && take(r, "in")) return true;
    r->at = start;
    return false;
}

/* a < b <= c means a < b and b <= c, as in Python. */
static struct status read_comparison(struct expression_value *out, struct reader *r)
{
    struct expression_value left, right = { 0 }, one = { 0 };
    enum expression_relation how;
    TRY(read_sum(out, r));
    left = *out;
    for (bool first = true; take_comparison(&how, r); first = false) {
        TRY(read_sum(&right, r));
        TRY(compare(&one, r, how, &left, &right));
        if (r->live) *out = expression_bool(one.boolean && (first || expression_truth(out)));
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
    if (r->live) *out = expression_bool(!expression_truth(out));
    return status_ok();
}

/* The right side is read but not evaluated once the left one has decided. */
static struct status read_logic(struct expression_value *out, struct reader *r, bool is_and)
{
    TRY(is_and ? read_not(out, r) : read_logic(out, r, true));
    while (take(r, is_and ? "and" : "or")) {
        struct expression_value right = { 0 };
        bool was_live = r->live;
        r->live = was_live && expression_truth(out) == is_and;
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
    if (was_live && expression_truth(&condition)) {
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
    *out = expression_truth(&value);
    return status_ok();
}

struct status expression_as_int(int64_t *out, const struct expression_scope *scope,
                                const char *text)
{
    struct expression_value value;
    TRY(expression_evaluate(&value, scope, text));
    if (value.kind != EXPRESSION_INT && value.kind != EXPRESSION_BOOL)
        return status_error(STATUS_BAD_INPUT, "\"%s\" is not an integer", text);
    *out = expression_integer(&value);
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
