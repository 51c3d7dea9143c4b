/* `probe-ut ops`: its forms, the coverage it claims, and the page made of it. */
#include <cjson/cJSON.h>

#include "support/core_families.h"
#include "support/suite.h"
#include "support/workspace.h"

static cJSON *listing(const struct workspace *w, const char *option, const char *name)
{
    struct outcome o =
        run_program(w, "ops", "--json", option ? option : name, option ? name : NULL, NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_str_eq(o.err, "");
    cJSON *array = cJSON_Parse(o.out);
    ck_assert_ptr_nonnull(array);
    outcome_free(&o);
    return array;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));
    ck_assert_msg(text != NULL, "no string %s", key);
    return text;
}

static bool flag_of(const cJSON *object, const char *key)
{
    const cJSON *flag = cJSON_GetObjectItem(object, key);
    ck_assert(cJSON_IsBool(flag));
    return cJSON_IsTrue(flag);
}

/* Every object has all keys; what is claimed has a schema, a certificate and a standard; what is
 * not has a reason; no name comes twice. */
START_TEST(every_entry_is_complete)
{
    struct workspace w = workspace_make();
    cJSON *array = listing(&w, NULL, NULL);
    const cJSON *item, *last = NULL;
    ck_assert_int_gt(cJSON_GetArraySize(array), 1300);
    cJSON_ArrayForEach(item, array)
    {
        const char *api = text_of(item, "api");
        bool forward = flag_of(item, "forward"), backward = flag_of(item, "backward");
        bool described = *text_of(item, "schema") == '(' && *text_of(item, "certificate") &&
                         *text_of(item, "standard");
        ck_assert_msg(forward ? described : *text_of(item, "reason") != '\0', "%s", api);
        ck_assert_msg(forward || !backward, "%s: backward without forward", api);
        ck_assert_msg(strchr(api, '.') != NULL && *text_of(item, "family") >= 0, "%s", api);
        if (last) ck_assert_msg(strcmp(text_of(last, "api"), api) != 0, "%s comes twice", api);
        last = item;
    }
    cJSON_Delete(array);
    workspace_remove(&w);
}
END_TEST

START_TEST(names_select)
{
    struct workspace w = workspace_make();
    cJSON *array = listing(&w, NULL, "softmax");
    ck_assert_int_eq(cJSON_GetArraySize(array), 3);
    ck_assert_str_eq(text_of(cJSON_GetArrayItem(array, 0), "api"), "Functional.softmax");
    cJSON_Delete(array);
    array = listing(&w, NULL, "Tensor.__iadd__");
    ck_assert_int_eq(cJSON_GetArraySize(array), 1);
    ck_assert(flag_of(cJSON_GetArrayItem(array, 0), "backward"));
    cJSON_Delete(array);
    /* Nobody's input is read, so there is nothing to warn root of. */
    struct outcome quiet = run_program(&w, "ops", "softmax", NULL);
    ck_assert_str_eq(quiet.err, "");
    outcome_free(&quiet);
    static const char *const unknown[][2] = { { "Tensor.softmaxx", "'softmax'" },
                                              { "matmull", "'matmul'" },
                                              { "Functional.__iadd__", "nearest" } };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct outcome o = run_program(&w, "ops", "softmax", unknown[i][0], NULL);
        ck_assert_msg(o.status == 2 && strstr(o.err, unknown[i][1]), "%d %s", o.status, o.err);
        outcome_free(&o);
    }
    array = listing(&w, "--missing", NULL);
    const cJSON *item;
    cJSON_ArrayForEach(item, array) ck_assert(!flag_of(item, "forward"));
    ck_assert_int_gt(cJSON_GetArraySize(array), 0);
    cJSON_Delete(array);
    workspace_remove(&w);
}
END_TEST

static bool is_one_of(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(text, *list)) return true;
    return false;
}

/* At least 95 % of the names of the core families run forward; what no checker can check (sparse
 * layouts, named dimensions, uninitialised memory) is not counted. */
START_TEST(core_families_are_covered)
{
    static const char *const uncounted[] = {
        "of sparse tensors a dump records dtype and shape, no indices",
        "of named dimensions a dump records no names", "returns uninitialised memory", NULL
    };
    struct workspace w = workspace_make();
    cJSON *array = listing(&w, NULL, NULL);
    const cJSON *item;
    size_t names = 0, forward = 0;
    cJSON_ArrayForEach(item, array)
    {
        const char *api = text_of(item, "api");
        if (!strncmp(api, "NPU.", 4) || !is_core_family(text_of(item, "family"))) continue;
        if (is_one_of(text_of(item, "reason"), uncounted)) continue;
        names++;
        forward += flag_of(item, "forward");
    }
    printf("core families: %zu of %zu names run forward\n", forward, names);
    ck_assert_uint_gt(names, 900);
    ck_assert_uint_ge(forward * 100, names * 95);
    cJSON_Delete(array);
    workspace_remove(&w);
}
END_TEST

START_TEST(the_page_is_current)
{
    struct workspace w = workspace_make();
    struct outcome o = run_program(&w, "ops", "--markdown", NULL);
    char *page = read_file(PROBE_SOURCE_DIR "/docs/ops.md", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(page);
    ck_assert_msg(!strcmp(page, o.out),
                  "docs/ops.md is old: probe-ut ops --markdown > docs/ops.md");
    free(page);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* The table says what the JSON says, for all names, for some and for none. */
START_TEST(the_table_is_the_json)
{
    static const char *const selections[][3] = {
        { NULL },
        { "--missing" },
        { "softmax", "Torch.matmul", NULL },
    };
    struct workspace w = workspace_make();
    for (size_t s = 0; s < sizeof selections / sizeof *selections; s++) {
        const char *const *words = selections[s];
        struct outcome table = run_program(&w, "ops", words[0], words[0] ? words[1] : NULL, NULL);
        ck_assert_int_eq(table.status, 0);
        struct outcome json =
            run_program(&w, "ops", "--json", words[0], words[0] ? words[1] : NULL, NULL);
        cJSON *array = cJSON_Parse(json.out);
        const cJSON *item;
        char *expected;
        size_t length, forward = 0, backward = 0;
        FILE *out = open_memstream(&expected, &length);
        fprintf(out, "%-44s forward  backward  schema, or why there is none\n", "API");
        cJSON_ArrayForEach(item, array)
        {
            const char *schema = text_of(item, "schema");
            fprintf(out, "%-44s %-8s %-9s %s\n", text_of(item, "api"),
                    flag_of(item, "forward") ? "yes" : "no",
                    flag_of(item, "backward") ? "yes" : "no",
                    *schema ? schema : text_of(item, "reason"));
            forward += flag_of(item, "forward");
            backward += flag_of(item, "backward");
        }
        fprintf(out, "%d APIs, %zu run forward, %zu backward\n", cJSON_GetArraySize(array), forward,
                backward);
        fclose(out);
        ck_assert_int_eq(cJSON_GetArraySize(array) == 0, s == 3);
        ck_assert_str_eq(table.out, expected);
        free(expected);
        cJSON_Delete(array);
        outcome_free(&table);
        outcome_free(&json);
    }
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops");
    TCase *tests = tcase_create("ops");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_entry_is_complete);
    tcase_add_test(tests, names_select);
    tcase_add_test(tests, the_table_is_the_json);
    tcase_add_test(tests, core_families_are_covered);
    tcase_add_test(tests, the_page_is_current);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
