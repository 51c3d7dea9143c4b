/* Writes the database in one transaction from one thread. The journal is kept in memory: the file is
 * new and has no name until it is whole, so nothing is lost with it. */
#include "graph/database.h"

#ifdef PROBE_HAS_SQLITE

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/new_file.h"
#include "graph/communication.h"
#include "graph/config_text.h"
#include "graph/row_text.h"
#include "graph/sqlite_library.h"

#define NODE_TABLE                                                                                \
    "CREATE TABLE tb_nodes (id TEXT PRIMARY KEY, graph_id TEXT NOT NULL, node_order INTEGER NOT " \
    "NULL, node_name TEXT NOT NULL, node_type TEXT NOT NULL, up_node TEXT, sub_nodes TEXT, "      \
    "precision_index INTEGER, overflow_level TEXT, micro_step_id INTEGER NOT NULL, "              \
    "matched_node_link TEXT, stack_id TEXT, parallel_merge_info TEXT, matched_distributed TEXT, " \
    "modified INTEGER NOT NULL, input_data TEXT, output_data TEXT, data_source TEXT, "            \
    "dump_data_dir TEXT, step INTEGER NOT NULL, rank INTEGER NOT NULL"

static const char begin[] = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN;";
static const char other_tables[] =
    "CREATE TABLE tb_stack (id TEXT PRIMARY KEY, stack_info TEXT);"
    "CREATE TABLE tb_config (id TEXT PRIMARY KEY, graph_type TEXT NOT NULL, task TEXT, tool_tip "
    "TEXT, micro_steps INTEGER, overflow_check INTEGER, node_colors TEXT NOT NULL, rank_list TEXT "
    "NOT NULL, step_list TEXT NOT NULL);";
static const char indexes[] =
    "CREATE INDEX index1 ON tb_nodes (step, rank, data_source, up_node, node_order);"
    "CREATE INDEX index2 ON tb_nodes (step, rank, data_source, node_name);"
    "CREATE INDEX index3 ON tb_nodes (step, rank, data_source, node_order);"
    "CREATE INDEX index4 ON tb_nodes (step, rank, node_order);"
    "CREATE INDEX index5 ON tb_nodes (step, rank, micro_step_id, node_order);"
    "CREATE INDEX index6 ON tb_nodes (step, rank, modified, matched_node_link);";

