/* Databases against those that msprobe wrote from the same dumps: every cell of every node. Cells that
 * are JSON are compared by value, numbers to 1e-6. Prints the share that is equal. */
#include <check.h>
#include <cjson/cJSON.h>
#include <glob.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/suite.h"
#include "support/workspace.h"

static sqlite3 *open_database(const char *path)
{
    char uri[4200];
    sqlite3 *db;
    (void)snprintf(uri, sizeof uri, "file:%s?immutable=1", path);
    ck_assert_int_eq(sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL),
                     SQLITE_OK);
    return db;
}

static sqlite3_stmt *query(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    return statement;
}

static bool json_equal(const cJSON *a, const cJSON *b)
{
    if (cJSON_IsNumber(a) && cJSON_IsNumber(b))
        return fabs(a->valuedouble - b->valuedouble) <= 1e-6;
    if ((a->type & 0xff) != (b->type & 0xff) || cJSON_GetArraySize(a) != cJSON_GetArraySize(b))
        return false;
    if (cJSON_IsString(a)) return !strcmp(a->valuestring, b->valuestring);
    for (const cJSON *x = a->child, *y = b->child; x; x = x->next, y = y->next) {
        const cJSON *other = cJSON_IsObject(a) ? cJSON_GetObjectItemCaseSensitive(b, x->string) : y;
        if (!other || !json_equal(x, other)) return false;
    }
    return true;
}

static bool text_equal(const char *a, const char *b)
{
    if (!a || !b) return a == b;
    if (!strcmp(a, b)) return true;
    cJSON *x = cJSON_Parse(a), *y = cJSON_Parse(b);
    bool equal = x && y && json_equal(x, y);
    cJSON_Delete(x);
    cJSON_Delete(y);
    return equal;
}

static bool cell_equal(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    if (sqlite3_column_type(a, column) != SQLITE_TEXT &&
        sqlite3_column_type(a, column) != SQLITE_NULL)
        return fabs(sqlite3_column_double(a, column) - sqlite3_column_double(b, column)) <= 1e-6;
    return text_equal((const char *)sqlite3_column_text(a, column),
                      (const char *)sqlite3_column_text(b, column));
}

/* Both results row by row, column by column. */
static void compare_rows(sqlite3 *want, sqlite3 *got, const char *sql, const char *what)
{
    sqlite3_stmt *a = query(want, sql), *b = query(got, sql);
    unsigned cells = 0, equal = 0, rows = 0;
    for (;; rows++) {
        bool more = sqlite3_step(a) == SQLITE_ROW;
        ck_assert_int_eq(sqlite3_step(b) == SQLITE_ROW, more);
        if (!more) break;
        for (int column = 0; column < sqlite3_column_count(a); column++) {
            bool same = cell_equal(a, b, column);
            cells++;
            equal += same;
            if (!same)
                printf("%s: %s: %s is not %s\n", sqlite3_column_text(a, 0),
                       sqlite3_column_name(a, column), sqlite3_column_text(b, column),
                       sqlite3_column_text(a, column));
        }
    }
    printf("%s: %u of %u cells equal\n", what, equal, cells);
    ck_assert_uint_gt(rows, 0);
    ck_assert_uint_eq(equal, cells);
    sqlite3_finalize(a);
    sqlite3_finalize(b);
}

static const char nodes[] =
    "SELECT n.id, graph_id, node_order, node_name, node_type, up_node, sub_nodes, precision_index, "
    "overflow_level, micro_step_id, matched_node_link, stack_info, parallel_merge_info, "
    "matched_distributed, modified, input_data, output_data, data_source, dump_data_dir, step, "
    "rank "
    "FROM tb_nodes n JOIN tb_stack s ON s.id = n.stack_id ORDER BY n.id";

static char made[256]; /* the workspace, until it is taken away */

static void clean_up(void)
{
    struct workspace workspace;
    if (!*made) return;
    (void)snprintf(workspace.path, sizeof workspace.path, "%s", made);
    workspace_remove(&workspace);
    *made = '\0';
}

/* Make the graph of folders in tests/data/graph; the path of the database in `path`. */
static void make_graph(char path[4096], const char *npu, const char *bench, const char *options)
{
    char command[8192], pattern[4096];
    struct workspace workspace = workspace_make();
    glob_t found;
    (void)snprintf(command, sizeof command,
                   PROBE_UT " graph -tp %s/%s %s%s -o %s/out %s >%s/log 2>&1",
                   PROBE_TEST_DATA "/graph", npu, bench ? "-gp " PROBE_TEST_DATA "/graph/" : "",
                   bench ? bench : "", workspace.path, options, workspace.path);
    ck_assert_int_eq(system(command), 0);
    (void)snprintf(pattern, sizeof pattern, "%s/out/*.vis.db", workspace.path);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 1);
    (void)snprintf(path, 4096, "%s", found.gl_pathv[0]);
    globfree(&found);
    (void)snprintf(made, sizeof made, "%s", workspace.path);
}

