/* Floats of 16 and 8 bits have no type in C: they are their bits. */
#include "repro/source_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/whole_file.h"
#include "repro/source_text.h"

const char *source_c_type(enum dtype dtype)
{
    static const char *const types[DT_COUNT] = {
        [DT_F64] = "double",    [DT_F32] = "float",      [DT_F16] = "uint16_t",
        [DT_BF16] = "uint16_t", [DT_F8E4M3] = "uint8_t", [DT_F8E5M2] = "uint8_t",
        [DT_I64] = "int64_t",   [DT_I32] = "int32_t",    [DT_I16] = "int16_t",
        [DT_I8] = "int8_t",     [DT_U8] = "uint8_t",     [DT_BOOL] = "uint8_t",
        [DT_C128] = "double",   [DT_C64] = "float",
    };
    return types[dtype];
}

/* One number as an initializer. */
static void put_number(struct text_out *out, enum dtype dtype, const unsigned char *at)
{
    double x;
    int64_t i;
    uint16_t half;
    switch (dtype) {
    case DT_F64:
        memcpy(&x, at, sizeof x);
        source_put_real(out, x, 17, "NAN", "INFINITY");
        break;
    case DT_F32:
        dtype_to_double(&x, at, dtype, 1);
        source_put_real(out, x, 9, "NAN", "INFINITY");
        if (x - x == 0) text_out_string(out, "f");
        break;
    case DT_F16:
    case DT_BF16:
        memcpy(&half, at, sizeof half);
        source_put(out, "0x%04x", half);
        break;
    case DT_F8E4M3:
    case DT_F8E5M2: source_put(out, "0x%02x", *at); break;
    default:
        dtype_to_int64(&i, at, dtype, 1);
        if (i == INT64_MIN) text_out_string(out, "INT64_MIN");
        else source_put(out, "%" PRId64, i);
        break;
    }
}

static void put_initializer(struct text_out *out, enum dtype dtype, const unsigned char *data,
                            size_t n)
{
    size_t width = dtype_info(dtype)->bytes, line = 0;
    text_out_string(out, "{");
    for (size_t i = 0; i < n; i++) {
        size_t before = out->text.length;
        text_out_string(out, i ? line > 84 ? ",\n    " : ", " : "\n    ");
        if (line > 84 || !i) line = 0;
        put_number(out, dtype, data + i * width);
        line += out->text.length - before;
    }
    text_out_string(out, n ? "\n}" : " 0 }");
}

static struct status write_file(const struct source_arrays *arrays, const char *name,
                                const void *data, size_t bytes)
{
    char path[4200];
    int length = snprintf(path, sizeof path, "%s/%s.bin", arrays->directory, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return status_error(STATUS_BAD_ARGUMENT, "'%.80s...' is too long a name",
                            arrays->directory);
    return whole_file_write(path, data, bytes, READERS_GROUP);
}

void source_array(struct source_arrays *arrays, const char *name, enum dtype dtype,
                  const void *data, size_t elements)
{
    size_t bytes = elements * dtype_info(dtype)->bytes;
    enum dtype part = dtype_component(dtype);
    size_t n = elements * (dtype_is_complex(dtype) ? 2 : 1);
    const char *type = source_c_type(dtype);
    struct text_out *out = &arrays->declarations;
    if (bytes > SOURCE_DATA_BYTES) {
        source_put(out, "static const %s *%s; /* %zu in %s.bin */\n", type, name, n, name);
        source_put(&arrays->loads, "    %s = data_file(\"%s.bin\", %zu);\n", name, name, bytes);
        if (!arrays->status.code) arrays->status = write_file(arrays, name, data, bytes);
        return;
    }
    source_put(out, "static const %s %s[%zu] = ", type, name, n ? n : 1);
    put_initializer(out, part, data, n);
    text_out_string(out, ";\n");
}
