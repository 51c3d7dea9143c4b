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

int main(void)
{
    Suite *suite = suite_create("translation");
    TCase *tests = tcase_create("translation");
    tcase_add_test(tests, rows_call_what_the_catalogue_has);
    tcase_add_test(tests, rows_can_be_read);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
