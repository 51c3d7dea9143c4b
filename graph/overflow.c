/* Overflow levels of nodes, from the recorded statistics. */
#include "graph/overflow.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "compare/dumps/judge.h"
#include "compare/dumps/statistics.h"

const char *overflow_level_name(enum overflow_level level)
{
    static const char *const names[] = { NULL, "medium", "high", "critical" };
    return names[level];
}

/* What was found among the inputs or the outputs of a node. */
struct survey {
    bool abnormal, reported; /* an abnormal row; one that is not accepted */
    bool has_norm;
    double largest_norm;
};

static bool is_infinite_text(const struct dump_rows *dump, struct row_value value)
{
    if (value.kind != VALUE_IS_TEXT) return false;
    const char *text = dump_text(dump, value.text);
    return !strcasecmp(text + (*text == '-'), "inf");
}

/* Of a tensor: arguments that are none, such as the value of a mask, may be what they like. */
static bool is_abnormal(const struct dump_rows *dump, const struct dump_row *row)
{
    if (!row->is_tensor) return false;
    for (enum row_statistic s = STATISTIC_MAX; s <= STATISTIC_MEAN; s++) {
        double x;
        struct row_value value = dump_row_statistic(row, s);
        if (row_value_number(&x, dump, value) ? !isfinite(x) : is_infinite_text(dump, value))
            return true;
    }
    return false;
}

/* ---- what is not reported --------------------------------------------------------------------- */

/* Memory as it is, buffers that are still to be filled, masks with infinities: where an argument of
 * these is abnormal it is not reported, provided that nothing else is abnormal. */
static const struct accepted {
    const char *name; /* the first two parts, in lower case */
    const char *place,
        *keyword; /* of the argument: ".input.0" with all in it; by keyword, or NULL */
} accepted[] = {
    { "torch.empty", ".output.0", NULL },
    { "torch.empty_like", ".output.0", NULL },
    { "torch.empty_strided", ".output.0", NULL },
    { "distributed.recv", ".input.0", ".input.tensor" },
    { "distributed.all_gather", ".input.0", NULL },
    { "distributed.reduce_scatter", ".input.0", ".input.output" },
    { "distributed._reduce_scatter_base", ".input.0", NULL },
    { "distributed.all_gather_into_tensor", ".input.0", NULL },
    { "distributed.reduce_scatter_tensor", ".input.0", NULL },
    { "tensor.masked_fill_", ".input.0", NULL },
};

/* What may be abnormal in calls of this name; NULL: nothing. */
static const struct accepted *accepted_of(struct name_slice name)
{
    struct name_slice second = name_part(name, 1);
    size_t length = (size_t)(second.text - name.text) + second.length;
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++)
        if (strlen(accepted[i].name) == length && !strncasecmp(name.text, accepted[i].name, length))
            return &accepted[i];
    return NULL;
}

/* Is a row that place or something in it? */
static bool lies_at(const char *suffix, const char *place)
{
    size_t length = place ? strlen(place) : 0;
    return length && !strncmp(suffix, place, length) &&
           (suffix[length] == '\0' || suffix[length] == '.');
}

static void survey_row(struct survey *s, const struct dump_rows *dump, const struct dump_row *row,
                       const struct accepted *may)
{
    double norm;
    if (is_abnormal(dump, row)) {
        const char *suffix = dump_text(dump, row->suffix);
        s->abnormal = true;
        s->reported |= !may || !(lies_at(suffix, may->place) || lies_at(suffix, may->keyword));
    }
    if (!row->is_tensor) return;
    if (!row_value_number(&norm, dump, dump_row_statistic(row, STATISTIC_L2NORM))) return;
    if (!s->has_norm || norm > s->largest_norm) s->largest_norm = norm;
    s->has_norm = true;
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
    struct survey in = { .abnormal = false }, out = { .abnormal = false };
    const struct accepted *may = accepted_of(model_name(&side->model, node));

    for (uint32_t i = rows.first; i < rows.first + rows.count; i++) {
        const struct dump_row *row = &side->rows->rows[i];
        survey_row(row_is_output(row) ? &out : &in, side->rows, row, may);
    }
    if ((in.abnormal || out.abnormal) && !in.reported && !out.reported) return OVERFLOW_NONE;
    if (out.abnormal) return in.abnormal ? OVERFLOW_HIGH : OVERFLOW_CRITICAL;
    if (in.abnormal) return OVERFLOW_MEDIUM;
    return norm_explodes(&in, &out) ? OVERFLOW_HIGH : OVERFLOW_NONE;
}