static void is_golden(const char *golden, const char *npu, const char *bench, const char *options)
{
    char path[4096], want_path[4096];
    make_graph(path, npu, bench, options);
    (void)snprintf(want_path, sizeof want_path, "%s/graph/%s", PROBE_TEST_DATA, golden);
    sqlite3 *want = open_database(want_path), *got = open_database(path);
    compare_rows(want, got, nodes, golden);
    compare_rows(want, got, "SELECT * FROM tb_config", "its configuration");
    compare_rows(want, got,
                 "SELECT name, tbl_name, type FROM sqlite_master WHERE name NOT LIKE 'sqlite%' "
                 "ORDER BY name",
                 "its schema");
    sqlite3_close(want);
    sqlite3_close(got);
}

START_TEST(a_comparison) { is_golden("compare.vis.db", "npu", "bench", "--format db"); }
END_TEST

START_TEST(a_built_graph_with_overflow)
{
    is_golden("overflow.vis.db", "bench", NULL, "-oc --format db");
}
END_TEST

START_TEST(modules_alone) { is_golden("l0.vis.db", "l0", NULL, "--format db"); }
END_TEST

/* What the plug-in asks of a file before it opens it, and that the log is folded in. */
START_TEST(the_file_can_be_copied_alone)
{
    char path[4096], beside[4200];
    struct stat info;
    make_graph(path, "npu", "bench", "--format db");
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(info.st_mode & 0777 & ~0640, 0);
    static const char *const suffixes[] = { "-wal", "-shm", "-journal" };
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(beside, sizeof beside, "%s%s", path, suffixes[i]);
        ck_assert_int_ne(stat(beside, &info), 0);
    }
    sqlite3 *db = open_database(path);
    sqlite3_stmt *check = query(db, "PRAGMA integrity_check");
    ck_assert_int_eq(sqlite3_step(check), SQLITE_ROW);
    ck_assert_str_eq((const char *)sqlite3_column_text(check, 0), "ok");
    sqlite3_finalize(check);
    /* every node is reached from the root by sub_nodes, in the order of the children */
    sqlite3_stmt *lost = query(
        db, "SELECT count(*) FROM tb_nodes c LEFT JOIN tb_nodes p ON p.graph_id = c.graph_id AND "
            "p.node_name = c.up_node AND instr(p.sub_nodes, '\"' || c.node_name || '\"') "
            "WHERE c.up_node <> '' AND p.id IS NULL");
    ck_assert_int_eq(sqlite3_step(lost), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(lost, 0), 0);
    sqlite3_finalize(lost);
    sqlite3_close(db);
}
END_TEST

/* The .vis file says the same as the database. */
START_TEST(vis_and_database_agree)
{
    char path[4096], text_path[4096];
    make_graph(path, "npu", "bench", "--format vis,db");
    (void)snprintf(text_path, sizeof text_path, "%.*s", (int)(strlen(path) - 3), path);
    FILE *file = fopen(text_path, "rb");
    ck_assert_ptr_nonnull(file);
    static char text[8 << 20];
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    cJSON *vis = cJSON_Parse(text);
    ck_assert_ptr_nonnull(vis);
    sqlite3 *db = open_database(path);
    sqlite3_stmt *row = query(db,
                              "SELECT data_source, node_name, input_data, output_data, sub_nodes, "
                              "precision_index, matched_node_link, node_type FROM tb_nodes");
    unsigned n = 0;
    for (; sqlite3_step(row) == SQLITE_ROW; n++) {
        const cJSON *side = cJSON_GetObjectItem(vis, (const char *)sqlite3_column_text(row, 0));
        const cJSON *node = cJSON_GetObjectItemCaseSensitive(
            cJSON_GetObjectItem(side, "node"), (const char *)sqlite3_column_text(row, 1));
        ck_assert_ptr_nonnull(node);
        static const char *const keys[] = { "input_data", "output_data", "subnodes" };
        for (int k = 0; k < 3; k++) {
            const char *cell = (const char *)sqlite3_column_text(row, 2 + k);
            cJSON *want = cJSON_Parse(*cell ? cell : "[]");
            ck_assert(json_equal(want, cJSON_GetObjectItem(node, keys[k])));
            cJSON_Delete(want);
        }
        const cJSON *index =
            cJSON_GetObjectItem(cJSON_GetObjectItem(node, "data"), "precision_index");
        ck_assert_int_eq(sqlite3_column_type(row, 5) == SQLITE_NULL, index == NULL);
        if (index) ck_assert(fabs(index->valuedouble - sqlite3_column_double(row, 5)) <= 1e-12);
        ck_assert_int_eq(cJSON_GetObjectItem(node, "node_type")->valueint,
                         sqlite3_column_int(row, 7));
    }
    ck_assert_uint_eq(n, 264);
    sqlite3_finalize(row);
    sqlite3_close(db);
    cJSON_Delete(vis);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("goldens");
    TCase *tests = tcase_create("goldens");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, NULL, clean_up);
    tcase_add_test(tests, a_comparison);
    tcase_add_test(tests, a_built_graph_with_overflow);
    tcase_add_test(tests, modules_alone);
    tcase_add_test(tests, the_file_can_be_copied_alone);
    tcase_add_test(tests, vis_and_database_agree);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
