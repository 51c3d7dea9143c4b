/* Reads the corrections and applies them to one tensor at a time. */
#include "compare/dumps/tensor_fix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/memory.h"
#include "formats/tensor_file.h"
#include "formats/yaml_tree.h"

enum { MATRIX_MAX = 16384 }; /* rows and columns of a calibration matrix */

/* The two kernels whose outputs have rows that were never written. */
static const struct fix_padding built_in[] = {
    { "npu_dequant_swiglu_quant", "group_index", { [FIX_NPU] = true } },
    { "npu_grouped_matmul", "group_list", { [FIX_NPU] = true } },
};
enum { BUILT_IN = sizeof built_in / sizeof *built_in };

struct reading {
    struct tensor_fix *fix;
    struct yaml_document document;
    const char *path;
    struct file_policy policy;
};

static struct status fault(const struct reading *r, const struct yaml_node *node,
                           const char *expected)
{
    return yaml_fault(&r->document, node, "expected %s", expected);
}

/* ---- padding ---------------------------------------------------------------------------- */

static struct status take_scalar(const char **out, const struct reading *r,
                                 const struct yaml_node *record, const char *key)
{
    const struct yaml_node *node = yaml_member(record, key);
    if (!node || node->kind != YAML_SCALAR || !node->length)
        return yaml_fault(&r->document, node ? node : record, "expected a text for '%s'", key);
    *out = node->text;
    return status_ok();
}

static struct status read_side(bool side[FIX_SIDES], const struct reading *r,
                               const struct yaml_node *record)
{
    static const char *const words[] = { "npu", "bench", "both" };
    const struct yaml_node *node = yaml_member(record, "side");
    if (!node) {
        side[FIX_NPU] = true;
        return status_ok();
    }
    for (int i = 0; i < 3; i++) {
        if (node->kind != YAML_SCALAR || strcmp(node->text, words[i])) continue;
        side[FIX_NPU] = i != 1;
        side[FIX_BENCH] = i != 0;
        return status_ok();
    }
    return fault(r, node, "npu, bench or both");
}

static struct status read_paddings(struct reading *r, const struct yaml_node *list)
{
    if (list->kind != YAML_SEQUENCE) return fault(r, list, "a list of records with api and key");
    r->fix->paddings =
        arena_allocate_zeroed(&r->fix->arena, list->count + 1, sizeof *r->fix->paddings);
    if (!r->fix->paddings) return status_no_memory(0);
    for (size_t i = 0; i < list->count; i++) {
        struct fix_padding *padding = &r->fix->paddings[i];
        TRY(take_scalar(&padding->api, r, list->items[i], "api"));
        TRY(take_scalar(&padding->key, r, list->items[i], "key"));
        TRY(read_side(padding->side, r, list->items[i]));
        r->fix->n_paddings++;
    }
    return status_ok();
}

static struct status use_built_in(struct tensor_fix *fix)
{
    fix->paddings = arena_allocate_array(&fix->arena, BUILT_IN, sizeof *fix->paddings);
    if (!fix->paddings) return status_no_memory(0);
    memcpy(fix->paddings, built_in, sizeof built_in);
    fix->n_paddings = BUILT_IN;
    return status_ok();
}

/* ---- calibration ------------------------------------------------------------------------ */

static struct status read_matrix(struct tensor *out, struct reading *r,
                                 const struct yaml_node *name)
{
    char path[4096 + 256];
    const char *slash = strrchr(r->path, '/');
    struct tensor stored, dense;
    struct file_map map;

    (void)snprintf(path, sizeof path, "%.*s%s",
                   slash && name->text[0] != '/' ? (int)(slash - r->path + 1) : 0, r->path,
                   name->text);
    TRY(tensor_file_read(&stored, &map, &r->fix->arena, path, r->policy));
    struct status status = status_ok();
    if (stored.rank != 2 || stored.shape[0] > MATRIX_MAX || stored.shape[1] > MATRIX_MAX ||
        dtype_is_complex(stored.dtype))
        status = yaml_fault(&r->document, name, "'%s' is no matrix of at most %d rows and columns",
                            name->text, MATRIX_MAX);
    if (!status.code) status = tensor_densify(&dense, &r->fix->arena, &stored);
    if (!status.code) status = tensor_create(out, &r->fix->arena, DT_F64, 2, stored.shape);
    if (!status.code) dtype_to_double(out->data, dense.data, dense.dtype, tensor_elements(&dense));
    file_unmap(&map);
    return status;
}

static size_t count_names(const struct yaml_node *map)
{
    size_t count = 0;
    for (size_t i = 0; i < map->count; i++) count += map->pairs[i].value->count;
    return count;
}

static struct status read_tensor_map(struct reading *r, enum fix_side side,
                                     const struct yaml_node *map)
{
    struct tensor_fix *fix = r->fix;
    size_t room = fix->n_matrices[side];

    if (!map || yaml_is_null(map)) return status_ok();
    if (map->kind != YAML_MAPPING) return fault(r, map, "matrix files with lists of data names");
    struct fix_matrix *matrices =
        arena_allocate_array(&fix->arena, room + count_names(map) + 1, sizeof *matrices);
    if (!matrices) return status_no_memory(0);
    if (room) memcpy(matrices, fix->matrices[side], room * sizeof *matrices);
    fix->matrices[side] = matrices;
    for (size_t i = 0; i < map->count; i++) {
        const struct yaml_node *names = map->pairs[i].value;
        struct tensor matrix;
        if (names->kind != YAML_SEQUENCE) return fault(r, names, "a list of data names");
        TRY(read_matrix(&matrix, r, map->pairs[i].key));
        for (size_t k = 0; k < names->count; k++) {
            if (names->items[k]->kind != YAML_SCALAR)
                return fault(r, names->items[k], "a data name");
            matrices[fix->n_matrices[side]++] =
                (struct fix_matrix){ names->items[k]->text, matrix };
        }
    }
    return status_ok();
}

