/* Indices of nodes, and the colours of ranges of them. */
#include "graph/precision.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "compare/dumps/judge.h"
#include "compare/dumps/statistics.h"

/* ---- indices ------------------------------------------------------------------------------ */

struct node_view {
    const struct graph_side *npu;
    const struct comparison *c;
    struct row_range rows;
    bool same_is_right; /* inf and nan that Bench has, too */
};

static const struct dump_row *row_at(const struct node_view *v, uint32_t i)
{
    return &v->c->npu.rows[v->rows.first + i];
}

static bool is_output(const struct node_view *v, uint32_t i)
{
    return row_is_shown_as_output(v->npu, v->rows.first + i);
}

static const struct dump_row *partner_of(const struct node_view *v, uint32_t i)
{
    return comparison_bench_row(v->c, v->rows.first + i);
}

/* A row without Max holds nothing that was measured. */
static bool has_max(const struct dump_row *row)
{
    return !row->is_null && row->statistic_kind[STATISTIC_MAX] != VALUE_IS_NONE;
}

static bool either_has_non_finite(const struct node_view *v, uint32_t i)
{
    const struct dump_row *partner = partner_of(v, i);
    return row_has_non_finite(&v->c->npu, row_at(v, i)) ||
           (partner && row_has_non_finite(&v->c->bench, partner));
}

static bool row_is_abnormal(const struct node_view *v, uint32_t i)
{
    struct statistic_difference d[ROW_STATISTICS];
    if (!v->same_is_right || !partner_of(v, i)) return row_has_non_finite(&v->c->npu, row_at(v, i));
    if (!either_has_non_finite(v, i)) return false;
    statistics_compare(d, &v->c->npu, row_at(v, i), &v->c->bench, partner_of(v, i), true);
    return d[STATISTIC_MAX].non_finite_differs || d[STATISTIC_MIN].non_finite_differs;
}

/* Does the NPU have nan or inf where it is asked for? With `same_is_right`: do the sides differ in them? */
static bool is_abnormal(const struct node_view *v, bool outputs)
{
    for (uint32_t i = 0; i < v->rows.count; i++)
        if (is_output(v, i) == outputs && has_max(row_at(v, i)) && row_is_abnormal(v, i))
            return true;
    return false;
}

/* Below this magnitude the first generation looks at the difference instead of the relative error; 0:
 * nowhere. */
double small_value(const struct dump_rows *dump, const struct dump_row *row)
{
    const char *dtype = dump_text(dump, row->dtype);
    if (!strncmp(dtype, "torch.", 6)) dtype += 6;
    if (!strcasecmp(dtype, "float32")) return 1e-6;
    return !strcasecmp(dtype, "float16") || !strcasecmp(dtype, "bfloat16") ? 1e-3 : 0;
}

static double relative_error(const struct node_view *v, uint32_t i, enum row_statistic s,
                             const struct statistic_difference *d)
{
    double npu, small = small_value(&v->c->npu, row_at(v, i));
    if (v->c->generation == GENERATION_1 && d->difference_cell == STATISTIC_IS_NUMBER &&
        row_value_number(&npu, &v->c->npu, dump_row_statistic(row_at(v, i), s)) &&
        fabs(npu) <= small)
        return fabs(d->difference) <= small ? 0 : 1;
    return d->relative_cell == STATISTIC_IS_NUMBER ? d->relative : 0;
}

static double largest_relative(const struct node_view *v, uint32_t i)
{
    struct statistic_difference d[ROW_STATISTICS];
    double largest = 0;
    statistics_compare(d, &v->c->npu, row_at(v, i), &v->c->bench, partner_of(v, i), true);
    for (enum row_statistic s = 0; s < ROW_STATISTICS; s++)
        largest = fmax(largest, relative_error(v, i, s, &d[s]));
    return largest;
}

static double index_of_statistics(const struct node_view *v)
{
    double largest = 0;
    if (v->c->generation != GENERATION_1 && is_abnormal(v, true)) return 1;
    for (uint32_t i = 0; i < v->rows.count; i++)
        if (is_output(v, i) && has_max(row_at(v, i)) && partner_of(v, i))
            largest = fmax(largest, largest_relative(v, i));
    return fmin(largest, 1);
}

