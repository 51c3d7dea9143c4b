/* The sequence of a merge: read, group, collections, pipelines, tensors, write. */
#include "graph/merge.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/dumps/dump_reader.h"
#include "core/memory.h"
#include "graph/merge_pipeline.h"
#include "graph/merge_tensor.h"
#include "graph/merge_text.h"
#include "graph/parallel_groups.h"

/* A rank as it was read. */
struct read_rank {
    struct graph_side side;
    struct dump_rows rows;
    bool is_open;
};

struct merging {
    const struct parallel_layout *layout;
    uint32_t n;
    struct read_rank *read;
    struct merge_rank *ranks;
    struct rank_side *sides;
    struct rank_groups pipelines, tensors;
    struct merge_forest forest;
    uint32_t *stages;  /* pipeline after pipeline: indices of ranks */
    uint32_t *partner; /* by rank: the ranks that hold shares of its tensors, itself first */
};

/* ---- reading ------------------------------------------------------------------------------------ */

static struct status read_rank(struct merging *m, uint32_t i, const struct rank_folder *folder,
                               struct file_policy policy)
{
    char path[PATH_MAX];
    struct read_rank *r = &m->read[i];
    int length = snprintf(path, sizeof path, "%s/dump.json", folder->path);
    if (length < 0 || length >= PATH_MAX)
        return status_error(STATUS_BAD_INPUT, "'%s' is too long a path",
                            file_shown(folder->path).text);
    TRY(dump_rows_open(&r->rows, path, policy));
    r->is_open = true;
    if (r->rows.kind != DUMP_STATISTICS)
        return status_error(STATUS_BAD_INPUT,
                            "%s: only dumps of statistics are merged (parallel_merge)",
                            file_shown(path).text);
    if (i && r->rows.framework != m->read[0].rows.framework)
        return status_error(STATUS_BAD_INPUT, "%s: it is of another framework than that of rank %u",
                            file_shown(path).text, m->ranks[0].rank);
    TRY(graph_side_open(&r->side, folder->path, &r->rows, policy));
    struct merge_rank *rank = &m->ranks[i];
    *rank = (struct merge_rank){ .rank = folder->rank, .side = &r->side, .rows = &r->rows };
    m->sides[i] = (struct rank_side){ folder->rank, &r->side };
    rank->changed = memory_allocate_zeroed((size_t)r->rows.n_rows + 1, sizeof *rank->changed);
    if (!rank->changed) return status_no_memory(r->rows.n_rows);
    return side_find_records(&rank->places, &r->side, "");
}

static struct status read_ranks(struct merging *m, const struct rank_folder *folders,
                                struct file_policy policy)
{
    m->read = memory_allocate_zeroed(m->n, sizeof *m->read);
    m->ranks = memory_allocate_zeroed(m->n, sizeof *m->ranks);
    m->sides = memory_allocate_zeroed(m->n, sizeof *m->sides);
    if (!m->read || !m->ranks || !m->sides) return status_no_memory(m->n * sizeof *m->read);
    for (uint32_t i = 0; i < m->n; i++) TRY(read_rank(m, i, &folders[i], policy));
    return status_ok();
}

/* ---- groups ------------------------------------------------------------------------------------- */

static uint32_t index_of(const struct merging *m, unsigned rank)
{
    uint32_t i = 0;
    while (i < m->n && m->ranks[i].rank != rank) i++;
    return i;
}

/* The pipeline that a rank is the first of; its number, or the count of them. */
static uint32_t pipeline_from(const struct merging *m, uint32_t rank)
{
    uint32_t i = 0;
    while (i < m->pipelines.count && m->stages[i * m->pipelines.size] != rank) i++;
    return i;
}

static struct status find_groups(struct merging *m)
{
    TRY(pipeline_groups(&m->pipelines, m->layout, m->sides));
    TRY(tensor_groups(&m->tensors, m->layout, m->sides));
    m->stages = memory_allocate(m->n * sizeof *m->stages);
    m->partner = memory_allocate((size_t)m->n * m->tensors.size * sizeof *m->partner);
    if (!m->stages || !m->partner) return status_no_memory(m->n * sizeof *m->stages);
    for (uint32_t i = 0; i < m->n; i++) m->stages[i] = index_of(m, m->pipelines.ranks[i]);
    return status_ok();
}

