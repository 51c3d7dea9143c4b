/* What must be equal of two entries is one text, their group; the dtypes behind it make a variant of the
 * group. The walk matches variants, of which a group has as many as there are combinations of float
 * types in calls that are equal otherwise: mostly one or two. Which of them agree is found once. */
#include "compare/dumps/call_pairing.h"

#include <string.h>

#include "compare/dumps/queue_match.h"
#include "core/growing.h"
#include "core/memory.h"

struct variant {
    uint32_t group;
    uint32_t next; /* of the same group; ITEM_NONE */
    const struct dump_rows *dump;
    uint32_t entry; /* the first that is of it */
};

struct call_matching {
    const struct dump_pair *dumps;
    bool fuzzy;
    struct text_table groups, variant_texts;
    struct variant *variants;
    size_t room;
    uint32_t *first_of_group;
    uint32_t *npu, *bench; /* by entry: its variant */
    struct csv_buffer text;
    uint32_t *partner_first, *partner_list;
};

/* ---- texts ------------------------------------------------------------------------------ */

/* Which dtype counts in a group: one for all that may meet. */
static const char *group_dtype(const char *dtype)
{
    static const char *const halves[] = { "torch.float16", "Float16" };
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        if (dtypes_are_compatible(dtype, halves[i], false)) return halves[i];
    return dtype;
}

static bool row_has_structure(const struct dump_row *row)
{
    return row->state == STATE_INPUT || row->state == STATE_OUTPUT;
}

/* Texts of a dump hold no newline where they are names, and mean nothing else where they are not. */
static struct status append_line(struct csv_buffer *out, const char *text)
{
    TRY(csv_append_bytes(out, text, strlen(text)));
    return csv_append_bytes(out, "\n", 1);
}

static struct status append_row(struct call_matching *m, const struct dump_rows *dump,
                                const struct dump_row *row)
{
    size_t before = m->text.length;

    TRY(dump_row_append_name(&m->text, dump, row));
    if (m->fuzzy)
        m->text.length = before + name_drop_counter(m->text.data + before, m->text.length - before);
    TRY(csv_append_bytes(&m->text, "\n", 1));
    if (!row_has_structure(row)) return status_ok();
    TRY(append_line(&m->text, dump_text(dump, row->shape)));
    return append_line(&m->text, group_dtype(dump_text(dump, row->dtype)));
}

/* ---- variants --------------------------------------------------------------------------- */

static struct status find_variant(uint32_t *out, struct call_matching *m,
                                  const struct dump_rows *dump, uint32_t entry)
{
    const struct dump_row *row = &dump->rows[dump->entries[entry].first_row];
    const struct dump_row *end = row + dump->entries[entry].n_rows;
    uint32_t group, before = m->variant_texts.count;

    csv_buffer_clear(&m->text);
    for (const struct dump_row *at = row; at < end; at++) TRY(append_row(m, dump, at));
    TRY(csv_append_bytes(&m->text, "", 1));
    TRY(text_table_add(&group, NULL, &m->groups, m->text.data, m->text.length));
    for (const struct dump_row *at = row; at < end; at++)
        if (row_has_structure(at)) TRY(append_line(&m->text, dump_text(dump, at->dtype)));
    TRY(text_table_add(out, NULL, &m->variant_texts, m->text.data, m->text.length));
    if (m->variant_texts.count == before) return status_ok();
    TRY(array_make_room(&m->variants, &m->room, *out, sizeof *m->variants));
    m->variants[*out] = (struct variant){ group, ITEM_NONE, dump, entry };
    return status_ok();
}

static struct status number_entries(uint32_t **out, struct call_matching *m,
                                    const struct dump_rows *dump)
{
    size_t bytes = ((size_t)dump->n_entries + 1) * sizeof **out;
    uint32_t *numbers = *out = memory_allocate(bytes);

    if (!numbers) return status_no_memory(bytes);
    for (uint32_t entry = 0; entry < dump->n_entries; entry++) {
        numbers[entry] = ITEM_NONE;
        if (dump->entries[entry].n_rows) TRY(find_variant(&numbers[entry], m, dump, entry));
    }
    return status_ok();
}

/* ---- which agree ------------------------------------------------------------------------ */

static bool dtypes_agree(const char *a, const char *b)
{
    return !strcmp(a, b) || !strcmp(a, group_dtype(a)) || !strcmp(b, group_dtype(b));
}