static struct status read_calibration(struct reading *r, const struct yaml_node *record)
{
    const struct yaml_node *mode = yaml_member(record, "mode");
    if (!mode || mode->kind != YAML_SCALAR || strcmp(mode->text, "right_matmul"))
        return fault(r, mode ? mode : record, "'mode: right_matmul'");
    TRY(read_tensor_map(r, FIX_NPU, yaml_member(record, "target_tensor_map")));
    return read_tensor_map(r, FIX_BENCH, yaml_member(record, "golden_tensor_map"));
}

static int by_name(const void *a, const void *b)
{
    const struct fix_matrix *x = a, *y = b;
    return strcmp(x->data_name, y->data_name);
}

/* ---- the file --------------------------------------------------------------------------- */

static struct status read_document(struct reading *r)
{
    const struct yaml_node *root = r->document.root;
    const struct yaml_node *padding = yaml_member(root, "padding");
    const struct yaml_node *calibration = yaml_member(root, "calibration");

    if (root->kind != YAML_MAPPING && !yaml_is_null(root))
        return fault(r, root, "'padding' or 'calibration'");
    TRY(padding ? read_paddings(r, padding) : use_built_in(r->fix));
    if (calibration && calibration->kind == YAML_MAPPING) TRY(read_calibration(r, calibration));
    for (size_t i = 0; calibration && calibration->kind == YAML_SEQUENCE && i < calibration->count;
         i++)
        TRY(read_calibration(r, calibration->items[i]));
    for (int side = 0; side < FIX_SIDES; side++)
        if (r->fix->n_matrices[side])
            qsort(r->fix->matrices[side], r->fix->n_matrices[side], sizeof(struct fix_matrix),
                  by_name);
    return status_ok();
}

struct status tensor_fix_read(struct tensor_fix *out, const char *path, struct file_policy policy)
{
    struct reading r = { .fix = out, .path = path, .policy = policy };
    char *text;
    size_t bytes;

    *out = (struct tensor_fix){ 0 };
    TRY(file_read_path(&text, &bytes, path, policy));
    struct status status = yaml_parse(&r.document, &out->arena, path, text, bytes);
    memory_release(text);
    if (!status.code) status = read_document(&r);
    if (status.code) tensor_fix_release(out);
    return status;
}

void tensor_fix_release(struct tensor_fix *fix)
{
    arena_release(&fix->arena);
    *fix = (struct tensor_fix){ 0 };
}

/* ---- use -------------------------------------------------------------------------------- */

const struct fix_padding *tensor_fix_padding(const struct tensor_fix *fix, const char *entry)
{
    for (size_t i = 0; i < fix->n_paddings; i++)
        if (strstr(entry, fix->paddings[i].api)) return &fix->paddings[i];
    return NULL;
}

const struct tensor *tensor_fix_matrix(const struct tensor_fix *fix, enum fix_side side,
                                       const char *data_name)
{
    const struct fix_matrix wanted = { .data_name = data_name };
    if (!fix->n_matrices[side]) return NULL;
    const struct fix_matrix *found =
        bsearch(&wanted, fix->matrices[side], fix->n_matrices[side], sizeof wanted, by_name);
    return found ? &found->matrix : NULL;
}

struct status tensor_clear_rows(struct tensor *out, struct arena *arena, const struct tensor *in,
                                double valid)
{
    struct tensor cleared;
    TRY(tensor_create(&cleared, arena, in->dtype, in->rank, in->shape));
    size_t row_bytes = dtype_info(in->dtype)->bytes, rows = in->rank ? (size_t)in->shape[0] : 0;
    for (int i = 1; i < in->rank; i++) row_bytes *= (size_t)in->shape[i];
    size_t kept = valid > 0 ? (valid < (double)rows ? (size_t)valid : rows) : 0;
    memcpy(cleared.data, in->data, kept * row_bytes);
    memset((char *)cleared.data + kept * row_bytes, 0, (rows - kept) * row_bytes);
    *out = cleared;
    return status_ok();
}

struct status tensor_multiply_right(struct tensor *out, struct arena *arena,
                                    const struct tensor *in, const struct tensor *matrix)
{
    int64_t shape[TENSOR_MAX_RANK];
    struct tensor product;

    if (in->rank < 1 || in->shape[in->rank - 1] != matrix->shape[0] || dtype_is_complex(in->dtype))
        return status_error(STATUS_BAD_INPUT, "the matrix does not fit the tensor");
    size_t inner = (size_t)matrix->shape[0], columns = (size_t)matrix->shape[1];
    size_t rows = inner ? tensor_elements(in) / inner : 0;
    memcpy(shape, in->shape, sizeof shape);
    shape[in->rank - 1] = (int64_t)columns;
    TRY(tensor_create(&product, arena, DT_F64, in->rank, shape));
    double *line = arena_allocate_array(arena, inner + 1, sizeof *line);
    if (!line) return status_no_memory(inner * sizeof *line);
    const double *m = matrix->data;
    for (size_t row = 0; row < rows; row++) {
        double *to = (double *)product.data + row * columns;
        dtype_to_double(line, (const char *)in->data + row * inner * dtype_info(in->dtype)->bytes,
                        in->dtype, inner);
        memset(to, 0, columns * sizeof *to);
        for (size_t k = 0; k < inner; k++)
            for (size_t j = 0; j < columns; j++) to[j] += line[k] * m[k * columns + j];
    }
    *out = product;
    return status_ok();
}