/* One graph of the result: trees, each of which a pipeline leaves, that hold shares of tensors. */
struct whole {
    uint32_t *trees; /* first ranks of pipelines (indices) */
    uint32_t count;
};

/* The ranks of tensor group `group` from which pipelines start. */
static void find_trees(struct whole *out, const struct merging *m, uint32_t group)
{
    out->count = 0;
    for (uint32_t i = 0; i < m->tensors.size; i++) {
        uint32_t rank = index_of(m, m->tensors.ranks[group * m->tensors.size + i]);
        if (pipeline_from(m, rank) < m->pipelines.count) out->trees[out->count++] = rank;
    }
}

/* Every stage of the first tree's pipeline shares its tensors with that stage of the others. */
static void find_partners(struct merging *m, const struct whole *whole)
{
    uint32_t size = m->pipelines.size, first = pipeline_from(m, whole->trees[0]);
    for (uint32_t stage = 0; stage < size; stage++)
        for (uint32_t i = 0; i < whole->count; i++) {
            uint32_t pipeline = pipeline_from(m, whole->trees[i]);
            m->partner[m->stages[first * size + stage] * whole->count + i] =
                m->stages[pipeline * size + stage];
        }
}

/* ---- calls between modules ---------------------------------------------------------------------- */

/* Put the collection of a rank into `all`: "Apis_Between_Modules.2" becomes
 * "Apis_Between_Modules_Rank3.2", calls of other ranks than the first get theirs. */
static struct status move_collection(struct merging *m, uint32_t all, uint32_t collection,
                                     bool is_first_rank)
{
    char name[96];
    struct merge_forest *f = &m->forest;
    struct name_slice number = name_part_from_end(merge_first_name(f, collection), 1);
    int length = snprintf(name, sizeof name, "Apis_Between_Modules_Rank%u.%.*s",
                          m->ranks[f->nodes[collection].rank].rank,
                          (int)(number.length < 16 ? number.length : 16), number.text);
    TRY(merge_rename(f, collection, name, (size_t)length));
    model_detach(&f->tree, collection);
    model_attach(&f->tree, all, collection);
    for (uint32_t call = f->tree.nodes[collection].first_child; !is_first_rank && call != NODE_NONE;
         call = f->tree.nodes[call].next)
        TRY(merge_mark_rank(f, call));
    return status_ok();
}

static bool is_loose_collection(const struct merge_forest *f, uint32_t node, uint32_t root)
{
    return f->tree.nodes[node].type == NODE_COLLECTION && f->tree.nodes[node].parent == root &&
           f->nodes[node].origin != NODE_NONE;
}

/* Collections of all ranks that have one of this name, in the place of the first's. */
static struct status join_collections(struct merging *m, const uint32_t *ranks, uint32_t count,
                                      uint32_t collection, unsigned number)
{
    char name[64];
    uint32_t all, root = m->forest.roots[ranks[0]];
    struct merge_forest *f = &m->forest;
    char first_name[NAME_BUFFER];
    struct name_slice first = merge_first_name(f, collection);
    memcpy(first_name, first.text, first.length);
    first.text = first_name;
    (void)snprintf(name, sizeof name, "Apis_Between_Modules_All_Ranks.%u", number);
    TRY(merge_add(&all, f, f->nodes[collection].rank, NODE_COLLECTION, name));
    if (all == NODE_NONE) return status_ok();
    f->tree.nodes[all].micro_step = f->tree.nodes[collection].micro_step;
    if (f->tree.nodes[collection].parent == root) model_attach_before(&f->tree, collection, all);
    else model_attach(&f->tree, root, all);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t same = merge_find(f, ranks[i], first);
        if (same != NODE_NONE && is_loose_collection(f, same, f->roots[ranks[i]]))
            TRY(move_collection(m, all, same, i == 0));
    }
    return status_ok();
}

