/* Pairs by hashed keys: equal ones in order, or, for the fuzzy rule, through two queues. */
#include "compare/dumps/pairing.h"

#include <ctype.h>
#include <string.h>

#include "compare/dumps/queue_match.h"
#include "core/memory.h"

/* ---- dtypes ----------------------------------------------------------------------------- */

/* Spellings of dtypes. `lenient`: float types of one family that may meet each other; `kind`: what
 * counts when the sides are of different frameworks. */
enum { FAMILY_NONE, FAMILY_MINDSPORE, FAMILY_TORCH };
static const struct dtype_row {
    const char *name;
    int lenient;
    char kind; /* i, f, b, c */
} dtypes[] = {
    { "Float16", FAMILY_MINDSPORE, 'f' },
    { "Float32", FAMILY_MINDSPORE, 'f' },
    { "BFloat16", FAMILY_MINDSPORE, 'f' },
    { "Float64", FAMILY_NONE, 'f' },
    { "Int8", FAMILY_NONE, 'i' },
    { "Int16", FAMILY_NONE, 'i' },
    { "Int32", FAMILY_NONE, 'i' },
    { "Int64", FAMILY_NONE, 'i' },
    { "UInt8", FAMILY_NONE, 'i' },
    { "UInt16", FAMILY_NONE, 'i' },
    { "UInt32", FAMILY_NONE, 'i' },
    { "UInt64", FAMILY_NONE, 'i' },
    { "Bool", FAMILY_NONE, 'b' },
    { "Complex64", FAMILY_NONE, 'c' },
    { "Complex128", FAMILY_NONE, 'c' },
    { "torch.float16", FAMILY_TORCH, 'f' },
    { "torch.float32", FAMILY_TORCH, 'f' },
    { "torch.bfloat16", FAMILY_TORCH, 'f' },
    { "torch.float64", FAMILY_NONE, 'f' },
    { "torch.int8", FAMILY_NONE, 'i' },
    { "torch.int16", FAMILY_NONE, 'i' },
    { "torch.int32", FAMILY_NONE, 'i' },
    { "torch.int64", FAMILY_NONE, 'i' },
    { "torch.uint8", FAMILY_NONE, 'i' },
    { "torch.uint16", FAMILY_NONE, 'i' },
    { "torch.uint32", FAMILY_NONE, 'i' },
    { "torch.uint64", FAMILY_NONE, 'i' },
    { "torch.bool", FAMILY_NONE, 'b' },
    { "torch.complex64", FAMILY_NONE, 'c' },
    { "torch.complex128", FAMILY_NONE, 'c' },
};

static const struct dtype_row *find_dtype(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(dtypes[i].name, name)) return &dtypes[i];
    return NULL;
}

bool dtypes_are_compatible(const char *npu, const char *bench, bool cross_framework)
{
    if (!strcmp(npu, bench)) return true;
    const struct dtype_row *a = find_dtype(npu), *b = find_dtype(bench);
    if (!a || !b) return false;
    if (cross_framework) return a->kind == b->kind;
    return a->lenient != FAMILY_NONE && a->lenient == b->lenient;
}

/* ---- names without counters ------------------------------------------------------------- */

/* Remove the part of a name that starts at `start` and the dot before it. */
static size_t remove_part(char *name, size_t length, size_t start, size_t end)
{
    memmove(name + start - 1, name + end, length - end);
    return length - (end - start) - 1;
}

static bool is_module(const char *name, size_t length)
{
    return (length > 7 && !memcmp(name, "Module.", 7)) || (length > 5 && !memcmp(name, "Cell.", 5));
}

/* Where the part `word` of a dotted name begins; `length` when it has none. */
static size_t find_part(const char *name, size_t length, const char *word)
{
    size_t bytes = strlen(word);
    for (size_t start = 0, end; start < length; start = end + 1) {
        const char *dot = memchr(name + start, '.', length - start);
        end = dot ? (size_t)(dot - name) : length;
        if (end - start == bytes && !memcmp(name + start, word, bytes)) return start;
    }
    return length;
}

