/* The header of .npy files, read as the one form of dict literal that it has, and written. */
#include "formats/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/file.h"
#include "core/quantity.h"
#include "formats/tensor_bytes.h"

enum { PREAMBLE = 8, HEADER_LIMIT = 65536 };

/* descr without its byte order, and the dtype; one of them has no NumPy name. */
static const struct {
    const char *descr;
    enum dtype dtype;
    /* clang-format off */
} descrs[] = {
    { "f8", DT_F64 }, { "f4", DT_F32 }, { "f2", DT_F16 },   { "i8", DT_I64 },
    { "i4", DT_I32 }, { "i2", DT_I16 }, { "i1", DT_I8 },    { "u1", DT_U8 },
    { "b1", DT_BOOL }, { "c8", DT_C64 }, { "c16", DT_C128 }, { "V2", DT_BF16 },
};
/* clang-format on */

/* The header literal being read. */
struct literal {
    const char *at, *end;
};

static void skip_space(struct literal *l)
{
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\n' || *l->at == '\t')) l->at++;
}

static bool take(struct literal *l, char c)
{
    skip_space(l);
    if (l->at == l->end || *l->at != c) return false;
    l->at++;
    return true;
}

/* A string without escapes, of at most `bytes` - 1 characters. */
static bool take_string(struct literal *l, char *out, size_t bytes)
{
    skip_space(l);
    if (l->at == l->end || (*l->at != '\'' && *l->at != '"')) return false;
    char quote = *l->at++;
    size_t used = 0;
    while (l->at < l->end && *l->at != quote) {
        if (*l->at == '\\' || used + 1 >= bytes) return false;
        out[used++] = *l->at++;
    }
    out[used] = '\0';
    return take(l, quote);
}

static bool take_word(struct literal *l, const char *word)
{
    size_t length = strlen(word);
    skip_space(l);
    if ((size_t)(l->end - l->at) < length || memcmp(l->at, word, length)) return false;
    l->at += length;
    return true;
}

/* A non-negative integer; Python 2 wrote an L behind long ones. */
static bool take_extent(struct literal *l, int64_t *out)
{
    int64_t value = 0;
    bool any = false;

    skip_space(l);
    for (; l->at < l->end && *l->at >= '0' && *l->at <= '9'; l->at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *l->at - '0', &value))
            return false;
        any = true;
    }
    if (any && l->at < l->end && *l->at == 'L') l->at++;
    *out = value;
    return any;
}

struct header {
    char descr[16];
    bool fortran_order;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
};

static const char *take_shape(struct literal *l, struct header *header)
{
    if (!take(l, '(')) return "the shape is not a tuple";
    header->rank = 0;
    while (!take(l, ')')) {
        if (header->rank == TENSOR_MAX_RANK) return "it has more than 16 dimensions";
        if (!take_extent(l, &header->shape[header->rank]))
            return "an extent of the shape is not a number that fits";
        header->rank++;
        if (!take(l, ',')) {
            if (!take(l, ')')) return "the shape is not a tuple of numbers";
            break;
        }
    }
    return NULL;
}

/* What is wrong with the header, or NULL. */
static const char *header_read(struct header *header, const char *text, size_t bytes)
{
    struct literal l = { text, text + bytes };
    char key[24];
    unsigned seen = 0;

    if (!take(&l, '{')) return "the header is not a dict";
    while (!take(&l, '}')) {
        if (!take_string(&l, key, sizeof key) || !take(&l, ':'))
            return "the header is not a dict of descr, fortran_order and shape";
        unsigned bit = !strcmp(key, "descr")           ? 1
                       : !strcmp(key, "fortran_order") ? 2
                       : !strcmp(key, "shape")         ? 4
                                                       : 0;
        if (!bit || (seen & bit)) return "the header has an unknown or a duplicate key";
        seen |= bit;
        if (bit == 1) {
            skip_space(&l);
            if (l.at < l.end && *l.at == '[') return "structured types are not supported";
            if (!take_string(&l, header->descr, sizeof header->descr))
                return "descr is not a string";
        } else if (bit == 2) {
            header->fortran_order = take_word(&l, "True");
            if (!header->fortran_order && !take_word(&l, "False"))
                return "fortran_order is neither True nor False";
        } else {
            const char *problem = take_shape(&l, header);
            if (problem) return problem;
        }
        if (!take(&l, ',')) {
            if (!take(&l, '}')) return "the header is not a dict";
            break;
        }
    }
    return seen == 7 ? NULL : "descr, fortran_order or shape is missing from the header";
}

/* The dtype and byte order of a descr. */
static const char *descr_read(enum dtype *dtype, bool *swapped, const char *descr)
{
    const char *kind = descr;

    *swapped = *kind == '>';
    if (*kind && strchr("<>|=", *kind)) kind++;
    if (*kind == 'O') return "it holds Python objects, which would be code; they are refused";
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++) {
        if (strcmp(kind, descrs[i].descr)) continue;
        *dtype = descrs[i].dtype;
        return NULL;
    }
    return "its element type is not supported";
}

