/* A graph as it is shown: one rank built, or two compared.
 */
#ifndef PROBE_GRAPH_GRAPH_H
#define PROBE_GRAPH_GRAPH_H

#include "compare/dumps/comparison.h"
#include "formats/yaml_tree.h"
#include "graph/match.h"
#include "graph/match_file.h"
#include "graph/overflow.h"
#include "graph/precision.h"
#include "graph/side.h"

struct communications;
struct merged_rank;

struct graph_options {
    enum generation generation;
    enum match_rule rule;
    const struct yaml_document *layers; /* of MATCH_MAPPED: the mapping file; NULL: names agree */
    const struct match_file *by_hand;   /* wins over the rule; NULL: none */
    bool overflow_check;
    bool communications_only; /* compare only calls named "Distributed." */
    unsigned threads;         /* for tensors, at least 1 */
    struct file_policy file_policy;
    struct comparison_watch watch;
};

struct graph {
    struct graph_side npu, bench; /* bench is empty for a built graph */
    bool compared;
    struct comparison comparison; /* of a compared graph */
    struct dump_rows rows;        /* of a built graph */
    uint32_t by_hand;             /* matches of the file that apply */
    bool *by_hand_of;             /* by NPU node: has its partner from the file; NULL: no file */
    struct node_index *index;     /* by NPU node; NULL for a built graph */
    uint8_t *overflow[2];         /* by node of NPU and Bench: enum overflow_level; NULL without */
    struct comparison_watch watch;
    const char *folders[2]; /* of NPU and Bench, for readers of the page; NULL: not told */
    /* Set by whoever has several ranks: the number of this one, and the calls of all. NULL: alone. */
    const struct communications *communications;
    unsigned rank;
};

/* Build the graph of a rank folder, or compare two. `out` must stay where it is until graph_close;
 * empty on failure.
 *
 *   bench_folder  NULL: build
 *   errors        what reading reports; STATUS_BAD_INPUT for dumps of different kinds or, without a
 *                 mapping, of different frameworks; STATUS_INTERRUPTED by the watch */
struct status graph_open(struct graph *out, const char *npu_folder, const char *bench_folder,
                         const struct graph_options *options);

/* The same for ranks that were merged (merge.h), which must outlive the graph; `bench` is NULL to build.
 * They are matched as fuzzily as MATCH_MERGED says. */
struct status graph_open_merged(struct graph *out, struct merged_rank *npu,
                                struct merged_rank *bench, const struct graph_options *options);
void graph_close(struct graph *graph);

/* STATUS_INTERRUPTED when the watch says stop; asked by whoever walks over the nodes, with the number
 * of the node that it has come to. */
struct status graph_check_watch(const struct graph *graph, size_t node);

enum dump_kind graph_kind(const struct graph *graph);
enum overflow_level graph_overflow(const struct graph *graph, bool bench, uint32_t node);

/* Number of pages of the result. */
uint32_t graph_micro_steps(const struct graph *graph);

/* The page of a node: that of its partner for a Bench node; of one without partner the number at the
 * end of the name of its ancestor at the top level. */
uint32_t graph_micro_step(const struct graph *graph, bool bench, uint32_t node);

#endif