size_t name_drop_counter(char *name, size_t length)
{
    size_t word = strlen("forward"), at = find_part(name, length, "forward");
    if (at == length) {
        word = strlen("backward");
        at = find_part(name, length, "backward");
    }
    if (at == length || at < 2) return length;
    if (is_module(name, length)) {
        /* .forward.2.input: the counter stands behind the direction. */
        size_t start = at + word + 1, end = start;
        while (end < length && isdigit((unsigned char)name[end])) end++;
        bool whole = end > start && (end == length || name[end] == '.');
        return whole ? remove_part(name, length, start, end) : length;
    }
    char *dot = memrchr(name, '.', at - 1);
    return dot ? remove_part(name, length, (size_t)(dot - name) + 1, at - 1) : length;
}

/* ---- keys ------------------------------------------------------------------------------- */

struct matching {
    const struct dump_pair *dumps;
    const struct pairing_rule *rule;
    bool fuzzy;
    struct text_table keys;
    uint32_t *npu_key, *bench_key; /* by row: the number of its key; ROW_NONE takes no part */
    struct csv_buffer text;
};

static void *allocate_numbers(uint32_t count)
{
    return memory_allocate(((size_t)count + 1) * sizeof(uint32_t));
}

/* The key of a row and its shape, as one text. */
static struct status append_key(bool *abandoned, struct matching *m, const struct dump_rows *dump,
                                uint32_t row, row_key *key)
{
    csv_buffer_clear(&m->text);
    *abandoned = dump->rows[row].fault != FAULT_NONE;
    if (*abandoned) return status_ok();
    if (key) TRY(key(&m->text, abandoned, dump, row, m->rule->context));
    else TRY(dump_row_append_name(&m->text, dump, &dump->rows[row]));
    if (*abandoned) return status_ok();
    if (m->fuzzy) m->text.length = name_drop_counter(m->text.data, m->text.length);
    if (m->rule->any_shape) return status_ok();
    const char *shape = dump_text(dump, dump->rows[row].shape);
    TRY(csv_append_bytes(&m->text, "\n", 1)); /* in no name */
    return csv_append_bytes(&m->text, shape, strlen(shape));
}

static struct status number_rows(uint32_t **out, struct matching *m, const struct dump_rows *dump,
                                 row_key *key)
{
    bool abandoned;
    uint32_t *numbers = *out = allocate_numbers(dump->n_rows);

    if (!numbers) return status_no_memory(dump->n_rows * sizeof *numbers);
    for (uint32_t row = 0; row < dump->n_rows; row++) {
        TRY(append_key(&abandoned, m, dump, row, key));
        numbers[row] = ROW_NONE;
        if (!abandoned)
            TRY(text_table_add(&numbers[row], NULL, &m->keys, m->text.data, m->text.length));
    }
    return status_ok();
}

/* ---- the result ------------------------------------------------------------------------- */

struct status pairing_start(struct pairing *out, const struct dump_pair *dumps)
{
    *out = (struct pairing){ 0 };
    out->bench_of = allocate_numbers(dumps->npu->n_rows);
    out->renamed = memory_allocate_zeroed((size_t)dumps->npu->n_rows + 1, sizeof *out->renamed);
    out->bench_taken =
        memory_allocate_zeroed((size_t)dumps->bench->n_rows + 1, sizeof *out->bench_taken);
    if (!out->bench_of || !out->renamed || !out->bench_taken)
        return status_no_memory(dumps->npu->n_rows * sizeof *out->bench_of);
    memset(out->bench_of, 0xff, dumps->npu->n_rows * sizeof *out->bench_of);
    out->n_bench_only = dumps->bench->n_rows;
    return status_ok();
}

void pairing_release(struct pairing *pairing)
{
    memory_release(pairing->bench_of);
    memory_release(pairing->renamed);
    memory_release(pairing->bench_taken);
    *pairing = (struct pairing){ 0 };
}

void pairing_take_bench(struct pairing *out, uint32_t bench)
{
    out->n_bench_only -= !out->bench_taken[bench];
    out->bench_taken[bench] = true;
}

void pairing_join(struct pairing *out, uint32_t npu, uint32_t bench)
{
    pairing_take_bench(out, bench);
    out->bench_of[npu] = bench;
    out->n_matched++;
}

/* Rows with equal keys are partners unless their dtypes do not go together. */
static void join(struct pairing *out, const struct matching *m, uint32_t npu, uint32_t bench)
{
    const struct dump_pair *dumps = m->dumps;
    if (m->rule->any_shape ||
        dtypes_are_compatible(dump_text(dumps->npu, dumps->npu->rows[npu].dtype),
                              dump_text(dumps->bench, dumps->bench->rows[bench].dtype),
                              dumps->cross_framework))
        pairing_join(out, npu, bench);
    else pairing_take_bench(out, bench);
}