/* Find the header: its text and where the elements begin. */
static const char *preamble_read(const char **header, size_t *header_bytes, size_t *data_offset,
                                 const unsigned char *bytes, size_t size)
{
    if (size < PREAMBLE + 2 || memcmp(bytes, "\x93NUMPY", 6)) return "it is not a .npy file";
    unsigned major = bytes[6];
    if (major < 1 || major > 3) return "its format version is not 1, 2 or 3";
    size_t width = major == 1 ? 2 : 4, length = 0;
    if (size < PREAMBLE + width) return "it ends inside the header";
    for (size_t i = 0; i < width; i++) length |= (size_t)bytes[PREAMBLE + i] << 8 * i;
    if (length > size - PREAMBLE - width) return "it ends inside the header";
    if (length > HEADER_LIMIT) return "its header is longer than 64 KiB";
    *header = (const char *)bytes + PREAMBLE + width;
    *header_bytes = length;
    *data_offset = PREAMBLE + width + length;
    return NULL;
}

struct status npy_read(struct tensor *out, struct arena *arena, const void *bytes, size_t size,
                       const char *name)
{
    struct header header = { 0 };
    struct tensor tensor = { 0 };
    const char *text, *problem;
    size_t text_bytes, offset, elements, needed;
    bool swapped = false;

    problem = preamble_read(&text, &text_bytes, &offset, bytes, size);
    if (!problem) problem = header_read(&header, text, text_bytes);
    if (!problem) problem = descr_read(&tensor.dtype, &swapped, header.descr);
    if (problem)
        return status_error(STATUS_BAD_INPUT, "cannot read '%s': %s", file_shown(name).text,
                            problem);
    size_t width = dtype_info(tensor.dtype)->bytes;
    if (!shape_elements(&elements, header.rank, header.shape) ||
        !size_multiply(&needed, elements, width) || needed > size - offset)
        return status_error(STATUS_BAD_INPUT,
                            "cannot read '%s': its shape needs more elements than the %s "
                            "of the file hold",
                            file_shown(name).text, quantity_bytes(size - offset).text);

    tensor.rank = header.rank;
    int64_t stride = 1;
    for (int i = 0; i < tensor.rank; i++) {
        int d = header.fortran_order ? i : tensor.rank - 1 - i;
        tensor.shape[d] = header.shape[d];
        tensor.stride[d] = stride;
        if (elements) stride *= header.shape[d];
    }
    TRY(tensor_bytes_take(&tensor.data, arena, (const unsigned char *)bytes + offset, elements,
                          tensor.dtype, swapped, name));
    *out = tensor;
    return status_ok();
}

/* ---- writing ---------------------------------------------------------------------------- */

/* The header padded with spaces so that the elements begin at a multiple of 64. */
static size_t header_write(char *text, size_t bytes, const struct tensor *tensor)
{
    const char *descr = NULL;
    size_t used;

    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++)
        if (descrs[i].dtype == tensor->dtype) descr = descrs[i].descr;
    char order = dtype_info(tensor->dtype)->bytes == 1 ? '|' : '<';
    used = PREAMBLE + 2;
    used += (size_t)snprintf(text + used, bytes - used,
                             "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, descr);
    for (int i = 0; i < tensor->rank; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%" PRId64 "%s", i ? " " : "",
                                 tensor->shape[i],
                                 i + 1 < tensor->rank || tensor->rank == 1 ? "," : "");
    used += (size_t)snprintf(text + used, bytes - used, "), }");
    while ((used + 1) % 64) text[used++] = ' ';
    text[used++] = '\n';
    memcpy(text, "\x93NUMPY\x01\x00", PREAMBLE);
    text[PREAMBLE] = (char)((used - PREAMBLE - 2) & 0xff);
    text[PREAMBLE + 1] = (char)((used - PREAMBLE - 2) >> 8);
    return used;
}

struct status npy_write(const char *path, const struct tensor *tensor, struct arena *arena)
{
    char header[1024];
    struct tensor dense;
    struct file file;

    TRY(tensor_densify(&dense, arena, tensor));
    size_t n = tensor_elements(&dense);
    if (dense.dtype == DT_BF16 || dense.dtype == DT_F8E4M3 || dense.dtype == DT_F8E5M2) {
        float *floats = arena_allocate_array(arena, n, sizeof *floats);
        if (!floats) return status_no_memory(n * sizeof *floats);
        dtype_to_float(floats, dense.data, dense.dtype, n);
        dense.data = floats;
        dense.dtype = DT_F32;
    }
    size_t header_bytes = header_write(header, sizeof header, &dense);
    TRY(file_create(&file, path));
    struct status status = file_write_all(&file, header, header_bytes);
    if (!status.code)
        status = file_write_all(&file, dense.data, n * dtype_info(dense.dtype)->bytes);
    struct status closed = file_close(&file);
    return status.code ? status : closed;
}
