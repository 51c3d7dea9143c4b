/* YAML texts as trees: which texts become which trees, where the others are refused, that
 * no text makes a tree that cannot be walked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "formats/yaml_tree.h"
#include "support/suite.h"

static struct arena arena;

static void release(void) { arena_release(&arena); }

static void show(FILE *out, const struct yaml_node *node)
{
    if (node->kind == YAML_SCALAR) {
        fprintf(out, node->quoted ? "'%s'" : "%s", node->text);
        return;
    }
    fprintf(out, node->kind == YAML_MAPPING ? "{" : "[");
    for (size_t i = 0; i < node->count; i++) {
        if (i) fprintf(out, ", ");
        if (node->kind == YAML_MAPPING) {
            show(out, node->pairs[i].key);
            fprintf(out, ": ");
        }
        show(out, node->kind == YAML_MAPPING ? node->pairs[i].value : node->items[i]);
    }
    fprintf(out, node->kind == YAML_MAPPING ? "}" : "]");
}

static struct status parse(struct yaml_document *out, const char *text)
{
    return yaml_parse(out, &arena, "x.yaml", text, strlen(text));
}

static const struct {
    const char *text, *tree; /* YAML 1.1, written down by hand; quoted texts in '' */
} accepted[] = {
    { "", "" },
    { "# only a comment\n", "" },
    { "a: b\n", "{a: b}" },
    { "\xef\xbb\xbf"
      "a: b\n",
      "{a: b}" },
    { "---\na: b\n...\n", "{a: b}" },
    { "api:\n- Torch.add\n- Tensor.__add__   # both\ncompare_index:\n",
      "{api: [Torch.add, Tensor.__add__], compare_index: }" },
    { "layers: {'5': '0', \"a\\tb\": 7}", "{layers: {'5': '0', 'a\tb': 7}}" },
    { "TopLayer:\n  network_with_loss: module\nB:\n  a.b: c\n",
      "{TopLayer: {network_with_loss: module}, B: {a.b: c}}" },
    { "Cell.a.forward.0.input.0: Module.b.forward.0.input.0",
      "{Cell.a.forward.0.input.0: Module.b.forward.0.input.0}" },
    { "- |\n  two\n  lines\n- >\n  one\n  line\n", "['two\nlines\n', 'one line\n']" },
    { "- &x [1, 2]\n- *x\n- &x 3\n- *x\n", "[[1, 2], [1, 2], 3, 3]" },
    { "- !!str 5\n- !!int 5\n- !!seq []\n- ! 6\n", "['5', 5, [], '6']" },
    { "z: 1\na: 2\n1: 3\n", "{z: 1, a: 2, 1: 3}" }, /* the order of the file */
    { "'<<': {a: b}", "{'<<': {a: b}}" },
    { "\xe5\xb1\x82: \xe5\x80\xbc", "{\xe5\xb1\x82: \xe5\x80\xbc}" },
};

START_TEST(texts_become_trees)
{
    struct yaml_document document;
    char tree[200] = "";
    struct status status = parse(&document, accepted[_i].text);
    ck_assert_msg(!status.code, "%s", status.text);
    FILE *out = fmemopen(tree, sizeof tree, "w");
    show(out, document.root);
    fclose(out);
    ck_assert_str_eq(tree, accepted[_i].tree);
}
END_TEST

static const struct {
    const char *text, *message;
} refused[] = {
    { "a: b\n  c: d\n",
      "x.yaml, line 2, column 4: mapping values are not allowed in this context" },
    { "a: [1,\n", "x.yaml, line 2, column 1: did not find expected node content" },
    { "a: 'b\n", "x.yaml, line 2, column 1: found unexpected end of stream" },
    { "a\tb: \x01", "x.yaml, byte 5: control characters are not allowed" },
    { "a: \xff\xfe", "x.yaml, byte 3: invalid leading UTF-8 octet" },
    { "a: 1\nb: 2\na: 3\n", "x.yaml, line 3, column 1: the key 'a' has been there in line 1" },
    { "? [a]\n: b\n", "x.yaml, line 1, column 3: a key must be a plain name" },
    { "a: &x {b: 1}\nc:\n  <<: *x\n", "x.yaml, line 3, column 3: merge keys are not supported" },
    { "a: !!python/object/apply:os.system [ls]\n",
      "x.yaml, line 1, column 4: tags are not supported" },
    { "a: !mine b\n", "x.yaml, line 1, column 4: tags are not supported" },
    { "a: !!binary aGk=\n", "x.yaml, line 1, column 4: tags are not supported" },
    { "&x\na: *x\n", "x.yaml, line 2, column 4: an alias inside of what it stands for" },
    { "a: &x [b, *x]\n", "x.yaml, line 1, column 11: an alias inside of what it stands for" },
    { "a: *x\n", "x.yaml, line 1, column 4: an alias without an anchor before it" },
    { "a: 1\n---\nb: 2\n", "x.yaml, line 2, column 1: a second document" },
    { "a: \"b\\0c\"\n", "x.yaml, line 1, column 4: a text with a NUL in it" },
};

