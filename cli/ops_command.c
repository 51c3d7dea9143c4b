/* The list is the union of two: every name that PyTorch's dumps can hold, so that nobody believes
 * something was checked that was not, and every name of the catalogue. */
#include "cli/ops_command.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "bench/bench.h"
#include "cli/api_surface.h"
#include "core/nearest_name.h"
#include "core/quantity.h"
#include "standards/profile.h"

struct ops_options {
    bool json, missing, markdown;
    struct operands names;
};

struct line {
    struct bench_entry entry; /* schema is NULL when there is no bench function */
    const char *family;       /* "" for a name outside of the surface */
    const char *reason;       /* "" when there is nothing to say */
    bool in_surface;
};

struct listing {
    struct line *lines;
    size_t count;
    const struct profile *profile;
};

/* ---- the union -------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = strcmp(x->entry.group, y->entry.group);
    if (!order) order = strcmp(x->entry.name, y->entry.name);
    return order ? order : y->in_surface - x->in_surface; /* the surface's line knows the family */
}

static struct line line_of_name(const struct surface_name *name)
{
    struct line line = { .family = name->family, .reason = "", .in_surface = true };
    if (bench_find_entry(&line.entry, name->group, name->name)) {
        if (line.entry.random) line.reason = "random: judged by a property";
        return line;
    }
    line.entry =
        (struct bench_entry){ .group = name->group, .name = name->name, .certificate = "" };
    line.reason = name->reason ? name->reason : "not in the catalogue";
    return line;
}

static struct line line_of_entry(const struct bench_entry *entry)
{
    return (struct line){ .entry = *entry,
                          .family = "",
                          .reason = entry->random ? "random: judged by a property" : "" };
}

static struct status collect(struct listing *listing, struct arena *arena)
{
    const struct bench_entry *entries;
    struct surface_name *names;
    size_t n_entries, n_names, kept = 0;

    TRY(bench_catalogue(&entries, &n_entries, arena));
    TRY(api_surface_read(&names, &n_names, arena));
    struct line *lines = arena_allocate_zeroed(arena, n_entries + n_names, sizeof *lines);
    if (!lines) return status_no_memory(0);
    for (size_t i = 0; i < n_names; i++) lines[i] = line_of_name(&names[i]);
    for (size_t i = 0; i < n_entries; i++) lines[n_names + i] = line_of_entry(&entries[i]);
    qsort(lines, n_entries + n_names, sizeof *lines, by_name);
    for (size_t i = 0; i < n_entries + n_names; i++) {
        const struct bench_entry *last = kept ? &lines[kept - 1].entry : NULL;
        if (last && !strcmp(last->group, lines[i].entry.group) &&
            !strcmp(last->name, lines[i].entry.name))
            continue;
        lines[kept++] = lines[i];
    }
    listing->lines = lines;
    listing->count = kept;
    return status_ok();
}

/* Is this what a line is called, bare or with its group? */
static bool is_called(const struct line *line, const char *name)
{
    size_t group = strlen(line->entry.group);
    if (!strcmp(name, line->entry.name)) return true;
    return !strncmp(name, line->entry.group, group) && name[group] == '.' &&
           !strcmp(name + group + 1, line->entry.name);
}

/* A name that nothing is called was mistyped. */
static struct status check_names(const struct listing *listing, const struct ops_options *options,
                                 struct arena *arena)
{
    const char **names = arena_allocate_array(arena, listing->count, sizeof *names);
    if (!names) return status_no_memory(listing->count * sizeof *names);
    for (size_t i = 0; i < listing->count; i++) names[i] = listing->lines[i].entry.name;
    for (size_t k = 0; k < options->names.count; k++) {
        const char *name = options->names.items[k];
        size_t i = 0;
        while (i < listing->count && !is_called(&listing->lines[i], name)) i++;
        if (i < listing->count) continue;
        const char *group = strchr(name, '.');
        return status_error(STATUS_BAD_ARGUMENT, "there is no API '%s', the nearest is '%s'", name,
                            nearest_name(group ? group + 1 : name, names, listing->count));
    }
    return status_ok();
}

