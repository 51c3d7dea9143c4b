/* Samples: a parser of written calls, and walks over them and the goldens. */
#include "bench/samples.h"

#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/golden.h"

uint64_t numbers_next(struct numbers *numbers)
{
    uint64_t z = numbers->state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

double numbers_uniform(struct numbers *numbers)
{
    return (double)(numbers_next(numbers) >> 11) * 0x1p-53;
}

double numbers_normal(struct numbers *numbers)
{
    double u = numbers_uniform(numbers), v = numbers_uniform(numbers);
    return sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
}

/* ---- parsing --------------------------------------------------------------------------------- */

struct reader {
    const char *at;
    const char *problem;
    struct arena *arena;
    struct numbers numbers;
};

static void fail(struct reader *r, const char *problem)
{
    if (!r->problem) r->problem = problem;
}

static bool take(struct reader *r, const char *token)
{
    while (*r->at == ' ') r->at++;
    size_t length = strlen(token);
    if (strncmp(r->at, token, length) != 0) return false;
    r->at += length;
    return true;
}

static void expect(struct reader *r, const char *token)
{
    if (!take(r, token)) fail(r, token);
}

static char *word(struct reader *r)
{
    while (*r->at == ' ') r->at++;
    const char *start = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_' || *r->at == '.') r->at++;
    return arena_copy_bytes(r->arena, start, (size_t)(r->at - start));
}

static const struct {
    const char *name;
    enum dtype dtype;
    /* clang-format off */
} short_names[] = {
    { "f64", DT_F64 }, { "f32", DT_F32 }, { "f16", DT_F16 }, { "bf16", DT_BF16 },
    { "i64", DT_I64 }, { "i32", DT_I32 }, { "i16", DT_I16 }, { "i8", DT_I8 },
    { "u8", DT_U8 },   { "bool", DT_BOOL }, { "c64", DT_C64 }, { "c128", DT_C128 },
    { "f8e4m3", DT_F8E4M3 }, { "f8e5m2", DT_F8E5M2 },
};
/* clang-format on */

/* The integer that stands at `at`; `number` is what strtod reads there, up to `end`. */
static int64_t written_integer(const char *at, const char *end, double number)
{
    char *last;
    long long integer = strtoll(at, &last, 10);
    return last == end ? integer : (int64_t)number; /* 1e5, say */
}

/* Elements as written, within the written range, or by default; `integers` too, unless NULL. */
static void fill(struct reader *r, double *x, int64_t *integers, size_t count, enum dtype dtype)
{
    bool integral = dtype_is_integral(dtype);
    double low = dtype == DT_BOOL || dtype == DT_U8 ? 0 : -5, high = dtype == DT_BOOL ? 1 : 5;
    bool normal = !integral;

    if (take(r, "[")) {
        char *end;
        double first = strtod(r->at, &end);
        const char *dots = strstr(r->at, ".."), *close = strchr(r->at, ']');
        if (dots && close && dots < close) {
            char text[64];
            snprintf(text, sizeof text, "%.*s", (int)(dots - r->at), r->at);
            low = strtod(text, NULL);
            high = strtod(dots + 2, NULL);
            normal = false;
            r->at = close;
        } else {
            for (size_t i = 0; i < count; i++, first = strtod(r->at, &end)) {
                if (end == r->at) return fail(r, "too few elements");
                x[i] = first;
                if (integers) integers[i] = written_integer(r->at, end, first);
                r->at = end;
                while (*r->at == ' ') r->at++;
            }
            return expect(r, "]");
        }
        expect(r, "]");
    }
    for (size_t i = 0; i < count; i++) {
        double u = numbers_uniform(&r->numbers);
        x[i] = normal     ? numbers_normal(&r->numbers)
               : integral ? low + floor(u * (high - low + 1))
                          : low + u * (high - low);
        if (integers) integers[i] = (int64_t)x[i];
    }
}

static struct value tensor(struct reader *r, enum dtype dtype)
{
    struct tensor_record *record = arena_allocate_zeroed(r->arena, 1, sizeof *record);
    struct value v = { .kind = VALUE_TENSOR };
    expect(r, "(");
    while (!take(r, ")") && !r->problem) {
        char *end;
        if (record->rank == TENSOR_MAX_RANK) {
            fail(r, "fewer dimensions");
            break;
        }
        record->shape[record->rank++] = strtol(r->at, &end, 10);
        if (end == r->at) fail(r, "a shape");
        r->at = end;
        (void)take(r, ",");
    }
    record->dtype = dtype;
    record->dtype_name = dtype_info(dtype)->name;
    v.tensor.record = record;
    v.tensor.tensor = arena_allocate_zeroed(r->arena, 1, sizeof *v.tensor.tensor);
    if (tensor_create(v.tensor.tensor, r->arena, dtype, record->rank, record->shape).code)
        fail(r, "a shape that fits");
    if (r->problem) return v;
    size_t n = tensor_elements(v.tensor.tensor) * (dtype_is_complex(dtype) ? 2 : 1);
    double *x = arena_allocate_array(r->arena, n, sizeof *x);
    int64_t *integers =
        dtype_is_integral(dtype) ? arena_allocate_array(r->arena, n, sizeof *integers) : NULL;
    fill(r, x, integers, n, dtype);
    if (integers) dtype_from_int64(v.tensor.tensor->data, dtype, integers, n);
    else dtype_from_double(v.tensor.tensor->data, dtype, x, tensor_elements(v.tensor.tensor));
    record->requires_grad = !dtype_is_integral(dtype) && !take(r, "'");
    return v;
}

static struct value parse(struct reader *r);

/* Items up to `end`, keywords where `keys`. */
static struct value items(struct reader *r, enum value_kind kind, const char *end,
                          struct value *kwargs)
{
    struct value v = { .kind = kind }, none = { .kind = VALUE_DICT };
    v.list.items = arena_allocate_zeroed(r->arena, 64, sizeof *v.list.items);
    if (!kwargs) kwargs = &none;
    kwargs->kind = VALUE_DICT;
    kwargs->list.count = 0;
    kwargs->list.items = arena_allocate_zeroed(r->arena, 64, sizeof *v.list.items);
    kwargs->list.keys = arena_allocate_zeroed(r->arena, 64, sizeof *v.list.keys);
    while (!take(r, end) && !r->problem) {
        const char *start = r->at;
        char *name = word(r);
        if (*name && take(r, "=")) {
            kwargs->list.keys[kwargs->list.count] = name;
            kwargs->list.items[kwargs->list.count++] = parse(r);
        } else {
            r->at = start;
            v.list.items[v.list.count++] = parse(r);
        }
        if (v.list.count == 64 || kwargs->list.count == 64) fail(r, "fewer items");
        if (!take(r, ",")) {
            expect(r, end);
            break;
        }
    }
    return v;
}

static struct value number(struct reader *r)
{
    struct value v = { .kind = VALUE_INT };
    char *end;
    v.integer = strtoll(r->at, &end, 10);
    if (end == r->at || *end == '.' || *end == 'e') {
        v.kind = VALUE_FLOAT;
        v.real = strtod(r->at, &end);
    }
    if (end == r->at) fail(r, "a value");
    r->at = end;
    return v;
}

static struct value parse(struct reader *r)
{
    struct value v = { .kind = VALUE_NONE };
    while (*r->at == ' ') r->at++;
    if (take(r, "...")) {
        v.kind = VALUE_ELLIPSIS;
        return v;
    }
    if (take(r, "[")) return items(r, VALUE_LIST, "]", NULL);
    if (take(r, "(")) return items(r, VALUE_LIST, ")", NULL);
    if (take(r, "slice(")) return items(r, VALUE_SLICE, ")", NULL);
    if (take(r, "\"")) {
        const char *end = strchr(r->at, '"');
        v.kind = VALUE_STRING;
        v.string = arena_copy_bytes(r->arena, r->at, end ? (size_t)(end - r->at) : 0);
        if (end) r->at = end + 1;
        else fail(r, "a closing quote");
        return v;
    }
    if (!isalpha((unsigned char)*r->at)) return number(r);
    const char *start = r->at;
    char *name = word(r);
    for (size_t i = 0; i < sizeof short_names / sizeof *short_names; i++)
        if (!strcmp(name, short_names[i].name) && *r->at == '(')
            return tensor(r, short_names[i].dtype);
    if (!strcmp(name, "True") || !strcmp(name, "False")) {
        v.kind = VALUE_BOOL;
        v.boolean = *name == 'T';
    } else if (!strncmp(name, "torch.", 6)) {
        v.kind = VALUE_DTYPE;
        v.dtype = dtype_from_name(name);
        if (v.dtype == DT_NONE) fail(r, "a dtype");
    } else if (strcmp(name, "None") != 0) {
        r->at = start;
        return number(r); /* inf, nan */
    }
    return v;
}

static uint64_t text_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *text && *text != '#'; text++)
        if (*text != ' ') hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

