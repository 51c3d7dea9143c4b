/* A manifest's kernel bound to a call: the usual manifest, of which a test replaces some lines, and
 * the program that a kernel process would carry out. Nothing is loaded or called. */
#ifndef PROBE_TESTS_RUNNER_BOUND_CALLS_H
#define PROBE_TESTS_RUNNER_BOUND_CALLS_H

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/devices/plugin/plugin_bind.h"
#include "support/cases.h"
#include "support/suite.h"

static struct arena arena;
static struct space space;
static struct manifest manifest;
static struct binding *binding;

/* The pieces of the manifest, a line each; a test replaces some of them. ARGUMENTS stand inside
 * STEPS, so they share its line. */
enum piece {
    WRAPPERS,
    SESSION,
    PARAMETERS,
    WHEN,
    LET,
    OUTPUTS,
    STEPS,
    ARGUMENTS,
    BACKWARD,
    PIECES
};

static const char *const usual[PIECES] = {
    [WRAPPERS] = "\"w\": { \"value\": \"s\", \"before\": [ { \"call\": \"g\", "
                 "\"arguments\": [ { \"data\": \"tensor\" }, { \"i32\": \"is_output\" }, "
                 "{ \"i64\": \"numel(x)\" } ], "
                 "\"returns\": { \"type\": \"pointer\", \"into\": \"s\" } } ] }, "
                 "\"empty\": { \"value\": \"s\", \"before\": [] }",
    [SESSION] = "\"open\": [ { \"call\": \"h\", \"arguments\": [ { \"out\": \"handle\" } ] } ]",
    [PARAMETERS] = "\"x\", \"z\", \"i\", \"n = None\", \"l = []\"",
    [WHEN] = "True",
    [LET] = "\"two\": 2",
    [OUTPUTS] = "{ \"name\": \"y\", \"shape\": \"shape(x)\", \"dtype\": \"'float32'\" }",
    [BACKWARD] = "\"gradients\": [ { \"name\": \"dx\", \"of\": \"x\" } ], "
                 "\"steps\": [ { \"call\": \"f\" } ]",
};

__attribute__((unused)) static struct status parse(const char *const *pieces)
{
    const char *p[PIECES];
    char *text;
    size_t bytes;
    for (int i = 0; i < PIECES; i++) p[i] = pieces[i] ? pieces[i] : usual[i];
    FILE *out = open_memstream(&text, &bytes);
    fprintf(out,
            "{ \"plugin\": 1, \"name\": \"lib\", \"libraries\": { \"k\": \"./k.so\" },\n"
            "  \"enums\": { \"mode\": { \"sum\": 1, \"7\": 70, \"True\": 71, \"None\": 72, "
            "\"large\": 300 } },\n"
            "  \"wrappers\": { %s },\n"
            "  \"session\": { %s },\n"
            "  \"kernels\": [ { \"apis\": [\"Torch.f\"], \"parameters\": [ %s ],\n"
            "    \"when\": \"%s\",\n"
            "    \"let\": { %s },\n"
            "    \"outputs\": [ %s ],\n",
            p[WRAPPERS], p[SESSION], p[PARAMETERS], p[WHEN], p[LET], p[OUTPUTS]);
    if (p[STEPS]) fprintf(out, "    \"steps\": [ %s ],\n", p[STEPS]);
    else
        fprintf(out, "    \"steps\": [ { \"call\": \"f\", \"arguments\": [ %s ] } ],\n",
                p[ARGUMENTS] ? p[ARGUMENTS] : "");
    fprintf(out, "    \"backward\": { %s } } ] }\n", p[BACKWARD]);
    fclose(out);
    struct program_writer start;
    struct status st = manifest_parse(&manifest, "a.json", text, bytes);
    free(text);
    ck_assert_msg(!st.code, "%s", st.text);
    st = binding_build_start(&start, &manifest);
    if (!st.code) program_writer_release(&start);
    return st;
}

