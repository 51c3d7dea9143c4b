/* Which row of the Bench dump stands against which row of the NPU dump.
 *
 * A rule gives every row a key; rows with equal keys and equal shapes are partners, the k-th of a key
 * on one side with the k-th on the other. The keys are the names themselves, or the names as a
 * mapping translates them. Everything here takes time linear in the number of rows.
 */
#ifndef PROBE_COMPARE_DUMPS_PAIRING_H
#define PROBE_COMPARE_DUMPS_PAIRING_H

#include "compare/dumps/dump_rows.h"

#define ROW_NONE UINT32_MAX

struct dump_pair {
    const struct dump_rows *npu, *bench;
    bool cross_framework; /* a PyTorch Bench in a MindSpore comparison: dtypes meet by kind */
};

/* The key of a row, appended to `out`; *abandoned when the row is to have no partner. */
typedef struct status row_key(struct csv_buffer *out, bool *abandoned, const struct dump_rows *dump,
                              uint32_t row, void *context);

struct pairing_rule {
    row_key *npu_key, *bench_key; /* NULL: the name */
    void *context;                /* of both */
    bool any_shape;               /* neither shape nor dtype is looked at */
    bool shared_bench;            /* a Bench row may have several partners */
};

struct pairing {
    uint32_t *bench_of; /* by NPU row; ROW_NONE */
    bool *renamed;      /* by NPU row: fuzzy matching joined different names */
    uint32_t n_matched;
    uint32_t n_bench_only;
    bool *bench_taken; /* by Bench row */
};

/* No row has a partner yet. End with pairing_release, on failure too. */
struct status pairing_start(struct pairing *out, const struct dump_pair *dumps);

/* Equal keys. */
struct status pairing_by_key(struct pairing *out, const struct dump_pair *dumps,
                             const struct pairing_rule *rule);

/* Fuzzy: names without call counters, in order, by the walk of queue_match.h. `rule` may translate the
 * names first. */
struct status pairing_fuzzy(struct pairing *out, const struct dump_pair *dumps,
                            const struct pairing_rule *rule);

/* For those who pair rows by a rule of their own: make two rows partners; take a Bench row that gets none;
 * note whether the names of a row and its partner differ (`scratch` is overwritten). */
void pairing_join(struct pairing *out, uint32_t npu, uint32_t bench);
void pairing_take_bench(struct pairing *out, uint32_t bench);
struct status pairing_note_renamed(struct pairing *out, const struct dump_pair *dumps,
                                   struct csv_buffer *scratch, uint32_t npu);

void pairing_release(struct pairing *pairing);

/* May values of these dtypes be compared (section 6.1 of the comparison's rules)? */
bool dtypes_are_compatible(const char *npu, const char *bench, bool cross_framework);

/* Without the counter of the call: "Functional.conv2d.3.forward.input.0" becomes
 * "Functional.conv2d.forward.input.0", "Module.a.Linear.forward.2.input.0" loses the 2. In place; the
 * new length. */
size_t name_drop_counter(char *name, size_t length);

#endif