const char *sample_parse(struct sample *sample, const char *line, struct arena *arena)
{
    struct reader r = { line, NULL, arena, { text_hash(line) } };
    memset(sample, 0, sizeof *sample);
    char *type = word(&r), *api = strchr(type, '.');
    if (!api) return "no type and API before the parenthesis";
    sample->c.full_name = arena_format(arena, "%s.0", type);
    *api++ = '\0';
    sample->c.type = type;
    sample->c.api = api;
    expect(&r, "(");
    if (!r.problem) sample->c.args = items(&r, VALUE_LIST, ")", &sample->c.kwargs);
    sample->c.outputs.kind = sample->c.cotangents.kind = sample->c.gradients.kind = VALUE_LIST;
    sample->remark = "";
    if (take(&r, "#")) {
        while (*r.at == ' ') r.at++;
        sample->remark = arena_copy_bytes(arena, r.at, strcspn(r.at, "\n"));
    } else if (*r.at && *r.at != '\n') {
        fail(&r, "the end of the line");
    }
    return r.problem ? arena_format(arena, "expected %s before '%.20s'", r.problem, r.at) : NULL;
}

/* ---- walks ------------------------------------------------------------------------------------ */

static bool wanted(const char *filter, const struct api_case *c)
{
    char name[256];
    snprintf(name, sizeof name, "%s.%s", c->type, c->api);
    return !filter || strstr(name, filter);
}

