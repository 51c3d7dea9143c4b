/* Both files are mapped and folded with the metrics of tensors. */
#include "compare/kernels/npy_pair.h"

#include <math.h>
#include <string.h>

#include "compare/dumps/tensor_rows.h"
#include "formats/csv.h"
#include "formats/tensor_file.h"

struct loaded {
    struct tensor tensor; /* dense */
    struct file_map map;
};

static double fold_extreme(double so_far, double x, bool largest)
{
    if (isnan(so_far) || isnan(x)) return NAN;
    return largest ? fmax(so_far, x) : fmin(so_far, x);
}

/* Maximum, minimum, mean and norm, by chunks whose sums are added to those of the whole. Of complex
 * numbers the real parts, as the reference prints them. */
static void measure_side(struct npy_side *side, const struct tensor *tensor)
{
    enum { CHUNK = 1024 };
    double x[2 * CHUNK], sum = 0, squares = 0, most = -INFINITY, least = INFINITY;
    const struct dtype_info *info = dtype_info(tensor->dtype);
    size_t n = tensor_elements(tensor), step = info->kind == KIND_COMPLEX ? 2 : 1;

    side->has_elements = n > 0;
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t count = n - at < CHUNK ? n - at : CHUNK;
        double chunk_sum = 0, chunk_squares = 0;
        dtype_to_double(x, (const char *)tensor->data + at * info->bytes, tensor->dtype, count);
        for (size_t i = 0; i < count * step; i += step) {
            most = fold_extreme(most, x[i], true);
            least = fold_extreme(least, x[i], false);
            chunk_sum += x[i];
            chunk_squares += x[i] * x[i];
        }
        sum += chunk_sum;
        squares += chunk_squares;
    }
    side->statistic[STATISTIC_MAX] = most;
    side->statistic[STATISTIC_MIN] = least;
    side->statistic[STATISTIC_MEAN] = sum / (double)n;
    side->statistic[STATISTIC_L2NORM] = sqrt(squares);
}

static struct status load(struct loaded *out, struct arena *arena, const char *path,
                          struct file_policy policy)
{
    struct tensor strided;
    TRY(tensor_file_read(&strided, &out->map, arena, path, policy));
    struct status status = tensor_densify(&out->tensor, arena, &strided);
    if (status.code) file_unmap(&out->map);
    return status;
}

/* Load a side, or note why not. */
static struct status load_side(struct npy_pair *pair, struct loaded *loaded, int which,
                               struct arena *arena, const char *path, struct file_policy policy)
{
    struct npy_side *side = &pair->side[which];
    if (!path) return status_ok();
    struct status status = load(loaded, arena, path, policy);
    if (status.code == STATUS_BAD_INPUT || status.code == STATUS_IO) {
        pair->problem[which] = arena_copy_string(arena, status.text);
        return pair->problem[which] ? status_ok() : status_no_memory(0);
    }
    TRY(status);
    side->is_loaded = true;
    side->dtype = loaded->tensor.dtype;
    side->rank = loaded->tensor.rank;
    memcpy(side->shape, loaded->tensor.shape, sizeof side->shape);
    measure_side(side, &loaded->tensor);
    return status_ok();
}

static void note_missing(struct npy_pair *pair, const char *const paths[NPY_SIDES])
{
    static const enum row_note missing[] = { NOTE_NPU_HAS_NO_DATA, NOTE_BENCH_HAS_NO_DATA };
    static const enum row_note unusable[] = { NOTE_NPU_FILE, NOTE_BENCH_FILE };
    for (int i = 0; i < NPY_SIDES; i++) {
        if (!paths[i]) pair->result.notes |= note_bit(missing[i]);
        if (pair->problem[i]) pair->result.notes |= note_bit(unusable[i]);
    }
}