START_TEST(other_texts_are_refused_with_their_place)
{
    struct yaml_document document = { .name = "untouched" };
    struct status status = parse(&document, refused[_i].text);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(!strncmp(status.text, refused[_i].message, strlen(refused[_i].message)),
                  "got '%s', expected '%s'", status.text, refused[_i].message);
    ck_assert_str_eq(document.name, "untouched");
}
END_TEST

/* Ten lists of ten aliases of the list before are ten milliards of scalars to who walks
 * them. */
START_TEST(aliases_cannot_make_a_tree_that_is_too_large_to_walk)
{
    char text[1000], *at = text;
    struct yaml_document document;
    at += sprintf(at, "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        at += sprintf(at, "l%d: &l%d [", i, i);
        for (int k = 0; k < 10; k++) at += sprintf(at, "*l%d%s", i - 1, k < 9 ? "," : "]\n");
    }
    struct status status = parse(&document, text);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "more than 4194304 values"));
}
END_TEST

/* 64 levels in a text, or one alias after the other deeper each time. */
START_TEST(depth_is_bounded)
{
    char text[400];
    struct yaml_document document;
    for (int levels = 64; levels <= 65; levels++) {
        memset(text, '[', levels);
        memset(text + levels, ']', levels);
        text[2 * levels] = '\0';
        struct status status = parse(&document, text);
        ck_assert_int_eq(status.code, levels > 64 ? STATUS_BAD_INPUT : STATUS_OK);
        if (!status.code) ck_assert_uint_eq(document.root->height, 64);
        else ck_assert_ptr_nonnull(strstr(status.text, "more than 64 levels"));
    }
    for (int links = 62; links <= 63; links++) {
        char chain[4000], *at = chain + sprintf(chain, "- &a0 x\n");
        for (int i = 1; i <= links; i++) at += sprintf(at, "- &a%d [*a%d]\n", i, i - 1);
        struct status status = parse(&document, chain);
        ck_assert_int_eq(status.code, links > 62 ? STATUS_BAD_INPUT : STATUS_OK);
    }
}
END_TEST

START_TEST(anchors_are_bounded)
{
    for (int count = YAML_MAX_ANCHORS; count <= YAML_MAX_ANCHORS + 1; count++) {
        struct yaml_document document;
        char *text = malloc(20 * count), *at = text;
        for (int i = 0; i < count; i++) at += sprintf(at, "- &a%d x\n", i);
        ck_assert_int_eq(parse(&document, text).code,
                         count > YAML_MAX_ANCHORS ? STATUS_BAD_INPUT : STATUS_OK);
        free(text);
    }
}
END_TEST

START_TEST(nodes_know_their_place)
{
    struct yaml_document document;
    ck_assert(!parse(&document, "a:\n  - b\n  - \xe5\xb1\x82: d\n").code);
    const struct yaml_node *list = yaml_member(document.root, "a");
    ck_assert_uint_eq(list->line, 2);
    ck_assert_uint_eq(list->column, 3);
    const struct yaml_node *d = list->items[1]->pairs[0].value; /* a column is a character */
    ck_assert_uint_eq(d->line, 3);
    ck_assert_uint_eq(d->column, 8);
    struct status status = yaml_fault(&document, d, "'%s' is no %s", d->text, "API");
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(status.text, "x.yaml, line 3, column 8: 'd' is no API");
}
END_TEST

