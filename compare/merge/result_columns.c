/* The headers that each kind of result has, as tables. */
#include "compare/merge/result_columns.h"

#include <string.h>

#include "compare/dumps/columns.h"
#include "core/nearest_name.h"

/* clang-format off */
static const char *const statistics_indices[] = {
    "Max diff", "Min diff", "Mean diff", "L2norm diff",
    "MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr",
    "Requires_grad Consistent", NULL,
};
static const char *const tensor_indices[] = {
    "Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr",
    "One Thousandth Err Ratio", "Five Thousandths Err Ratio",
    "Requires_grad Consistent", NULL,
};
static const char *const no_indices[] = { NULL };
/* clang-format on */

static const enum dump_kind kinds[] = { DUMP_STATISTICS, DUMP_TENSOR, DUMP_MD5 };
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool is_header(const struct sheet_row *row, size_t column, const char *name)
{
    return column < row->count && row->cells[column].kind == SHEET_TEXT &&
           row->cells[column].length == strlen(name) &&
           !memcmp(row->cells[column].text, name, strlen(name));
}

/* Does the row begin with these columns? A stack may stand between them. */
static bool begins_with(const struct sheet_row *header, const struct column_list *columns)
{
    size_t at = 0;
    for (size_t i = 0; i < columns->count; i++, at++) {
        if (is_header(header, at, "NPU_Stack_Info")) at++;
        if (!is_header(header, at, column_header(columns, i))) return false;
    }
    return true;
}

bool result_kind(enum dump_kind *kind, const struct sheet_row *header)
{
    for (int k = 0; k < KINDS; k++)
        for (int generation = GENERATION_1; generation <= GENERATION_3; generation++) {
            struct comparison comparison = { .kind = kinds[k],
                                             .generation = (enum generation)generation };
            struct column_list columns = column_list_make(&comparison, false, TABLE_XLSX);
            if (!begins_with(header, &columns)) continue;
            *kind = kinds[k];
            return true;
        }
    return false;
}

size_t result_column(const struct sheet_row *header, const char *name)
{
    for (size_t i = 0; i < header->count; i++)
        if (is_header(header, i, name)) return i;
    return SIZE_MAX;
}

const char *const *result_indices(enum dump_kind kind)
{
    return kind == DUMP_STATISTICS ? statistics_indices
           : kind == DUMP_TENSOR   ? tensor_indices
                                   : no_indices;
}

const char *result_index(const char *name)
{
    if (!strcmp(name, "Norm diff")) name = "L2norm diff"; /* as the reference's documents say */
    for (int k = 0; k < KINDS; k++)
        for (const char *const *index = result_indices(kinds[k]); *index; index++)
            if (!strcmp(*index, name)) return *index;
    return NULL;
}

const char *result_nearest_index(const char *name)
{
    const char *all[32];
    size_t count = 0;
    for (int k = 0; k < KINDS; k++)
        for (const char *const *index = result_indices(kinds[k]); *index; index++)
            all[count++] = *index;
    return nearest_name(name, all, count);
}