/* The k-th row of a key with the k-th: first[key] is the next Bench row to be had, next[row] the one
 * behind it. */
static struct status join_equal_keys(struct pairing *out, const struct matching *m)
{
    uint32_t n_bench = m->dumps->bench->n_rows;
    uint32_t *first = allocate_numbers(m->keys.count), *next = allocate_numbers(n_bench);
    bool complete = first && next;

    if (complete) memset(first, 0xff, m->keys.count * sizeof *first);
    for (uint32_t row = complete ? n_bench : 0; row-- > 0;) {
        uint32_t key = m->bench_key[row];
        if (key == ROW_NONE) continue;
        next[row] = first[key];
        first[key] = row;
    }
    for (uint32_t row = 0; complete && row < m->dumps->npu->n_rows; row++) {
        uint32_t key = m->npu_key[row];
        if (key == ROW_NONE || first[key] == ROW_NONE) continue;
        uint32_t bench = first[key];
        if (!m->rule->shared_bench) first[key] = next[bench];
        join(out, m, row, bench);
    }
    memory_release(first);
    memory_release(next);
    return complete ? status_ok() : status_no_memory(n_bench * sizeof *next);
}

/* ---- fuzzy ------------------------------------------------------------------------------ */

struct status pairing_note_renamed(struct pairing *out, const struct dump_pair *dumps,
                                   struct csv_buffer *scratch, uint32_t npu)
{
    const struct dump_row *bench = &dumps->bench->rows[out->bench_of[npu]];
    csv_buffer_clear(scratch);
    TRY(dump_row_append_name(scratch, dumps->npu, &dumps->npu->rows[npu]));
    size_t length = scratch->length;
    TRY(dump_row_append_name(scratch, dumps->bench, bench));
    out->renamed[npu] = scratch->length != 2 * length ||
                        memcmp(scratch->data, scratch->data + length, length) != 0;
    return status_ok();
}

/* The queues meet by keys; whether dtypes go together is looked at afterwards. */
static struct status join_in_order(struct pairing *out, struct matching *m)
{
    const struct queue_side npu = { m->npu_key, m->dumps->npu->n_rows };
    const struct queue_side bench = { m->bench_key, m->dumps->bench->n_rows };
    uint32_t *met = allocate_numbers(npu.count);

    if (!met) return status_no_memory(npu.count * sizeof *met);
    struct status status = queues_match(met, &npu, &bench, m->keys.count, NULL);
    for (uint32_t row = 0; row < npu.count && !status.code; row++) {
        if (met[row] == ITEM_NONE) continue;
        join(out, m, row, met[row]);
        if (out->bench_of[row] != ROW_NONE)
            status = pairing_note_renamed(out, m->dumps, &m->text, row);
    }
    memory_release(met);
    return status;
}

/* ---- both ------------------------------------------------------------------------------- */

static struct status match(struct pairing *out, struct matching *m)
{
    const struct dump_pair *dumps = m->dumps;

    TRY(pairing_start(out, dumps));
    TRY(text_table_create(&m->keys));
    TRY(number_rows(&m->bench_key, m, dumps->bench, m->rule->bench_key));
    TRY(number_rows(&m->npu_key, m, dumps->npu, m->rule->npu_key));
    return m->fuzzy ? join_in_order(out, m) : join_equal_keys(out, m);
}

static struct status match_all(struct pairing *out, const struct dump_pair *dumps,
                               const struct pairing_rule *rule, bool fuzzy)
{
    struct matching m = { .dumps = dumps, .rule = rule, .fuzzy = fuzzy };
    struct status status = match(out, &m);
    if (m.keys.slots) text_table_release(&m.keys);
    memory_release(m.npu_key);
    memory_release(m.bench_key);
    csv_buffer_release(&m.text);
    if (status.code) pairing_release(out);
    return status;
}

struct status pairing_by_key(struct pairing *out, const struct dump_pair *dumps,
                             const struct pairing_rule *rule)
{
    return match_all(out, dumps, rule, false);
}

struct status pairing_fuzzy(struct pairing *out, const struct dump_pair *dumps,
                            const struct pairing_rule *rule)
{
    return match_all(out, dumps, rule, true);
}