/* Keep what was asked for. */
static void restrict_listing(struct listing *listing, const struct ops_options *options)
{
    size_t kept = 0;
    for (size_t i = 0; i < listing->count; i++) {
        const struct line *line = &listing->lines[i];
        bool wanted = !options->names.count;
        for (size_t k = 0; k < options->names.count; k++)
            wanted = wanted || is_called(line, options->names.items[k]);
        if (wanted && !(options->missing && line->entry.forward)) listing->lines[kept++] = *line;
    }
    listing->count = kept;
}

/* The standard that judges an API's float32 output. */
static const char *standard_of(const struct listing *listing, const struct line *line)
{
    if (!line->entry.forward) return "";
    return standard_name(
        profile_select(listing->profile, line->entry.name, DT_F32, DT_F32).standard);
}

/* ---- forms of output ---------------------------------------------------------------------------- */

static void print_table(const struct listing *listing)
{
    size_t forward = 0, backward = 0;
    printf("%-44s %-8s %-9s %s\n", "API", "forward", "backward", "schema, or why there is none");
    for (size_t i = 0; i < listing->count; i++) {
        const struct line *line = &listing->lines[i];
        char full[256];
        (void)snprintf(full, sizeof full, "%s.%s", line->entry.group, line->entry.name);
        printf("%-44s %-8s %-9s %s\n", full, line->entry.forward ? "yes" : "no",
               line->entry.backward ? "yes" : "no",
               line->entry.schema ? line->entry.schema : line->reason);
        forward += line->entry.forward;
        backward += line->entry.backward;
    }
    printf("%s, %zu run forward, %zu backward\n", quantity_of(listing->count, "API").text, forward,
           backward);
}

static bool add_line(cJSON *array, const struct listing *listing, const struct line *line)
{
    char full[256];
    cJSON *object = cJSON_CreateObject();
    (void)snprintf(full, sizeof full, "%s.%s", line->entry.group, line->entry.name);
    bool complete =
        object && cJSON_AddStringToObject(object, "api", full) &&
        cJSON_AddStringToObject(object, "family", line->family) &&
        cJSON_AddStringToObject(object, "schema", line->entry.schema ? line->entry.schema : "") &&
        cJSON_AddBoolToObject(object, "forward", line->entry.forward) &&
        cJSON_AddBoolToObject(object, "backward", line->entry.backward) &&
        cJSON_AddStringToObject(object, "certificate", line->entry.certificate) &&
        cJSON_AddStringToObject(object, "standard", standard_of(listing, line)) &&
        cJSON_AddStringToObject(object, "reason", line->reason);
    if (complete && cJSON_AddItemToArray(array, object)) return true;
    cJSON_Delete(object);
    return false;
}

static struct status print_json(const struct listing *listing)
{
    cJSON *array = cJSON_CreateArray();
    bool complete = array != NULL;
    for (size_t i = 0; complete && i < listing->count; i++)
        complete = add_line(array, listing, &listing->lines[i]);
    char *text = complete ? cJSON_Print(array) : NULL;
    cJSON_Delete(array);
    if (!text) return status_no_memory(0);
    printf("%s\n", text);
    cJSON_free(text);
    return status_ok();
}

/* A cell: '|' would end it. */
static void print_cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|') putchar('\\');
        putchar(*text);
    }
}

struct coverage {
    const char *name;
    size_t names, forward, backward;
};

static void print_coverage(const struct coverage *rows, size_t count, const char *what)
{
    printf("| %s | names | forward | backward |\n|---|---|---|---|\n", what);
    for (size_t i = 0; i < count; i++)
        printf("| %s | %zu | %zu | %zu |\n", rows[i].name, rows[i].names, rows[i].forward,
               rows[i].backward);
    printf("\n");
}

static void add_coverage(struct coverage *rows, size_t *count, size_t most, const char *name,
                         const struct line *line)
{
    size_t at = 0;
    while (at < *count && strcmp(rows[at].name, name) != 0) at++;
    if (at == most) return;
    if (at == *count) rows[(*count)++] = (struct coverage){ .name = name };
    rows[at].names++;
    rows[at].forward += line->entry.forward;
    rows[at].backward += line->entry.backward;
}