static struct status merge_collections(struct merging *m, const uint32_t *ranks, uint32_t count)
{
    unsigned number = 0;
    const struct merge_forest *f = &m->forest;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next, root = f->roots[ranks[i]];
        for (uint32_t node = f->tree.nodes[root].first_child; node != NODE_NONE; node = next) {
            next = f->tree.nodes[node].next;
            if (is_loose_collection(f, node, root))
                TRY(join_collections(m, ranks, count, node, number++));
        }
    }
    return status_ok();
}

/* ---- one graph ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* All ranks of a graph, that of its first tree in front, the others by number. */
static uint32_t list_ranks(uint32_t *out, const struct merging *m, const struct whole *whole)
{
    uint32_t count = 0, size = m->pipelines.size;
    for (uint32_t i = 0; i < whole->count; i++) {
        uint32_t pipeline = pipeline_from(m, whole->trees[i]);
        for (uint32_t stage = 0; stage < size; stage++)
            out[count++] = m->stages[pipeline * size + stage];
    }
    qsort(out + 1, count - 1, sizeof *out, by_number);
    return count;
}

static struct status merge_whole(struct merged_rank *out, struct merging *m,
                                 const struct whole *whole, uint32_t *scratch)
{
    uint32_t size = m->pipelines.size;
    TRY(merge_collections(m, scratch, list_ranks(scratch, m, whole)));
    for (uint32_t i = 0; size > 1 && i < whole->count; i++)
        TRY(merge_pipeline(&m->forest, m->stages + pipeline_from(m, whole->trees[i]) * size, size,
                           m->layout->vpp));
    find_partners(m, whole);
    if (whole->count > 1) TRY(merge_tensor(&m->forest, whole->trees, whole->count, m->partner));
    out->rank = m->ranks[whole->trees[0]].rank;
    return merge_text_write(&out->parts, &m->forest, whole->trees[0]);
}

static struct status merge_all(struct merged_ranks *out, struct merging *m)
{
    uint32_t *memory = memory_allocate(2 * (size_t)m->n * sizeof *memory);
    if (!memory) return status_no_memory(m->n * sizeof *memory);
    struct whole whole = { .trees = memory };
    struct status status = merge_forest_open(&m->forest, m->ranks, m->n);
    for (uint32_t group = 0; !status.code && group < m->tensors.count; group++) {
        find_trees(&whole, m, group);
        if (whole.count) status = merge_whole(&out->items[out->count++], m, &whole, memory + m->n);
    }
    memory_release(memory);
    return status;
}

/* ---- the sequence ------------------------------------------------------------------------------- */

static struct status run(struct merged_ranks *out, struct merging *m,
                         const struct rank_folder *folders, struct file_policy policy)
{
    TRY(read_ranks(m, folders, policy));
    TRY(find_groups(m));
    out->items = memory_allocate_zeroed(m->n, sizeof *out->items);
    if (!out->items) return status_no_memory(m->n * sizeof *out->items);
    return merge_all(out, m);
}

static void release(struct merging *m)
{
    merge_forest_close(&m->forest);
    rank_groups_release(&m->pipelines);
    rank_groups_release(&m->tensors);
    for (uint32_t i = 0; m->read && i < m->n; i++) {
        graph_side_close(&m->read[i].side);
        if (m->read[i].is_open) dump_rows_close(&m->read[i].rows);
    }
    for (uint32_t i = 0; m->ranks && i < m->n; i++) {
        memory_release(m->ranks[i].changed);
        memory_release(m->ranks[i].places);
    }
    memory_release(m->read);
    memory_release(m->ranks);
    memory_release(m->sides);
    memory_release(m->stages);
    memory_release(m->partner);
}

struct status merged_ranks_open(struct merged_ranks *out, const struct rank_folder *folders,
                                const struct parallel_layout *layout, struct file_policy policy)
{
    struct merging m = { .layout = layout, .n = layout->rank_size };
    *out = (struct merged_ranks){ .items = NULL };
    struct status status = run(out, &m, folders, policy);
    release(&m);
    if (status.code) merged_ranks_close(out);
    return status;
}

void merged_ranks_close(struct merged_ranks *merged)
{
    for (uint32_t i = 0; i < merged->count; i++) side_parts_release(&merged->items[i].parts);
    memory_release(merged->items);
    *merged = (struct merged_ranks){ .items = NULL };
}