struct status npy_pair_measure(struct npy_pair *out, struct arena *arena,
                               const char *const paths[NPY_SIDES], struct file_policy policy)
{
    struct loaded loaded[NPY_SIDES] = { { .map = { .data = NULL } }, { .map = { .data = NULL } } };
    struct status status = status_ok();

    *out = (struct npy_pair){ .result = { .own_level = LEVEL_NOT_JUDGED } };
    for (int i = 0; i < NPY_SIDES && !status.code; i++)
        status = load_side(out, &loaded[i], i, arena, paths[i], policy);
    if (!status.code && out->side[NPY_NPU].is_loaded && out->side[NPY_BENCH].is_loaded)
        tensor_pair_measure(&out->result, &loaded[NPY_NPU].tensor, &loaded[NPY_BENCH].tensor);
    note_missing(out, paths);
    for (int i = 0; i < NPY_SIDES; i++)
        if (out->side[i].is_loaded) file_unmap(&loaded[i].map);
    return status;
}

/* ---- cells ------------------------------------------------------------------------------ */

static struct status copy_cell(struct table_cell *out, struct arena *arena, const char *text)
{
    const char *copy = arena_copy_string(arena, text);
    if (!copy) return status_no_memory(strlen(text));
    *out = npy_text_cell(copy);
    return status_ok();
}

struct status npy_dtype_cell(struct table_cell *out, struct arena *arena,
                             const struct npy_side *side)
{
    const char *name = side->is_loaded ? dtype_info(side->dtype)->name : "N/A";
    return copy_cell(out, arena, strncmp(name, "torch.", 6) ? name : name + 6);
}

struct status npy_shape_cell(struct table_cell *out, struct arena *arena,
                             const struct npy_side *side)
{
    char text[400] = "N/A";
    if (side->is_loaded) shape_format(text, sizeof text, side->rank, side->shape);
    return copy_cell(out, arena, text);
}

struct table_cell npy_number_cell(double value)
{
    if (isnan(value)) return npy_text_cell("Nan");
    if (isinf(value)) return npy_text_cell(value > 0 ? "inf" : "-inf");
    return (struct table_cell){ .kind = TABLE_NUMBER, .number = value };
}

struct table_cell npy_statistic_cell(const struct npy_side *side, enum row_statistic which)
{
    if (!side->has_elements) return npy_text_cell("N/A");
    return npy_number_cell(side->statistic[which]);
}

struct table_cell npy_metric_cell(const struct npy_pair *pair, enum tensor_metric metric,
                                  bool blank)
{
    static const char *const words[] = {
        [CELL_UNSUPPORTED] = "unsupported",
        [CELL_IS_NAN] = "Nan",
        [CELL_NOT_APPLICABLE] = "N/A",
        [CELL_SHAPES_DIFFER] = "shape unmatched",
    };
    enum metric_cell cell = pair->result.cell[metric];
    if (blank) return (struct table_cell){ .kind = TABLE_EMPTY };
    if (cell == CELL_NUMBER) return npy_number_cell(pair->result.metric[metric]);
    return npy_text_cell(words[cell]);
}

struct status npy_notes_cell(struct table_cell *out, struct arena *arena,
                             const struct npy_pair *pair, uint64_t notes)
{
    struct csv_buffer text = { 0 };
    struct status status = status_ok();

    for (uint64_t left = notes; left && !status.code; left &= left - 1) {
        enum row_note note = (enum row_note)__builtin_ctzll(left);
        const char *why = note == NOTE_NPU_FILE     ? pair->problem[NPY_NPU]
                          : note == NOTE_BENCH_FILE ? pair->problem[NPY_BENCH]
                                                    : "";
        status = csv_append_bytes(&text, row_note_text(note), strlen(row_note_text(note)));
        if (!status.code) status = csv_append_bytes(&text, why, strlen(why));
    }
    if (!status.code) status = csv_append_bytes(&text, "", 1);
    if (!status.code) status = copy_cell(out, arena, text.data);
    csv_buffer_release(&text);
    return status;
}
