/* The tables that say calls of MindSpore in terms of PyTorch: every row can be read, and what it calls
 * exists under every name it has. */
#include "bench/mindspore/translation.h"

#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/call/schema.h"
#include "bench/registry.h"
#include "support/suite.h"

/* Each of the names of a row. */
static const char *next_name(char name[128], const char *at)
{
    size_t length = strcspn(at, "|");
    snprintf(name, 128, "%.*s", (int)length, at);
    return at[length] ? at + length + 1 : NULL;
}

static void target_of(char type[64], char api[128], const struct translation *row, const char *name)
{
    size_t length = strcspn(row->call, "(");
    char target[256];
    snprintf(target, sizeof target, "%.*s", (int)length, row->call);
    char *dot = strchr(target, '.');
    if (dot) *dot = '\0';
    snprintf(type, 64, "%s", target);
    const char *own = dot ? strchr(dot + 1, '$') : NULL;
    if (!dot) snprintf(api, 128, "%s", name);
    else if (!own) snprintf(api, 128, "%s", dot + 1);
    else snprintf(api, 128, "%.*s%s%s", (int)(own - dot - 1), dot + 1, name, own + 1);
}

START_TEST(rows_call_what_the_catalogue_has)
{
    const struct translation *row;
    size_t missing = 0, rows = 0;
    for (size_t i = 0; (row = translation_row(i)); i++) {
        char name[128], type[64], api[128];
        if (!strcmp(row->names, "*")) continue;
        for (const char *at = row->names; at;) {
            struct op_match match;
            at = next_name(name, at);
            target_of(type, api, row, name);
            rows++;
            if (op_find(&match, type, api, NULL)) continue;
            missing++;
            fprintf(stderr, "%s: no %s.%s\n", name, type, api);
        }
    }
    ck_assert_msg(!missing, "%zu of %zu rows call nothing", missing, rows);
}
END_TEST

START_TEST(rows_can_be_read)
{
    const struct translation *row;
    struct arena arena = { 0 };
    for (size_t i = 0; (row = translation_row(i)); i++) {
        struct schema *schema;
        if (!row->schema) continue;
        struct status status = schema_parse(&schema, &arena, row->schema);
        ck_assert_msg(!status.code, "%s: %s", row->names, status.text);
        arena_reset(&arena);
    }
    arena_release(&arena);
}
END_TEST

/* Does a row have the name? A row of all names has those that what it calls has. */
static bool is_translated(const char *type, const char *name)
{
    const struct translation *row;
    unsigned group = translation_group(type);
    for (size_t i = 0; (row = translation_row(i)); i++) {
        struct op_match match;
        if (!(row->groups & group)) continue;
        if (strcmp(row->names, "*") ? op_name_matches(row->names, name, strlen(name))
                                    : op_find(&match, row->call, name, NULL))
            return true;
    }
    return false;
}

/* Of the names that compute (docs/writing-a-bench-function.md) at least 95 % of each type have a row; every gap says
 * why, and nothing else does. */
START_TEST(names_are_covered)
{
    static const char *const types[] = { "Functional", "Tensor", "Mint", "MintFunctional" };
    static const char *const exempt[] = { "no operator", "Python function", "no name:" };
    enum { TYPES = sizeof types / sizeof *types };
    size_t names[TYPES] = { 0 }, covered[TYPES] = { 0 };
    char line[256];
    FILE *list = fopen(PROBE_TEST_DATA "/mindspore_names.txt", "r");
    ck_assert_ptr_nonnull(list);
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#') continue;
        char *reason = strstr(line, "  # "), *dot = strchr(line, '.');
        if (reason) *reason = '\0', reason += 4;
        ck_assert_ptr_nonnull(dot);
        *dot = '\0';
        bool runs = is_translated(line, dot + 1), counts = true;
        ck_assert_msg(runs == !reason, "%s.%s: %s", line, dot + 1,
                      runs ? "has a row and a reason for none" : "no row, and no reason");
        for (size_t k = 0; reason && k < sizeof exempt / sizeof *exempt; k++)
            counts = counts && !strstr(reason, exempt[k]);
        for (size_t k = 0; counts && k < TYPES; k++)
            if (!strcmp(types[k], line)) {
                names[k]++;
                covered[k] += runs;
            }
    }
    fclose(list);
    for (size_t k = 0; k < TYPES; k++) {
        printf("%s: %zu of %zu names of MindSpore\n", types[k], covered[k], names[k]);
        ck_assert_uint_gt(names[k], 40);
        ck_assert_msg(covered[k] * 100 >= names[k] * 95, "%s: fewer than 95 %% have a row",
                      types[k]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("translation");
    TCase *tests = tcase_create("translation");
    tcase_add_test(tests, rows_call_what_the_catalogue_has);
    tcase_add_test(tests, rows_can_be_read);
    tcase_add_test(tests, names_are_covered);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