/* Of the surface: by group, and by family in the groups of PyTorch itself. */
static void print_coverages(const struct listing *listing)
{
    struct coverage groups[8] = { 0 }, families[64] = { 0 };
    size_t n_groups = 0, n_families = 0;
    for (size_t i = 0; i < listing->count; i++) {
        const struct line *line = &listing->lines[i];
        if (!line->in_surface) continue;
        add_coverage(groups, &n_groups, 8, line->entry.group, line);
        if (strcmp(line->entry.group, "NPU") != 0 && strcmp(line->entry.group, "MindSpeed") != 0)
            add_coverage(families, &n_families, 64, line->family, line);
    }
    print_coverage(groups, n_groups, "group");
    print_coverage(families, n_families, "family (Aten, Functional, Tensor, Torch)");
}

static void print_markdown(const struct listing *listing)
{
    printf("# The catalogue\n\n"
           "Made by `probe-ut ops --markdown`; a test compares this page with the program. Every "
           "name\n"
           "that msprobe can record for PyTorch and torch_npu is here: what is checked, by which "
           "schema, and\n"
           "what is not, with the reason. \"forward\" and \"backward\" are claimed only for names "
           "that a test\n"
           "runs (tests/bench/test_catalogue.c).\n\n");
    print_coverages(listing);
    for (size_t i = 0; i < listing->count; i++) {
        const struct line *line = &listing->lines[i];
        const struct bench_entry *e = &line->entry;
        if (!i || strcmp(listing->lines[i - 1].entry.group, e->group) != 0)
            printf(
                "\n## %s\n\n| name | forward | backward | certificate | schema, or the reason |\n"
                "|---|---|---|---|---|\n",
                e->group);
        printf("| %s | %s | %s | %s | ", e->name, e->forward ? "yes" : "-",
               e->backward ? "yes" : "-", e->certificate);
        if (e->schema) {
            putchar('`');
            print_cell(e->schema);
            putchar('`');
        } else {
            print_cell(line->reason);
        }
        printf(" |\n");
    }
}

static struct status ops_run(int *exit_status, const void *values)
{
    const struct ops_options *options = values;
    struct listing listing = { 0 };
    struct profile *profile = NULL;
    struct arena arena = { 0 };

    struct status status = profile_load(&profile, profile_names()[0], NULL, FILES_CHECKED);
    if (!status.code) status = collect(&listing, &arena);
    if (!status.code) status = check_names(&listing, options, &arena);
    if (!status.code) {
        listing.profile = profile;
        restrict_listing(&listing, options);
        if (options->json) status = print_json(&listing);
        else if (options->markdown) print_markdown(&listing);
        else print_table(&listing);
    }
    if (profile) profile_release(profile);
    arena_release(&arena);
    *exit_status = 0;
    return status;
}

/* clang-format off */
static const struct option_row rows[] = {
    { { "json" }, OPTION_FLAG, offsetof(struct ops_options, json),
      .help = "One JSON array of objects with api, family, schema, forward, backward, certificate, "
              "standard and reason." },
    { { "missing" }, OPTION_FLAG, offsetof(struct ops_options, missing),
      .help = "Only the names that are not checked, with the reason." },
    { { "markdown" }, OPTION_FLAG, offsetof(struct ops_options, markdown),
      .help = "The page docs/ops.md." },
    { .names = { NULL } },
};
/* clang-format on */

/* clang-format off */
const struct command ops_command = {
    .word = "ops",
    .summary = "list the APIs that can be checked",
    .text = "List the catalogue: every API that a dump can hold with its schema, whether its forward "
            "and its backward are checked, and why not. With names, bare or with their group "
            "(softmax, Functional.softmax), only those.",
    .options = rows,
    .operands = "[NAME ...]",
    .operands_maximum = OPERANDS_MAX,
    .operands_offset = offsetof(struct ops_options, names),
    .bytes = sizeof(struct ops_options),
    .run = ops_run,
};
/* clang-format on */
