/* Texts of the result files that are JSON. Descriptions are Chinese, as the viewers of these files
 * show them. */
#include "graph/config_text.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/shortest.h"
#include "formats/json_write.h"

/* ---- colours ---------------------------------------------------------------------------------- */

static struct status append_string(struct csv_buffer *out, const char *string)
{
    return json_append_string(out, string, strlen(string));
}

static struct status append_plain(struct csv_buffer *out, const char *text)
{
    return csv_append_bytes(out, text, strlen(text));
}

/* 0.2 as 0.2, 1.0 as 1. */
static struct status append_limit(struct csv_buffer *out, double value)
{
    char text[32];
    return csv_append_bytes(out, text, (size_t)snprintf(text, sizeof text, "%g", value));
}

static struct status append_band(struct csv_buffer *out, const struct colour_band *band,
                                 const char *description)
{
    TRY(append_string(out, band->hex));
    TRY(append_plain(out, ": {\"value\": ["));
    TRY(append_limit(out, band->low));
    TRY(append_plain(out, ", "));
    TRY(append_limit(out, band->high));
    TRY(append_plain(out, "], \"description\": "));
    TRY(append_string(out, description));
    if (band->level) {
        TRY(append_plain(out, ", \"accuracy_level\": "));
        TRY(append_string(out, band->level));
    }
    return append_plain(out, "}, ");
}

struct status colours_append(struct csv_buffer *out, enum dump_kind kind,
                             enum generation generation)
{
    size_t count;
    const char *description;
    const struct colour_band *bands = colour_bands(&count, &description, kind, generation);

    TRY(append_plain(out, "{"));
    for (size_t i = 0; i < count; i++) {
        const char *own = colour_band_description(kind, i);
        TRY(append_band(out, &bands[i], own ? own : description));
    }
    TRY(append_string(out, colour_unmatched));
    TRY(append_plain(out, ": {\"value\": [], \"description\": "));
    TRY(append_string(out, colour_unmatched_description));
    return append_plain(out, "}}");
}

/* ---- explanations ------------------------------------------------------------------------------ */

#define STATISTIC_TIP(what) "NPU与标杆API统计信息比对，" what "的差值"
static const struct tool_tip {
    enum dump_kind kind;
    const char *metric, *text;
} tool_tips[] = {
    /* clang-format off */
    { DUMP_STATISTICS, "Max diff",    STATISTIC_TIP("最大值") },
    { DUMP_STATISTICS, "Min diff",    STATISTIC_TIP("最小值") },
    { DUMP_STATISTICS, "Mean diff",   STATISTIC_TIP("平均值") },
    { DUMP_STATISTICS, "L2norm diff", STATISTIC_TIP("2范数（平方根）") },
    { DUMP_MD5, "md5", "数据MD5信息，用于比较两个数据信息是否完全一致" },
    { DUMP_TENSOR, "One Thousandth Err Ratio",   "相对误差小于千分之一的元素占比，越接近1越好" },
    { DUMP_TENSOR, "Five Thousandths Err Ratio", "相对误差小于千分之五的元素占比，越接近1越好" },
    { DUMP_TENSOR, "Cosine",         "两个张量的余弦相似度，越接近1越好" },
    { DUMP_TENSOR, "MaxAbsErr",      "最大绝对误差，越接近0越好" },
    { DUMP_TENSOR, "MaxRelativeErr", "最大相对误差，越接近0越好" },
    /* clang-format on */
};

struct status tool_tips_append(struct csv_buffer *out, enum dump_kind kind)
{
    bool first = true;
    TRY(append_plain(out, "{"));
    for (size_t i = 0; i < sizeof tool_tips / sizeof *tool_tips; i++) {
        if (tool_tips[i].kind != kind) continue;
        if (!first) TRY(append_plain(out, ", "));
        first = false;
        TRY(append_string(out, tool_tips[i].metric));
        TRY(append_plain(out, ": "));
        TRY(append_string(out, tool_tips[i].text));
    }
    return append_plain(out, "}");
}

const char *task_name(enum dump_kind kind)
{
    static const char *const names[] = { [DUMP_TENSOR] = "all",
                                         [DUMP_STATISTICS] = "summary",
                                         [DUMP_MD5] = "md5",
                                         [DUMP_STRUCTURE] = "structure" };
    return names[kind];
}

/* ---- lists of names ------------------------------------------------------------------------------ */

static struct status append_name(struct csv_buffer *out, const struct model *model, uint32_t node)
{
    struct name_slice name = model_name(model, node);
    return json_append_string(out, name.text, name.length);
}

struct status children_append(struct csv_buffer *out, const struct model *model, uint32_t node)
{
    TRY(append_plain(out, "["));
    for (uint32_t child = model->nodes[node].first_child; child != NODE_NONE;
         child = model->nodes[child].next) {
        if (child != model->nodes[node].first_child) TRY(append_plain(out, ", "));
        TRY(append_name(out, model, child));
    }
    return append_plain(out, "]");
}

/* Ancestors are met from the node up and written from the root down. In a chain of a million each node's
 * list would have all that are above it; a node deeper than this, which no model has, has itself alone. */
enum { MOST_ANCESTORS = 1024 };

struct status partner_path_append(struct csv_buffer *out, const struct graph_side *side,
                                  const struct graph_side *other, uint32_t node)
{
    uint32_t path[MOST_ANCESTORS];
    size_t depth = 0;
    TRY(append_plain(out, "["));
    for (uint32_t at = side->match[node]; at != NODE_NONE && depth < MOST_ANCESTORS;
         at = other->model.nodes[at].parent)
        path[depth++] = at;
    if (depth == MOST_ANCESTORS) depth = 1;
    while (depth--) {
        TRY(append_name(out, &other->model, path[depth]));
        if (depth) TRY(append_plain(out, ", "));
    }
    return append_plain(out, "]");
}

/* ---- stacks ---------------------------------------------------------------------------------------- */

static struct status append_frames(struct csv_buffer *out, struct json *frames)
{
    struct json_slice frame;
    struct csv_buffer text = { 0 };
    bool first = true;
    struct status status = status_ok();

    if (!json_enter_array(frames)) return status_ok();
    while (!status.code && json_array_next(frames) && json_string(frames, &frame)) {
        csv_buffer_clear(&text);
        status = csv_append_bytes(&text, frame.text, frame.bytes);
        if (!status.code && frame.escaped) text.length = json_slice_decode_into(text.data, &frame);
        if (!status.code && !first) status = append_plain(out, ", ");
        if (!status.code) status = json_append_string(out, text.data, text.length);
        first = false;
    }
    csv_buffer_release(&text);
    return status;
}

/* As msprobe words it. */
static const char no_stack[] =
    "This backward node cannot find the forward node and cannot retrieve stack information.";

struct status stack_append(struct csv_buffer *out, const struct graph_side *side, uint32_t node)
{
    struct json frames;
    TRY(append_plain(out, "["));
    if (node_stack(&frames, side, node)) TRY(append_frames(out, &frames));
    else if (node_lacks_forward(side, node)) TRY(append_string(out, no_stack));
    return append_plain(out, "]");
}