static size_t each_of_folder(const char *folder, const char *filter, sample_visitor *visit,
                             void *context)
{
    struct golden_file *file = golden_open(folder);
    struct arena arena = { 0 };
    static struct golden golden;
    size_t visited = 0;

    if (!file) {
        fprintf(stderr, "%s cannot be read\n", folder);
        exit(1);
    }
    while (golden_next(file, &golden, &arena)) {
        struct sample sample = { .c = golden.c, .remark = "", .golden = true };
        snprintf(sample.place, sizeof sample.place, "%s: %.100s", strrchr(folder, '/') + 1,
                 golden.api);
        if (wanted(filter, &sample.c)) {
            visit(context, &sample, &arena);
            visited++;
        }
        arena_reset(&arena);
    }
    golden_close(file);
    arena_release(&arena);
    return visited;
}

static size_t each_of_file(const char *path, const char *filter, sample_visitor *visit,
                           void *context)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    struct arena arena = { 0 };
    size_t visited = 0;

    for (int number_of_line = 1; file && fgets(line, sizeof line, file); number_of_line++) {
        struct sample sample;
        if (*line == '#' || *line == '\n') continue;
        const char *problem = sample_parse(&sample, line, &arena);
        snprintf(sample.place, sizeof sample.place, "calls/%s:%d", strrchr(path, '/') + 1,
                 number_of_line);
        if (problem) {
            fprintf(stderr, "%s: %s\n", sample.place, problem);
            exit(1);
        }
        if (wanted(filter, &sample.c)) {
            visit(context, &sample, &arena);
            visited++;
        }
        arena_reset(&arena);
    }
    if (file) fclose(file);
    arena_release(&arena);
    return visited;
}

static size_t each_match(const char *pattern, bool cut, const char *filter, sample_visitor *visit,
                         void *context,
                         size_t (*each)(const char *, const char *, sample_visitor *, void *))
{
    glob_t found;
    size_t visited = 0;
    if (glob(pattern, 0, NULL, &found)) return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (cut) *strrchr(found.gl_pathv[i], '/') = '\0';
        visited += each(found.gl_pathv[i], filter, visit, context);
    }
    globfree(&found);
    return visited;
}

size_t samples_each_golden(const char *filter, sample_visitor *visit, void *context)
{
    return each_match(PROBE_TEST_DATA "/goldens*/index.jsonl", true, filter, visit, context,
                      each_of_folder);
}

size_t samples_each_call(const char *filter, sample_visitor *visit, void *context)
{
    return each_match(PROBE_TEST_DATA "/calls/*.txt", false, filter, visit, context, each_of_file);
}

size_t samples_each(const char *filter, sample_visitor *visit, void *context)
{
    size_t goldens = samples_each_golden(filter, visit, context);
    return goldens + samples_each_call(filter, visit, context);
}

/* ---- cotangents ------------------------------------------------------------------------------- */

void sample_cotangents(struct value *cotangents, struct bench *bench, struct arena *arena,
                       struct numbers *numbers)
{
    size_t count = bench_output_count(bench);
    *cotangents = (struct value){ .kind = VALUE_LIST };
    cotangents->list.count = count;
    cotangents->list.items = arena_allocate_zeroed(arena, count, sizeof *cotangents->list.items);
    for (size_t k = 0; k < count; k++) {
        const struct bench_output *output = bench_output(bench, k);
        const struct reference *r = &output->reference;
        struct value *v = &cotangents->list.items[k];
        if (output->kind != BENCH_OUTPUT_TENSOR && output->kind != BENCH_OUTPUT_RANDOM) continue;
        if (dtype_is_integral(r->dtype)) continue;
        v->kind = VALUE_TENSOR;
        v->tensor.record = NULL;
        v->tensor.tensor = arena_allocate_zeroed(arena, 1, sizeof *v->tensor.tensor);
        if (tensor_create(v->tensor.tensor, arena, r->dtype, r->rank, r->shape).code) exit(1);
        size_t n = tensor_elements(v->tensor.tensor);
        double *x = arena_allocate_array(arena, 2 * n, sizeof *x);
        for (size_t i = 0; i < 2 * n; i++) x[i] = floor(numbers_normal(numbers) * 64) / 64;
        dtype_from_double(v->tensor.tensor->data, r->dtype, x, n);
    }
}