#define SHAPE(...) \
    (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

/* f(x float32 [[1, 2, 3], [4, 5, 6]], z complex64 [2, 3], i int64 [3], l=[x's twin, None]). */
__attribute__((unused)) static struct api_case usual_case(void)
{
    static const double counting[] = { 1, 2, 3, 4, 5, 6 };
    struct value x = tensor_value(&arena, DT_F32, true, SHAPE(2, 3), counting, 6);
    struct value twin = tensor_value(&arena, DT_F32, true, SHAPE(2, 3), counting, 6);
    struct value i = tensor_value(&arena, DT_I64, false, SHAPE(3), counting, 3);
    struct value z = { .kind = VALUE_TENSOR };
    struct tensor *complex = arena_allocate(&arena, sizeof *complex);
    struct tensor_record *record = arena_allocate_zeroed(&arena, 1, sizeof *record);
    ck_assert(!tensor_create(complex, &arena, DT_C64, SHAPE(2, 3)).code);
    for (int k = 0; k < 12; k++) ((float *)complex->data)[k] = (float)k;
    *record = (struct tensor_record){ .dtype = DT_C64, .rank = 2, .shape = { 2, 3 } };
    z.tensor.tensor = complex, z.tensor.record = record;
    struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 3, x, z, i));
    c.kwargs = dict_value(&arena, 1, "l", list_value(&arena, 2, twin, none_value()));
    return c;
}

__attribute__((unused)) static void set_up(void)
{
    binding = calloc(1, sizeof *binding);
    ck_assert(!space_open(&space).code);
}

__attribute__((unused)) static void tear_down(void)
{
    binding_close(binding);
    free(binding);
    space_close(&space);
    manifest_close(&manifest);
    arena_release(&arena);
}

__attribute__((unused)) static struct status build_forward(const struct api_case *c,
                                                           const struct program **out)
{
    uint64_t offset, bytes;
    space_begin(&space, 0);
    TRY(binding_open(binding, &arena, &manifest, c));
    TRY(binding_build_forward(binding, &space, &offset, &bytes));
    *out = space_at(&space, offset);
    ck_assert_uint_eq((*out)->bytes, bytes);
    return status_ok();
}

__attribute__((unused)) static struct status build_backward(const struct api_case *c,
                                                            const struct program **out)
{
    const struct program *forward;
    struct value outputs;
    uint64_t offset, bytes;
    TRY(build_forward(c, &forward));
    TRY(binding_collect_outputs(&outputs, binding));
    space_begin(&space, 0);
    TRY(binding_build_backward(binding, &space, &outputs, &offset, &bytes));
    *out = space_at(&space, offset);
    return status_ok();
}

__attribute__((unused)) static const struct program_step *step_of(const struct program *p, size_t i)
{
    ck_assert_uint_lt(i, p->step_count);
    return (const struct program_step *)(const void *)((const char *)p + p->steps) + i;
}

__attribute__((unused)) static const struct program_argument *argument_of(const struct program *p,
                                                                          size_t step, size_t i)
{
    const struct program_step *s = step_of(p, step);
    ck_assert_uint_lt(i, s->count);
    return (const struct program_argument *)(const void *)((const char *)p + s->arguments) + i;
}

#define AT_ARGUMENT     "a.json:9: kernels[0].steps[0].arguments[0]: "
#define AT_STEP         "a.json:9: kernels[0].steps[0]: "
#define AT_OUTPUT       "a.json:8: kernels[0].outputs[0]: "
#define AT_GRADIENT     "a.json:10: kernels[0].backward.gradients[0]: "
#define LOOP(arguments) "{ \"call\": \"f\", \"loop\": \"y\", \"arguments\": [ " arguments " ] }"
#define ELEMENT_OF(name, type)                                             \
    "{ \"call\": \"f\", \"loop\": \"y\", \"returns\": { \"type\": \"" type \
    "\", \"element\": \"" name "\" } }"
#define Y          "{ \"name\": \"y\", \"shape\": \"shape(x)\", \"dtype\": \"'float32'\""
#define Y_OF(more) "{ \"name\": \"y\", " more " }"
#define GRADIENT(more)                                   \
    "\"gradients\": [ { \"name\": \"d\", " more " } ], " \
    "\"steps\": [ { \"call\": \"f\" } ]"
#define NOT_THESE "lib has no kernel for these arguments of Torch.f: "

#endif
