/* Calls are described as those of `try`; without names a few that stand for their kind are taken. */
#include "cli/standards_command.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/try_call.h"
#include "cli/try_list.h"
#include "runner/sensitivity.h"

struct standards_options {
    bool sensitivity, markdown;
    struct operands apis, shapes, dtypes, arguments;
    int64_t seed;
};

/* A product, a normalization, sums, functions, basic arithmetic. */
static const struct example {
    const char *api, *shapes, *argument;
} examples[] = {
    { "Torch.matmul", "64x256,256x64", NULL },
    { "Functional.conv2d", "2x8x16x16,8x8x3x3", NULL },
    { "Functional.layer_norm", "64x256", "normalized_shape=[256]" },
    { "Functional.softmax", "64x256", "dim=-1" },
    { "Torch.sum", "64x256", "dim=-1" },
    { "Torch.exp", "64x256", NULL },
    { "Torch.mul", "64x256,64x256", NULL },
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

/* For APIs that are not among them: as many tensors as fit. */
static const char *const usual_shapes[] = { "64x256", "64x256,64x256", "64x256,64x256,64x256" };
enum { USUAL_SHAPES = sizeof usual_shapes / sizeof *usual_shapes };
static const char *const usual_dtypes[] = { "f32", "bf16" };

static const struct example *find_example(const char *api)
{
    for (size_t i = 0; i < EXAMPLES; i++) {
        const char *bare = strchr(examples[i].api, '.') + 1;
        if (!strcmp(api, examples[i].api) || !strcmp(api, bare)) return &examples[i];
    }
    return NULL;
}

/* The call that is measured: the user's shapes and arguments, else those of the example. */
static struct try_call describe(const struct standards_options *options, const char *api,
                                const char *dtype, const char *usual_shape)
{
    struct try_call call = TRY_CALL_DEFAULTS;
    const struct example *example = find_example(api);
    call.op = api;
    call.distribution = "normal";
    call.gradients = "off";
    call.shapes = options->shapes;
    call.arguments = options->arguments;
    if (!call.shapes.count)
        call.shapes = (struct operands){ { example ? example->shapes : usual_shape }, 1 };
    if (!call.arguments.count && example && example->argument)
        call.arguments = (struct operands){ { example->argument }, 1 };
    call.dtypes = (struct operands){ { dtype }, 1 };
    return call;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_header(bool markdown)
{
    if (!markdown) {
        printf("%-24s %-9s %-11s", "API", "dtype", "profile");
        for (int kind = 0; kind < INJECTIONS; kind++) printf(" %11s", injection_names[kind]);
        printf("\n");
        return;
    }
    printf("| API | dtype | profile |");
    for (int kind = 0; kind < INJECTIONS; kind++) printf(" %s |", injection_names[kind]);
    printf("\n|---|---|---|");
    for (int kind = 0; kind < INJECTIONS; kind++) printf("---|");
    printf("\n");
}

/* "2^-13"; "never" where an error as large as the value is not noticed; "-" where there is no such step. */
static const char *size_text(char out[16], int k)
{
    if (k == SENSITIVITY_NO_SUCH_STEP) return "-";
    if (k == SENSITIVITY_NEVER) return "never";
    (void)snprintf(out, 16, "2^-%d", k);
    return out;
}

static bool same_row(const struct sensitivity *found, int p, int q)
{
    for (int kind = 0; kind < INJECTIONS; kind++)
        if (found->noticed[kind][p] != found->noticed[kind][q]) return false;
    return true;
}

/* Profiles that notice the same have one row: "doc, v2, v3". */
static void print_rows(const char *api, const struct sensitivity *found, bool markdown)
{
    const char *dtype = dtype_info(found->dtype)->name + sizeof "torch." - 1;
    for (int p = 0, next; p < SENSITIVITY_PROFILES; p = next) {
        char names[64], text[16];
        (void)snprintf(names, sizeof names, "%s", profile_names()[p]);
        for (next = p + 1; next < SENSITIVITY_PROFILES && same_row(found, p, next); next++) {
            size_t used = strlen(names);
            (void)snprintf(names + used, sizeof names - used, ", %s", profile_names()[next]);
        }
        printf(markdown ? "| %s | %s | %s |" : "%-24s %-9s %-11s", p ? "" : api, p ? "" : dtype,
               names);
        for (int kind = 0; kind < INJECTIONS; kind++)
            printf(markdown ? " %s |" : " %11s", size_text(text, found->noticed[kind][p]));
        printf("\n");
    }
}

/* ---- measuring ------------------------------------------------------------------------------- */

static struct status measure_with(struct sensitivity *found, const struct try_call *call,
                                  uint64_t seed, struct profile *const *profiles)
{
    enum { MEMORY_BYTES = 1 << 30 };
    struct arena arena = { .limit_bytes = MEMORY_BYTES };
    struct api_case c;
    const char *group, *name;
    arena_reserve(&arena, MEMORY_BYTES); /* only there is memory of one kernel used for the next */
    struct status status = try_call_find(&group, &name, &arena, call->op);
    const char *full = status.code ? NULL : arena_format(&arena, "%s.%s.0", group, name);
    if (!status.code && !full) status = status_no_memory(0);
    if (!status.code) status = try_call_make(&c, &arena, call, group, name, full, seed);
    if (!status.code) status = sensitivity_measure(found, &arena, &c, profiles);
    arena_release(&arena);
    return status;
}

/* `first_row`: the table has no header yet. */
static struct status measure(bool *first_row, const struct standards_options *options,
                             const char *api, const char *dtype, struct profile *const *profiles)
{
    struct sensitivity found;
    struct status first = status_ok();
    for (int i = 0; i < USUAL_SHAPES; i++) {
        const struct try_call call = describe(options, api, dtype, usual_shapes[i]);
        struct status status = measure_with(&found, &call, (uint64_t)options->seed, profiles);
        if (!status.code) {
            if (*first_row) print_header(options->markdown);
            *first_row = false;
            print_rows(api, &found, options->markdown);
            return status_ok();
        }
        if (!first.code) first = status;
        if (status.code != STATUS_BAD_ARGUMENT || options->shapes.count) break;
    }
    if (first.code == STATUS_SKIP) first.code = STATUS_BAD_ARGUMENT;
    return first;
}

static struct status measure_all(const struct standards_options *options,
                                 struct profile *const *profiles)
{
    size_t apis = options->apis.count ? options->apis.count : EXAMPLES;
    size_t dtypes = options->dtypes.count ? options->dtypes.count
                                          : sizeof usual_dtypes / sizeof *usual_dtypes;
    bool first_row = true;
    for (size_t i = 0; i < apis; i++)
        for (size_t k = 0; k < dtypes; k++) {
            const char *api = options->apis.count ? options->apis.items[i] : examples[i].api;
            const char *dtype = options->dtypes.count ? options->dtypes.items[k] : usual_dtypes[k];
            TRY(measure(&first_row, options, api, dtype, profiles));
        }
    return status_ok();
}

static struct status run(int *exit_status, const void *values)
{
    const struct standards_options *options = values;
    struct profile *profiles[SENSITIVITY_PROFILES] = { NULL };
    struct status status = status_ok();
    if (!options->sensitivity)
        return status_error(STATUS_BAD_ARGUMENT, "'standards' needs --sensitivity");
    for (int p = 0; p < SENSITIVITY_PROFILES && !status.code; p++)
        status = profile_load(&profiles[p], profile_names()[p], NULL, FILES_CHECKED);
    if (!status.code) status = measure_all(options, profiles);
    for (int p = 0; p < SENSITIVITY_PROFILES; p++) profile_release(profiles[p]);
    *exit_status = 0;
    return status;
}

#define AT(member) offsetof(struct standards_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "sensitivity" }, OPTION_FLAG, AT(sensitivity),
      .help = "Spoil correct results by errors of known size, and print the smallest that each profile "
              "notices, all larger ones included." },
    { { "api", "op" }, OPTION_TEXTS, AT(apis), "NAME",
      .help = "Measure this API (softmax, Torch.matmul), once more for each; a few that stand for their kind "
              "by default." },
    { { "shape" }, OPTION_TEXTS, AT(shapes), "SHAPES",
      .help = "Shapes of its tensors, as for try: 64x256 for all by default." },
    { { "arg" }, OPTION_TEXTS, AT(arguments), "NAME=VALUE", .help = "Another argument, as for try: dim=-1." },
    { { "dtype" }, OPTION_TEXTS, AT(dtypes), "DTYPE", .help = "f32 and bf16 by default." },
    { { "seed" }, OPTION_INTEGER, AT(seed), "N", .minimum = 0, .maximum = 999999999999999,
      .help = "Seed of the inputs, 1234 by default; they are normal." },
    { { "markdown" }, OPTION_FLAG, AT(markdown), .help = "The table of docs/standards.md." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct standards_options defaults = { .seed = 1234 };

const struct command standards_command = {
    .word = "standards",
    .summary = "print how small an error each profile notices",
    .text =
        "standards --sensitivity takes a correct result of an API (float32 arithmetic, rounded "
        "once) and "
        "scales it, adds a constant to all elements (a part of their rms), changes its largest "
        "element, adds noise to all, cuts off "
        "bits, shortens the factors of its products, or accumulates its sums in fewer bits. For "
        "each it prints the smallest error, relative or as 2^-bits, from which on a profile's "
        "verdict is worse "
        "than that of the correct result.",
    .options = rows,
    .bytes = sizeof(struct standards_options),
    .defaults = &defaults,
    .run = run,
};