/* The smallest share within a thousandth on one side of the node; false when no row has one. */
static bool smallest_share(double *smallest, const struct node_view *v, bool outputs)
{
    bool any = false;
    for (uint32_t i = 0; i < v->rows.count; i++) {
        const struct tensor_result *r = &v->c->tensors[v->rows.first + i];
        const struct dump_row *row = row_at(v, i);
        if (is_output(v, i) != outputs || !has_max(row)) continue;
        if (r->cell[METRIC_ONE_THOUSANDTH] != CELL_NUMBER) continue;
        if (!strcmp(dump_text(&v->c->npu, row->shape), "[]")) continue;
        double share = r->metric[METRIC_ONE_THOUSANDTH];
        *smallest = any ? fmin(*smallest, share) : share;
        any = true;
    }
    return any;
}

static double index_of_tensors(const struct node_view *v)
{
    double inputs, outputs;
    if (v->c->generation != GENERATION_1) {
        if (is_abnormal(v, true)) return 1;
        if (is_abnormal(v, false)) return 0;
    }
    if (!smallest_share(&inputs, v, false) || !smallest_share(&outputs, v, true)) return 0;
    return fmin(fmax(inputs - outputs, 0), 1);
}

static double index_of_checksums(const struct node_view *v)
{
    for (uint32_t i = 0; i < v->rows.count; i++) {
        const struct dump_row *partner = partner_of(v, i);
        if (row_at(v, i)->is_null) continue;
        if (!partner || !checksums_equal(&v->c->npu, row_at(v, i), &v->c->bench, partner)) return 0;
    }
    return 1;
}

static double index_of_levels(const struct node_view *v)
{
    static const double values[] = { [LEVEL_PASS] = 0, [LEVEL_WARNING] = 0.5, [LEVEL_ERROR] = 1 };
    double worst = 0;
    for (uint32_t i = 0; i < v->rows.count; i++) {
        uint8_t level = v->c->rows[v->rows.first + i].g3_level;
        if (level <= LEVEL_ERROR) worst = fmax(worst, values[level]);
    }
    return worst;
}

/* APIs that return memory as it is: whatever they hold is right. */
static bool holds_anything(struct name_slice name)
{
    static const char *const names[] = { "empty",     "empty_like",        "empty_with_format",
                                         "new_empty", "new_empty_strided", "empty_strided" };
    struct name_slice api = name_part(name, 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name_slice_is(api, names[i])) return true;
    return false;
}

static double best_index(enum dump_kind kind) { return kind == DUMP_MD5 ? 1 : 0; }

static double index_by_rules(const struct node_view *v)
{
    static double (*const rules[])(const struct node_view *) = {
        [DUMP_TENSOR] = index_of_tensors,
        [DUMP_STATISTICS] = index_of_statistics,
        [DUMP_MD5] = index_of_checksums,
    };
    return rules[v->c->kind](v);
}

static bool involves_non_finite(const struct node_view *v)
{
    for (uint32_t i = 0; i < v->rows.count; i++)
        if (has_max(row_at(v, i)) && either_has_non_finite(v, i)) return true;
    return false;
}

static struct node_index index_of_node(const struct graph_side *npu, const struct comparison *c,
                                       uint32_t node)
{
    struct node_view view = { npu, c, node_rows(npu, node), false };
    bool free_of_rules = c->generation == GENERATION_2 &&
                         holds_anything(model_name(&npu->model, node));
    double value = c->generation == GENERATION_3 ? index_of_levels(&view)
                   : free_of_rules               ? best_index(c->kind)
                                                 : index_by_rules(&view);
    struct node_index index = { value, value, true };
    view.same_is_right = true;
    if (c->generation == GENERATION_2 && !free_of_rules && involves_non_finite(&view))
        index.judged = index_by_rules(&view);
    return index;
}

static double worse_of(double a, double b, bool high_is_bad)
{
    return high_is_bad ? fmax(a, b) : fmin(a, b);
}

/* The worst of the children that have an index. */
static struct node_index worst_of_children(const struct node_index *of, const struct model *model,
                                           uint32_t node, bool high_is_bad)
{
    struct node_index worst = { 0, 0, false };
    for (uint32_t child = model->nodes[node].first_child; child != NODE_NONE;
         child = model->nodes[child].next) {
        if (!of[child].known) continue;
        if (!worst.known) worst = of[child];
        worst.value = worse_of(worst.value, of[child].value, high_is_bad);
        worst.judged = worse_of(worst.judged, of[child].judged, high_is_bad);
    }
    return worst;
}