/* Every key of a large mapping is found, and none that is not there. */
START_TEST(members_are_found)
{
    enum { KEYS = 50000 };
    struct yaml_document document;
    char *text = malloc(KEYS * 40), *at = text, key[20], value[20];
    for (int i = 0; i < KEYS; i++) /* in no order */
        at += sprintf(at, "key%d: value%d\n", i * 7919 % KEYS, i * 7919 % KEYS);
    ck_assert(!parse(&document, text).code);
    ck_assert_uint_eq(document.root->count, KEYS);
    for (int i = 0; i < KEYS; i++) {
        sprintf(key, "key%d", i);
        sprintf(value, "value%d", i);
        ck_assert_str_eq(yaml_member(document.root, key)->text, value);
    }
    ck_assert_ptr_null(yaml_member(document.root, "key"));
    ck_assert_ptr_null(yaml_member(document.root, "key50000"));
    ck_assert_ptr_null(yaml_member(yaml_member(document.root, "key1"), "key1"));
    free(text);
}
END_TEST

START_TEST(scalars_that_are_null)
{
    struct yaml_document document;
    ck_assert(!parse(&document, "[null, Null, NULL, ~, a: , 'null', \"\", nul, []]").code);
    ck_assert_uint_eq(document.root->count, 9);
    for (size_t i = 0; i < document.root->count; i++)
        ck_assert_int_eq(yaml_is_null(document.root->items[i]), i < 4);
    ck_assert(yaml_is_null(yaml_member(document.root->items[4], "a")));
}
END_TEST

START_TEST(scalars_that_are_integers)
{
    static const struct {
        const char *text;
        bool is_integer;
        int64_t value;
    } cases[] = {
        { "0", true, 0 },
        { "-17", true, -17 },
        { "+5", true, 5 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "'5'", false, 0 },
        { "5.0", false, 0 },
        { "0x10", false, 0 },
        { "1_000", false, 0 },
        { "-", false, 0 },
        { "[1]", false, 0 },
        { "", false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[60];
        struct yaml_document document;
        int64_t value = 77;
        sprintf(text, "a: %s\n", cases[i].text);
        struct status status = parse(&document, text);
        if (!strcmp(cases[i].text, "-")) { /* an item without a list */
            ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
            continue;
        }
        ck_assert_msg(!status.code, "%s", status.text);
        ck_assert_int_eq(yaml_integer(&value, yaml_member(document.root, "a")),
                         cases[i].is_integer);
        ck_assert_int_eq(value, cases[i].is_integer ? cases[i].value : 77);
    }
}
END_TEST

START_TEST(large_texts_are_refused)
{
    struct yaml_document document;
    char text = 'x';
    struct status status =
        yaml_parse(&document, &arena, "x.yaml", &text, YAML_MAX_BYTES + (size_t)1);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(status.text, "'x.yaml' is larger than 64 MiB");
}
END_TEST

static int left;

static int refuse(size_t bytes)
{
    (void)bytes;
    return left-- == 0;
}

static bool refuse_piece(size_t bytes) { return refuse(bytes); }

START_TEST(refused_memory_is_an_error)
{
    static const char text[] = "a: &x [1, {b: c}]\nd: *x\n";
    struct yaml_document document;
    int requests = 0;
    memory_fault = refuse;
    arena_fault = refuse_piece;
    for (;; requests++) {
        left = requests;
        struct status status = parse(&document, text);
        if (left >= 0) break; /* it needed fewer */
        ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
    }
    memory_fault = NULL;
    arena_fault = NULL;
    ck_assert_int_ge(requests, 8);
    ck_assert_uint_eq(document.root->count, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("yaml_tree");
    TCase *tests = tcase_create("yaml_tree");
    tcase_add_checked_fixture(tests, NULL, release);
    tcase_add_loop_test(tests, texts_become_trees, 0, sizeof accepted / sizeof *accepted);
    tcase_add_loop_test(tests, other_texts_are_refused_with_their_place, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_test(tests, aliases_cannot_make_a_tree_that_is_too_large_to_walk);
    tcase_add_test(tests, depth_is_bounded);
    tcase_add_test(tests, anchors_are_bounded);
    tcase_add_test(tests, nodes_know_their_place);
    tcase_add_test(tests, members_are_found);
    tcase_add_test(tests, scalars_that_are_null);
    tcase_add_test(tests, scalars_that_are_integers);
    tcase_add_test(tests, large_texts_are_refused);
    tcase_add_test(tests, refused_memory_is_an_error);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