/* Two variants of a group. */
static bool variants_agree(const struct variant *a, const struct variant *b)
{
    const struct dump_entry *x = &a->dump->entries[a->entry], *y = &b->dump->entries[b->entry];
    for (uint32_t i = 0; i < x->n_rows; i++) {
        const struct dump_row *p = &a->dump->rows[x->first_row + i];
        const struct dump_row *q = &b->dump->rows[y->first_row + i];
        if (row_has_structure(p) &&
            !dtypes_agree(dump_text(a->dump, p->dtype), dump_text(b->dump, q->dtype)))
            return false;
    }
    return true;
}

/* Count the partners of every variant, or list them where the counts say. */
static void for_each_partner(struct call_matching *m, bool list)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < m->variant_texts.count; v++) {
        if (!list) m->partner_first[v] = count;
        for (uint32_t w = m->first_of_group[m->variants[v].group]; w != ITEM_NONE;
             w = m->variants[w].next) {
            if (!variants_agree(&m->variants[v], &m->variants[w])) continue;
            if (list) m->partner_list[count] = w;
            count++;
        }
    }
    if (!list) m->partner_first[m->variant_texts.count] = count;
}

static struct status find_partners(struct call_matching *m)
{
    uint32_t n = m->variant_texts.count;
    size_t group_bytes = ((size_t)m->groups.count + 1) * sizeof *m->first_of_group;
    size_t first_bytes = ((size_t)n + 1) * sizeof *m->partner_first;

    m->first_of_group = memory_allocate(group_bytes);
    m->partner_first = memory_allocate(first_bytes);
    if (!m->first_of_group || !m->partner_first) return status_no_memory(group_bytes + first_bytes);
    memset(m->first_of_group, 0xff, group_bytes);
    for (uint32_t v = n; v-- > 0;) {
        m->variants[v].next = m->first_of_group[m->variants[v].group];
        m->first_of_group[m->variants[v].group] = v;
    }
    for_each_partner(m, false);
    size_t list_bytes = ((size_t)m->partner_first[n] + 1) * sizeof *m->partner_list;
    m->partner_list = memory_allocate(list_bytes);
    if (!m->partner_list) return status_no_memory(list_bytes);
    for_each_partner(m, true);
    return status_ok();
}

/* ---- pairs ------------------------------------------------------------------------------ */

/* Rows of two entries that agree; one that cannot be compared stays alone. */
static struct status join_rows(struct pairing *out, struct call_matching *m, uint32_t npu,
                               uint32_t bench)
{
    const struct dump_rows *n = m->dumps->npu, *b = m->dumps->bench;
    uint32_t row = n->entries[npu].first_row, partner = b->entries[bench].first_row;

    for (uint32_t i = 0; i < n->entries[npu].n_rows; i++, row++, partner++) {
        if (n->rows[row].fault || b->rows[partner].fault) continue;
        pairing_join(out, row, partner);
        if (m->fuzzy) TRY(pairing_note_renamed(out, m->dumps, &m->text, row));
    }
    return status_ok();
}

static struct status match(struct pairing *out, struct call_matching *m)
{
    const struct dump_rows *npu = m->dumps->npu, *bench = m->dumps->bench;

    TRY(pairing_start(out, m->dumps));
    TRY(text_table_create(&m->groups));
    TRY(text_table_create(&m->variant_texts));
    TRY(number_entries(&m->npu, m, npu));
    TRY(number_entries(&m->bench, m, bench));
    TRY(find_partners(m));
    const struct queue_side npu_side = { m->npu, npu->n_entries };
    const struct queue_side bench_side = { m->bench, bench->n_entries };
    const struct key_partners partners = { m->partner_first, m->partner_list };
    size_t bytes = ((size_t)npu->n_entries + 1) * sizeof(uint32_t);
    uint32_t *met = memory_allocate(bytes);
    if (!met) return status_no_memory(bytes);
    struct status status =
        queues_match(met, &npu_side, &bench_side, m->variant_texts.count, &partners);
    for (uint32_t entry = 0; entry < npu->n_entries && !status.code; entry++)
        if (met[entry] != ITEM_NONE) status = join_rows(out, m, entry, met[entry]);
    memory_release(met);
    return status;
}

struct status pairing_by_call(struct pairing *out, const struct dump_pair *dumps, bool fuzzy)
{
    struct call_matching m = { .dumps = dumps, .fuzzy = fuzzy };
    struct status status = match(out, &m);

    if (m.groups.slots) text_table_release(&m.groups);
    if (m.variant_texts.slots) text_table_release(&m.variant_texts);
    memory_release(m.variants);
    memory_release(m.first_of_group);
    memory_release(m.npu);
    memory_release(m.bench);
    memory_release(m.partner_first);
    memory_release(m.partner_list);
    csv_buffer_release(&m.text);
    if (status.code) pairing_release(out);
    return status;
}