/* What the generations differ in. */
static const struct {
    const char *nodes, *insert, *indexes;
} schemas[] = {
    { NODE_TABLE ");",
      "INSERT INTO tb_nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      "" },
    { NODE_TABLE ", is_distributed INTEGER);",
      "INSERT INTO tb_nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?)",
      "CREATE INDEX index7 ON tb_nodes (is_distributed);" },
};

/* Viewers expect a file whose journal is a log beside it; closing folds the log in. */
static const char log_mode[] = "PRAGMA journal_mode = WAL;";

/* The columns of tb_nodes in their order. */
enum node_column {
    ID = 1,
    GRAPH_ID,
    NODE_ORDER,
    NODE_NAME,
    NODE_TYPE,
    UP_NODE,
    SUB_NODES,
    PRECISION_INDEX,
    OVERFLOW_LEVEL,
    MICRO_STEP_ID,
    MATCHED_NODE_LINK,
    STACK_ID,
    PARALLEL_MERGE_INFO,
    MATCHED_DISTRIBUTED,
    MODIFIED,
    INPUT_DATA,
    OUTPUT_DATA,
    DATA_SOURCE,
    DUMP_DATA_DIR,
    STEP,
    RANK,
    IS_DISTRIBUTED /* of the third generation */
};

struct database {
    sqlite3 *sqlite;
    sqlite3_stmt *node, *stack;
    struct new_file file; /* SQLite writes its part */
    bool third;           /* generation */
    /* texts of a node while its row is bound */
    struct csv_buffer id, children, link, met, input, output, stack_text, stack_id, name, parent;
};

static struct status failed(const struct database *d, const char *what)
{
    return status_error(STATUS_IO, "cannot %s '%s': %s", what, file_shown(d->file.path).text,
                        d->sqlite ? sqlite3_errmsg(d->sqlite) : "there is no memory");
}

static struct status run(struct database *d, const char *sql)
{
    return sqlite3_exec(d->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK ? status_ok()
                                                                       : failed(d, "write");
}

static struct status prepare(sqlite3_stmt **out, struct database *d, const char *sql)
{
    return sqlite3_prepare_v2(d->sqlite, sql, -1, out, NULL) == SQLITE_OK ? status_ok()
                                                                          : failed(d, "write");
}

static struct status step_statement(struct database *d, sqlite3_stmt *statement)
{
    int result = sqlite3_step(statement);
    (void)sqlite3_reset(statement);
    return result == SQLITE_DONE ? status_ok() : failed(d, "write");
}

/* ---- opening and closing ------------------------------------------------------------------------- */

bool database_available(void) { return true; }

static struct status start(struct database *d)
{
    TRY(sqlite_library_load());
    if (sqlite3_open_v2(d->file.part, &d->sqlite, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        return failed(d, "open");
    TRY(run(d, begin));
    TRY(run(d, schemas[d->third].nodes));
    TRY(run(d, other_tables));
    TRY(prepare(&d->stack, d, "INSERT INTO tb_stack VALUES (?, ?)"));
    return prepare(&d->node, d, schemas[d->third].insert);
}

static void close_database(struct database *d)
{
    struct csv_buffer *texts[] = { &d->id,     &d->children,   &d->link,     &d->met,  &d->input,
                                   &d->output, &d->stack_text, &d->stack_id, &d->name, &d->parent };
    if (d->sqlite) {
        (void)sqlite3_finalize(d->node);
        (void)sqlite3_finalize(d->stack);
        (void)sqlite3_close(d->sqlite);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) csv_buffer_release(texts[i]);
    memory_release(d);
}

struct status database_create(struct database **out, const char *path, enum generation generation)
{
    struct database *d = memory_allocate_zeroed(1, sizeof *d);
    *out = NULL;
    if (!d) return status_no_memory(sizeof *d);
    d->file = NEW_FILE_NONE;
    d->third = generation == GENERATION_3;
    struct status status = new_file_create(&d->file, path);
    if (!status.code) status = start(d);
    if (status.code) database_abandon(d);
    else *out = d;
    return status;
}

void database_abandon(struct database *database)
{
    if (!database) return;
    new_file_abandon(&database->file);
    close_database(database);
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

/* What is the same for all nodes of one side of a graph. */
struct adding {
    struct database *d;
    const struct graph *graph;
    const struct graph_side *side, *other;
    bool bench;
    unsigned step, rank;
    char graph_id[48];
    struct row_writer rows;
    struct text_table stacks; /* texts of stacks that are written already */
    unsigned order;
};

static void bind_text(struct database *d, int column, const struct csv_buffer *text)
{
    (void)sqlite3_bind_text(d->node, column, text->length ? text->data : "", (int)text->length,
                            SQLITE_STATIC);
}

static void bind_string(struct database *d, int column, const char *string)
{
    (void)sqlite3_bind_text(d->node, column, string, -1, SQLITE_STATIC);
}

/* The number of a node's stack among those of its graph; a new one is written. */
static struct status add_stack(struct adding *a, uint32_t node)
{
    struct database *d = a->d;
    char id[64];
    uint32_t number;
    bool added;

    csv_buffer_clear(&d->stack_text);
    TRY(stack_append(&d->stack_text, a->side, node));
    TRY(text_table_add(&number, &added, &a->stacks, d->stack_text.data, d->stack_text.length));
    int length = snprintf(id, sizeof id, "%s_%u", a->graph_id, number);
    csv_buffer_clear(&d->stack_id);
    TRY(csv_append_bytes(&d->stack_id, id, (size_t)length));
    if (!added) return status_ok();
    (void)sqlite3_bind_text(d->stack, 1, id, length, SQLITE_STATIC);
    (void)sqlite3_bind_text(d->stack, 2, d->stack_text.data, (int)d->stack_text.length,
                            SQLITE_STATIC);
    return step_statement(d, d->stack);
}

static struct status make_names(struct adding *a, uint32_t node)
{
    struct database *d = a->d;
    const struct model *model = &a->side->model;
    struct name_slice name = model_name(model, node);

    csv_buffer_clear(&d->id);
    csv_buffer_clear(&d->name);
    csv_buffer_clear(&d->parent);
    csv_buffer_clear(&d->children);
    TRY(csv_append_bytes(&d->id, a->graph_id, strlen(a->graph_id)));
    TRY(csv_append_bytes(&d->id, "_", 1));
    TRY(csv_append_bytes(&d->id, name.text, name.length));
    TRY(csv_append_bytes(&d->name, name.text, name.length));
    if (node != model->root) {
        struct name_slice parent = model_name(model, model->nodes[node].parent);
        TRY(csv_append_bytes(&d->parent, parent.text, parent.length));
    }
    if (model->nodes[node].first_child == NODE_NONE) return status_ok();
    return children_append(&d->children, model, node);
}

static struct status make_data(struct adding *a, uint32_t node)
{
    struct database *d = a->d;
    csv_buffer_clear(&d->link);
    csv_buffer_clear(&d->met);
    csv_buffer_clear(&d->input);
    csv_buffer_clear(&d->output);
    if (a->other) TRY(partner_path_append(&d->link, a->side, a->other, node));
    else TRY(csv_append_bytes(&d->link, "[]", 2));
    TRY(communications_append(&d->met, a->graph, a->bench, node));
    if (!d->met.length) TRY(csv_append_bytes(&d->met, "{}", 2));
    TRY(row_writer_append(&d->input, &a->rows, node, false, 0));
    return row_writer_append(&d->output, &a->rows, node, true, 0);
}

/* 0 and 1 are stored as integers, as the column is one by its type. */
static void bind_index(struct adding *a, uint32_t node)
{
    sqlite3_stmt *row = a->d->node;
    const struct node_index *index = a->bench || !a->graph->index ? NULL : &a->graph->index[node];
    if (!index || !index->known) (void)sqlite3_bind_null(row, PRECISION_INDEX);
    else (void)sqlite3_bind_double(row, PRECISION_INDEX, index->value);
}

static void bind_numbers(struct adding *a, uint32_t node)
{
    sqlite3_stmt *row = a->d->node;
    const char *level = overflow_level_name(graph_overflow(a->graph, a->bench, node));
    char type[8];

    (void)sqlite3_bind_int64(row, NODE_ORDER, a->order++);
    (void)snprintf(type, sizeof type, "%u", a->side->model.nodes[node].type);
    (void)sqlite3_bind_text(row, NODE_TYPE, type, -1, SQLITE_TRANSIENT);
    bind_index(a, node);
    if (level) bind_string(a->d, OVERFLOW_LEVEL, level);
    else (void)sqlite3_bind_null(row, OVERFLOW_LEVEL);
    (void)sqlite3_bind_int64(row, MICRO_STEP_ID, graph_micro_step(a->graph, a->bench, node));
    (void)sqlite3_bind_int(row, MODIFIED, 0);
    (void)sqlite3_bind_int64(row, STEP, a->step);
    (void)sqlite3_bind_int64(row, RANK, a->rank);
}

static struct status add_node(struct adding *a, uint32_t node)
{
    struct database *d = a->d;
    TRY(graph_check_watch(a->graph, a->order));
    TRY(make_names(a, node));
    TRY(make_data(a, node));
    TRY(add_stack(a, node));
    bind_text(d, ID, &d->id);
    bind_string(d, GRAPH_ID, a->graph_id);
    bind_text(d, NODE_NAME, &d->name);
    bind_text(d, UP_NODE, &d->parent);
    bind_text(d, SUB_NODES, &d->children);
    bind_numbers(a, node);
    bind_text(d, MATCHED_NODE_LINK, &d->link);
    bind_text(d, STACK_ID, &d->stack_id);
    const char *notes = node_merge_notes(a->side, node, NULL);
    bind_string(d, PARALLEL_MERGE_INFO, notes ? notes : "");
    bind_text(d, MATCHED_DISTRIBUTED, &d->met);
    bind_text(d, INPUT_DATA, &d->input);
    bind_text(d, OUTPUT_DATA, &d->output);
    bind_string(d, DATA_SOURCE, a->bench ? "Bench" : "NPU");
    if (*a->side->data_folder) bind_string(d, DUMP_DATA_DIR, a->side->data_folder);
    else (void)sqlite3_bind_null(d->node, DUMP_DATA_DIR);
    if (d->third)
        (void)sqlite3_bind_int(d->node, IS_DISTRIBUTED,
                               name_starts_with(model_name(&a->side->model, node), "Distributed"));
    return step_statement(d, d->node);
}

static struct status add_side(struct database *d, const struct graph *graph, bool bench,
                              unsigned step, unsigned rank)
{
    struct adding a = { .d = d,
                        .graph = graph,
                        .side = bench ? &graph->bench : &graph->npu,
                        .other = !graph->compared ? NULL
                                 : bench          ? &graph->npu
                                                  : &graph->bench,
                        .bench = bench,
                        .step = step,
                        .rank = rank };
    bool shows_checksums = graph->compared && graph_kind(graph) == DUMP_MD5;
    const struct model *model = &a.side->model;

    (void)snprintf(a.graph_id, sizeof a.graph_id, "%s_%u_%u", bench ? "Bench" : "NPU", step, rank);
    TRY(text_table_create(&a.stacks));
    row_writer_open(&a.rows, a.side, graph->compared && !bench ? &graph->comparison : NULL,
                    shows_checksums);
    struct status status = status_ok();
    for (uint32_t node = model_deepest_first(model, model->root); !status.code && node != NODE_NONE;
         node = model_after_children(model, node))
        status = add_node(&a, node);
    row_writer_close(&a.rows);
    text_table_release(&a.stacks);
    return status;
}

struct status database_add(struct database *database, const struct graph *graph, unsigned step,
                           unsigned rank)
{
    TRY(add_side(database, graph, false, step, rank));
    return graph->compared ? add_side(database, graph, true, step, rank) : status_ok();
}

/* ---- what is said once ------------------------------------------------------------------------------ */

static struct status append_numbers(struct csv_buffer *out, const unsigned *numbers, size_t count)
{
    char text[32];
    TRY(csv_append_bytes(out, "[", 1));
    for (size_t i = 0; i < count; i++) {
        int length = snprintf(text, sizeof text, "%s%u", i ? ", " : "", numbers[i]);
        TRY(csv_append_bytes(out, text, (size_t)length));
    }
    return csv_append_bytes(out, "]", 1);
}

struct config_texts {
    struct csv_buffer tips, colours, ranks, steps;
};

static struct status make_config(struct config_texts *t, const struct database_config *config)
{
    if (config->compared) {
        TRY(tool_tips_append(&t->tips, config->kind));
        TRY(colours_append(&t->colours, config->kind, config->generation));
    } else {
        TRY(csv_append_bytes(&t->colours, "null", 4));
    }
    TRY(append_numbers(&t->ranks, config->ranks, config->n_ranks));
    return append_numbers(&t->steps, config->steps, config->n_steps);
}

static struct status insert_config(struct database *d, const struct config_texts *t,
                                   const struct database_config *config)
{
    sqlite3_stmt *row;
    TRY(prepare(&row, d, "INSERT INTO tb_config VALUES ('1', ?, ?, ?, ?, ?, ?, ?, ?)"));
    (void)sqlite3_bind_text(row, 1, config->compared ? "compare" : "build", -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(row, 2, config->compared ? task_name(config->kind) : "", -1,
                            SQLITE_STATIC);
    if (config->compared)
        (void)sqlite3_bind_text(row, 3, t->tips.data, (int)t->tips.length, SQLITE_STATIC);
    (void)sqlite3_bind_int64(row, 4, config->micro_steps);
    (void)sqlite3_bind_int(row, 5, config->overflow_check);
    (void)sqlite3_bind_text(row, 6, t->colours.data, (int)t->colours.length, SQLITE_STATIC);
    (void)sqlite3_bind_text(row, 7, t->ranks.data, (int)t->ranks.length, SQLITE_STATIC);
    (void)sqlite3_bind_text(row, 8, t->steps.data, (int)t->steps.length, SQLITE_STATIC);
    struct status status = step_statement(d, row);
    (void)sqlite3_finalize(row);
    return status;
}

static struct status write_config(struct database *d, const struct database_config *config)
{
    struct config_texts texts = { .tips = { 0 } };
    struct status status = make_config(&texts, config);
    if (!status.code) status = insert_config(d, &texts, config);
    csv_buffer_release(&texts.tips);
    csv_buffer_release(&texts.colours);
    csv_buffer_release(&texts.ranks);
    csv_buffer_release(&texts.steps);
    return status;
}

struct status database_finish(struct database *database, const struct database_config *config)
{
    struct status status = write_config(database, config);
    if (!status.code) status = run(database, indexes);
    if (!status.code) status = run(database, schemas[database->third].indexes);
    if (!status.code) status = run(database, "COMMIT");
    (void)sqlite3_finalize(database->node);
    (void)sqlite3_finalize(database->stack);
    database->node = database->stack = NULL;
    if (!status.code) status = run(database, log_mode);
    if (!status.code && sqlite3_close(database->sqlite) != SQLITE_OK)
        status = failed(database, "close");
    if (!status.code) database->sqlite = NULL;
    status = new_file_end(&database->file, status);
    close_database(database);
    return status;
}

#else

bool database_available(void) { return false; }

struct status database_create(struct database **out, const char *path, enum generation generation)
{
    (void)path, (void)generation;
    *out = NULL;
    return status_error(STATUS_BAD_ARGUMENT,
                        "this build writes no databases: it was made without SQLite");
}

struct status database_add(struct database *database, const struct graph *graph, unsigned step,
                           unsigned rank)
{
    (void)database, (void)graph, (void)step, (void)rank;
    return status_ok();
}

struct status database_finish(struct database *database, const struct database_config *config)
{
    (void)database, (void)config;
    return status_ok();
}

void database_abandon(struct database *database) { (void)database; }

#endif
