/* Overflow levels of nodes, from the recorded statistics. */
#include "graph/overflow.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "compare/dumps/judge.h"
#include "compare/dumps/statistics.h"

const char *overflow_level_name(enum overflow_level level)
{
    static const char *const names[] = { NULL, "medium", "high", "critical" };
    return names[level];
}

/* What was found among the inputs or the outputs of a node. */
struct survey {
    unsigned abnormal;   /* rows with nan or inf */
    bool first_abnormal; /* the first row is one of them */
    bool has_norm;
    double largest_norm;
};

static bool is_abnormal(const struct dump_rows *dump, const struct dump_row *row)
{
    for (enum row_statistic s = STATISTIC_MAX; s <= STATISTIC_MEAN; s++) {
        double x;
        if (row_value_number(&x, dump, dump_row_statistic(row, s)) && !isfinite(x)) return true;
    }
    return false;
}

static void survey_row(struct survey *s, const struct dump_rows *dump, const struct dump_row *row,
                       bool first)
{
    double norm;
    bool abnormal = is_abnormal(dump, row);
    s->abnormal += abnormal;
    s->first_abnormal |= abnormal && first;
    if (!row->is_tensor) return;
    if (!row_value_number(&norm, dump, dump_row_statistic(row, STATISTIC_L2NORM))) return;
    if (!s->has_norm || norm > s->largest_norm) s->largest_norm = norm;
    s->has_norm = true;
}

/* ---- what is not reported --------------------------------------------------------------------- */

/* Memory as it is, buffers that are still to be filled, masks with infinities: an abnormal first row
 * of these is not reported, provided that nothing else is abnormal. */
static const struct {
    const char *name; /* the first two parts, in lower case */
    bool outputs;
} accepted[] = {
    { "torch.empty", true },
    { "torch.empty_like", true },
    { "torch.empty_strided", true },
    { "distributed.recv", false },
    { "distributed.all_gather", false },
    { "distributed.reduce_scatter", false },
    { "distributed._reduce_scatter_base", false },
    { "distributed.all_gather_into_tensor", false },
    { "distributed.reduce_scatter_tensor", false },
    { "tensor.masked_fill_", false },
};

static bool name_is_accepted(struct name_slice name, bool outputs)
{
    struct name_slice second = name_part(name, 1);
    size_t length = (size_t)(second.text - name.text) + second.length;
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        if (accepted[i].outputs != outputs || strlen(accepted[i].name) != length) continue;
        size_t same = 0;
        while (same < length && tolower((unsigned char)name.text[same]) == accepted[i].name[same])
            same++;
        if (same == length) return true;
    }
    return false;
}

static bool is_accepted(struct name_slice name, const struct survey *in, const struct survey *out)
{
    if (name_is_accepted(name, true))
        return out->first_abnormal && out->abnormal == 1 && !in->abnormal;
    if (name_is_accepted(name, false))
        return in->first_abnormal && in->abnormal == 1 && !out->abnormal;
    return false;
}

/* ---- levels ------------------------------------------------------------------------------------- */

static bool norm_explodes(const struct survey *in, const struct survey *out)
{
    enum { GROWTH = 100 };
    if (!in->has_norm || !out->has_norm) return false;
    return out->largest_norm > GROWTH * (in->largest_norm == 0 ? 1 : in->largest_norm);
}

enum overflow_level overflow_of_node(const struct graph_side *side, uint32_t node)
{
    struct row_range rows = node_rows(side, node);
    struct survey in = { .abnormal = 0 }, out = { .abnormal = 0 };
    bool first_in = true, first_out = true;

    for (uint32_t i = rows.first; i < rows.first + rows.count; i++) {
        const struct dump_row *row = &side->rows->rows[i];
        bool is_output = row_is_output(row);
        survey_row(is_output ? &out : &in, side->rows, row, is_output ? first_out : first_in);
        *(is_output ? &first_out : &first_in) = false;
    }
    if ((in.abnormal || out.abnormal) && is_accepted(model_name(&side->model, node), &in, &out))
        return OVERFLOW_NONE;
    if (out.abnormal) return in.abnormal ? OVERFLOW_HIGH : OVERFLOW_CRITICAL;
    if (in.abnormal) return OVERFLOW_MEDIUM;
    return norm_explodes(&in, &out) ? OVERFLOW_HIGH : OVERFLOW_NONE;
}
