/* JSON texts as trees: what is one, where another text stops being one, memory that is refused. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "formats/json_tree.h"
#include "support/suite.h"

#define TEXT(text) text, sizeof(text) - 1

static const struct {
    const char *text;
    size_t bytes, line, column; /* line 0: it is JSON */
} texts[] = {
    { TEXT("{\"a\": [1, 2]}"), 0, 0 },
    { TEXT(" \t\r\n7 \n"), 0, 0 },
    { TEXT("\"\\u0000\""), 0, 0 },
    { TEXT(""), 1, 1 },
    { TEXT("{} {}"), 1, 4 },
    { TEXT("{}\n\nx"), 3, 1 },
    { TEXT("{\n  \"a\": 1,\n  b\n}"), 3, 4 }, /* just behind it */
    { TEXT("{\"a\": 1"), 1, 7 },
    { TEXT("[1,\n2"), 2, 1 },
    { TEXT("\0"), 1, 1 },
    { TEXT("{}\0"), 1, 3 },
    { TEXT("{}\0{}"), 1, 3 },
    { TEXT("[1\0]"), 1, 3 },
};

/* The text has no byte behind it: the address sanitizer sees a read beyond its end. */
START_TEST(texts_and_faults)
{
    char *text = malloc(texts[_i].bytes + !texts[_i].bytes);
    memcpy(text, texts[_i].text, texts[_i].bytes);
    struct json_fault fault = { 0, 0 };
    cJSON *tree;
    struct status status = json_tree_parse(&tree, &fault, text, texts[_i].bytes);
    ck_assert_int_eq(status.code, texts[_i].line ? STATUS_BAD_INPUT : STATUS_OK);
    ck_assert((tree != NULL) == !texts[_i].line);
    ck_assert_msg(fault.line == texts[_i].line && fault.column == texts[_i].column, "%zu:%zu",
                  fault.line, fault.column);
    cJSON_Delete(tree);
    status = json_tree_parse(&tree, NULL, text, texts[_i].bytes);
    ck_assert_int_eq(status.code, texts[_i].line ? STATUS_BAD_INPUT : STATUS_OK);
    cJSON_Delete(tree);
    free(text);
}
END_TEST

static int left;

static int refuse(size_t bytes)
{
    (void)bytes;
    return left-- == 0;
}

START_TEST(refused_memory_is_not_a_fault)
{
    static const char text[] = "{\"a\": [1, {\"b\": \"c\"}]}";
    int requests = 0;
    cJSON *tree;
    cJSON_InitHooks(&(cJSON_Hooks){ .malloc_fn = memory_allocate, .free_fn = memory_release });
    memory_fault = refuse;
    for (;; requests++) {
        left = requests;
        struct status status = json_tree_parse(&tree, NULL, TEXT(text));
        if (left >= 0) break; /* it needed fewer */
        ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
        ck_assert_ptr_null(tree);
    }
    memory_fault = NULL;
    ck_assert_int_ge(requests, 6);
    ck_assert_ptr_nonnull(tree);
    cJSON_Delete(tree);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_tree");
    TCase *tests = tcase_create("json_tree");
    tcase_add_loop_test(tests, texts_and_faults, 0, sizeof texts / sizeof *texts);
    tcase_add_test(tests, refused_memory_is_not_a_fault);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