void precision_compute(struct node_index *out, const struct graph_side *npu,
                       const struct comparison *c)
{
    const struct model *model = &npu->model;
    bool high_is_bad = c->kind != DUMP_MD5 || c->generation == GENERATION_3;
    for (uint32_t node = 0; node < model->n_nodes; node++) {
        out[node] = (struct node_index){ 0, 0, false };
        if (npu->match[node] == NODE_NONE || c->kind == DUMP_STRUCTURE) continue;
        if (node == model->root || model->nodes[node].type == NODE_COLLECTION) continue;
        out[node] = index_of_node(npu, c, node);
    }
    /* Collections of merged ranks lie in collections. */
    for (uint32_t node = model_deepest_first(model, model->root); node != NODE_NONE;
         node = model_after_children(model, node)) {
        if (model->nodes[node].type != NODE_COLLECTION || c->kind == DUMP_STRUCTURE) continue;
        out[node] = worst_of_children(out, model, node, high_is_bad);
        double best = high_is_bad ? 0 : 1;
        if (!out[node].known) out[node] = (struct node_index){ best, best, true };
    }
}

/* ---- colours ------------------------------------------------------------------------------ */

static const struct colour_band statistics_bands[] = {
    { "#FFFCF3", 0, 0.2, NULL },   { "#FFEDBE", 0.2, 0.4, NULL }, { "#FFDC7F", 0.4, 0.6, NULL },
    { "#FFC62E", 0.6, 0.8, NULL }, { "#FF704D", 0.8, 1, NULL },
};
static const struct colour_band tensor_bands[] = {
    { "#FFFCF3", 0, 0.05, NULL },   { "#FFEDBE", 0.05, 0.1, NULL }, { "#FFDC7F", 0.1, 0.15, NULL },
    { "#FFC62E", 0.15, 0.2, NULL }, { "#FF704D", 0.2, 1, NULL },
};
static const struct colour_band checksum_bands[] = {
    { "#FFFCF3", 1, 1, NULL },
    { "#FF704D", 0, 0, NULL },
};
static const struct colour_band level_bands[] = {
    { "#FFFCF3", 0, 0.3, "pass" },
    { "#FFDC7F", 0.3, 0.6, "warning" },
    { "#FF704D", 0.6, 1, "error" },
};

#define BANDS(array) array, sizeof(array) / sizeof *(array)
static const struct band_table {
    const struct colour_band *bands;
    size_t count;
    const char *description;
} band_tables[] = {
    [DUMP_TENSOR] = { BANDS(tensor_bands),
                      "此节点所有输入的最小双千分之一与所有输出的最小双千分之一的差值的计算结果, "
                      "值越大代表测量值与标杆值的偏差越大" },
    [DUMP_STATISTICS] = { BANDS(statistics_bands),
                          "此节点所有输入输出的统计量相对误差, 值越大代表测量值与标杆值的偏差越大, "
                          "相对误差计算方式:|(测量值-标杆值)/标杆值|" },
    [DUMP_MD5] = { BANDS(checksum_bands), "" },
    [DUMP_STRUCTURE] = { NULL, 0, "" },
};

const char colour_unmatched[] = "#C7C7C7";
const char colour_unmatched_description[] = "比对过程中节点未匹配上";

const struct colour_band *colour_bands(size_t *count, const char **description, enum dump_kind kind,
                                       enum generation generation)
{
    const struct band_table *table = &band_tables[kind];
    *description = table->description;
    if (generation == GENERATION_3 && table->count) {
        *count = sizeof level_bands / sizeof *level_bands;
        return level_bands;
    }
    *count = table->count;
    return table->bands;
}

const char *colour_band_description(enum dump_kind kind, size_t band)
{
    static const char *const texts[] = { "与标杆相比, 此节点所有输入输出的md5值相同",
                                         "与标杆相比, 此节点任意输入输出的md5值不同" };
    return kind == DUMP_MD5 && band < 2 ? texts[band] : NULL;
}
