/* Dumps below a directory. */
#include <sys/stat.h>
#include <unistd.h>

#include "formats/dump_tree.h"
#include "support/suite.h"
#include "support/workspace.h"

static struct workspace w;
static struct arena arena;

static void open_workspace(void) { w = workspace_make(); }

static void close_workspace(void)
{
    arena_release(&arena);
    workspace_remove(&w);
}

/* A dump at PATH below "dumps", and the folders above it. */
static void make_dump(const char *path)
{
    char whole[256];
    snprintf(whole, sizeof whole, "dumps/%s", path);
    for (char *slash = strchr(whole, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(in(&w, whole), 0755);
        *slash = '/';
    }
    write_text(in(&w, whole), "{}");
}

static struct dump_tree find(const char *steps, const char *ranks)
{
    struct dump_tree tree;
    struct dump_tree_filter filter;
    ck_assert(!number_ranges_read(&filter.steps, steps).code);
    ck_assert(!number_ranges_read(&filter.ranks, ranks).code);
    struct status status = dump_tree_find(&tree, &arena, in(&w, "dumps"), &filter, FILES_CHECKED);
    ck_assert_msg(!status.code, "%s", status.text);
    return tree;
}

static void are(const struct dump_tree *tree, const char *const *folders, size_t count)
{
    ck_assert_uint_eq(tree->count, count);
    for (size_t i = 0; i < count; i++) ck_assert_str_eq(tree->items[i].folder, folders[i]);
}

/* By number, and not by the letters of the number. */
START_TEST(steps_and_ranks_are_in_order)
{
    static const char *const folders[] = { "step0/rank0", "step0/rank2", "step0/rank10",
                                           "step2/rank0", "step10/proc77" };
    static const int numbers[][2] = { { 0, 0 }, { 0, 2 }, { 0, 10 }, { 2, 0 }, { 10, 77 } };
    make_dump("step10/proc77/dump.json");
    make_dump("step0/rank10/dump.json");
    make_dump("step0/rank2/dump.json");
    make_dump("step2/rank0/dump.json");
    make_dump("step0/rank0/dump.json");
    const struct dump_tree tree = find(NULL, NULL);
    are(&tree, folders, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(tree.items[i].step, numbers[i][0]);
        ck_assert_int_eq(tree.items[i].rank, numbers[i][1]);
        ck_assert_uint_eq(tree.items[i].bytes, 2);
        ck_assert(access(tree.items[i].path, R_OK) == 0);
    }
}
END_TEST

START_TEST(steps_and_ranks_are_chosen)
{
    static const char *const folders[] = { "step1/rank1", "step1/rank3" };
    char path[64];
    for (int step = 0; step < 3; step++)
        for (int rank = 0; rank < 4; rank++) {
            snprintf(path, sizeof path, "step%d/rank%d/dump.json", step, rank);
            make_dump(path);
        }
    struct dump_tree tree = find("1", "1,3-9");
    are(&tree, folders, 2);
    ck_assert_uint_eq(tree.all, 12);
    tree = find("7", NULL);
    are(&tree, NULL, 0);
}
END_TEST

/* The directory itself, folders of any name, a rank without a number. */
START_TEST(other_layouts_are_found)
{
    static const char *const folders[] = { "", "mine/of/today", "rank", "rank1x" };
    make_dump("dump.json");
    make_dump("rank/dump.json");
    make_dump("rank1x/dump.json");
    make_dump("mine/of/today/dump.json");
    const struct dump_tree tree = find(NULL, NULL);
    are(&tree, folders, 4);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(tree.items[i].rank, -1);
}
END_TEST

/* Tensors are many, a link may lead in circles, and nothing lies as deep as that. */
START_TEST(other_folders_are_left_alone)
{
    static const char *const folders[] = { "rank0" };
    make_dump("rank0/dump.json");
    make_dump("rank0/dump_tensor_data/dump.json");
    make_dump("a/b/c/d/e/dump.json");
    ck_assert(!symlink("..", in(&w, "dumps/rank0/up")));
    const struct dump_tree tree = find(NULL, NULL);
    are(&tree, folders, 1);
}
END_TEST

START_TEST(a_directory_that_is_not_there)
{
    struct dump_tree tree;
    const struct dump_tree_filter all = { .steps.count = 0 };
    ck_assert(dump_tree_find(&tree, &arena, in(&w, "none"), &all, FILES_CHECKED).code ==
              STATUS_BAD_INPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dump_tree");
    TCase *tests = tcase_create("dump_tree");
    tcase_add_checked_fixture(tests, open_workspace, close_workspace);
    tcase_add_test(tests, steps_and_ranks_are_in_order);
    tcase_add_test(tests, steps_and_ranks_are_chosen);
    tcase_add_test(tests, other_layouts_are_found);
    tcase_add_test(tests, other_folders_are_left_alone);
    tcase_add_test(tests, a_directory_that_is_not_there);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
