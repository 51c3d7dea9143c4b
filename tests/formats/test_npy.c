/* .npy files: those NumPy wrote, those written here, and those nobody should write. */
#include <check.h>

#include "core/memory.h"
#include "elements.h"
#include "formats/npy.h"
#include "formats/tensor_file.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct arena arena;

static void start(void) { arena = (struct arena){ 0 }; }

static void finish(void) { arena_release(&arena); }

static const struct {
    const char *descr;
    enum dtype dtype;
    /* clang-format off */
} types[] = {
    { "f8", DT_F64 }, { "f4", DT_F32 }, { "f2", DT_F16 },   { "i8", DT_I64 },
    { "i4", DT_I32 }, { "i2", DT_I16 }, { "i1", DT_I8 },    { "u1", DT_U8 },
    { "b1", DT_BOOL }, { "c8", DT_C64 }, { "c16", DT_C128 },
};
/* clang-format on */

static void read_file(struct tensor *out, struct file_map *map, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/npy/%s", PROBE_TEST_DATA, name);
    struct status status = tensor_file_read(out, map, &arena, path, FILES_TRUSTED);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
}

/* C order stays in the mapping, Fortran order becomes strides, big-endian a copy. */
START_TEST(reads_what_numpy_writes)
{
    static const int64_t shape[] = { 2, 3, 4 }, five[] = { 5 };
    char name[64];
    struct tensor t;
    struct file_map map;

    snprintf(name, sizeof name, "%s.c.npy", types[_i].descr);
    read_file(&t, &map, name);
    ck_assert_int_eq(t.dtype, types[_i].dtype);
    check_shape(&t, 3, shape);
    ck_assert(tensor_is_dense(&t));
    ck_assert((const char *)t.data >= (const char *)map.data &&
              (const char *)t.data < (const char *)map.data + map.bytes);
    check_elements(&t);
    file_unmap(&map);

    snprintf(name, sizeof name, "%s.fortran.npy", types[_i].descr);
    read_file(&t, &map, name);
    check_shape(&t, 3, shape);
    ck_assert_int_eq(t.stride[0], 1);
    ck_assert_int_eq(t.stride[2], 6);
    check_elements(&t);
    file_unmap(&map);

    snprintf(name, sizeof name, "%s.big.npy", types[_i].descr);
    read_file(&t, &map, name);
    ck_assert_int_eq(t.dtype, types[_i].dtype);
    check_shape(&t, 1, five);
    check_elements(&t);
    file_unmap(&map);
}
END_TEST

START_TEST(reads_scalars_empties_and_versions)
{
    static const int64_t empty[] = { 0, 3 }, six[] = { 2, 3 };
    struct tensor t;
    struct file_map map;

    read_file(&t, &map, "f4.scalar.npy");
    check_shape(&t, 0, NULL);
    check_elements(&t);
    file_unmap(&map);
    read_file(&t, &map, "f4.empty.npy");
    check_shape(&t, 2, empty);
    ck_assert_uint_eq(tensor_elements(&t), 0);
    file_unmap(&map);
    read_file(&t, &map, "f4.version2.npy");
    check_shape(&t, 2, six);
    check_elements(&t);
    file_unmap(&map);
    read_file(&t, &map, "f4.version3.npy");
    check_elements(&t);
    file_unmap(&map);
}
END_TEST

START_TEST(refuses_what_is_no_tensor)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        { "other.object.npy", "it holds Python objects, which would be code; they are refused" },
        { "other.record.npy", "structured types are not supported" },
        { "other.text.npy", "its element type is not supported" },
        { "other.u8.npy", "its element type is not supported" },
    };
    struct tensor t;
    struct file_map map;
    char path[512];
    snprintf(path, sizeof path, "%s/npy/%s", PROBE_TEST_DATA, files[_i].name);
    struct status status = tensor_file_read(&t, &map, &arena, path, FILES_TRUSTED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, files[_i].text));
    ck_assert_ptr_nonnull(strstr(status.text, files[_i].name));
}
END_TEST

/* ---- hostile files ---------------------------------------------------------------------- */

/* A version 1 file with that header and `data` bytes of data, in memory of its exact size. */
static struct status read_made(struct tensor *out, const char *header, size_t data)
{
    size_t length = strlen(header), size = 10 + length + data;
    unsigned char *bytes = malloc(size);
    memcpy(bytes, "\x93NUMPY\1\0", 8);
    bytes[8] = (unsigned char)length;
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + 10, header, length);
    memset(bytes + 10 + length, 0, data);
    struct status status = npy_read(out, &arena, bytes, size, "t.npy");
    if (!status.code) {
        /* Touch every element while the bytes are there. */
        struct tensor dense;
        ck_assert_int_eq(tensor_densify(&dense, &arena, out).code, STATUS_OK);
        for (size_t i = 0; i < tensor_elements(&dense); i++) {
            double x[2];
            dtype_to_double(x, (char *)dense.data + i * dtype_info(dense.dtype)->bytes, dense.dtype,
                            1);
            ck_assert(x[0] == 0);
        }
    }
    free(bytes);
    return status;
}

#define HEADER(descr, order, shape) \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }"

static const struct {
    const char *header;
    size_t data;
    const char *problem; /* NULL: it is fine */
} made[] = {
    { HEADER("<f4", "False", "(2, 3)"), 24, NULL },
    { HEADER("<f4", "False", "(2, 3)"), 25, NULL }, /* NumPy ignores what follows, too */
    { HEADER("<f4", "False", "(2, 3)"), 23, "needs more elements than the 23 bytes" },
    { HEADER("<f4", "True", "(2L, 3L)"), 24, NULL },
    { HEADER("<f4", "False", "(6)"), 24, NULL },
    { HEADER("=f4", "False", "(6,)"), 24, NULL },
    { HEADER("f4", "False", "(6,)"), 24, NULL },
    { HEADER("<V2", "False", "(3,)"), 6, NULL },
    { "{\"shape\": (1,), \"descr\": \"<f8\", \"fortran_order\": False}", 8, NULL },
    { HEADER("<f4", "False", "()"), 4, NULL },
    { HEADER("<f4", "False", "()"), 0, "needs more elements" },
    { HEADER("<f4", "False", "(0, 99)"), 0, NULL },
    { HEADER("<f4", "False", "(4294967296, 4294967296)"), 64, "needs more elements" },
    { HEADER("<f4", "False", "(4611686018427387904,)"), 64, "needs more elements" },
    { HEADER("<f4", "False", "(9223372036854775807, 2, 0)"), 64, "needs more elements" },
    { HEADER("<f4", "False", "(9223372036854775808,)"), 64, "not a number that fits" },
    { HEADER("<f4", "False", "(-1,)"), 64, "not a number that fits" },
    { HEADER("<f4", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), 64, "more than 16" },
    { HEADER("<f4", "Maybe", "(1,)"), 64, "neither True nor False" },
    { HEADER("|O", "False", "(1,)"), 64, "Python objects" },
    { HEADER("<U4", "False", "(1,)"), 64, "element type is not supported" },
    { HEADER("", "False", "(1,)"), 64, "element type is not supported" },
    { HEADER("<f444444444444444444", "False", "(1,)"), 64, "descr is not a string" },
    { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 64, "structured" },
    { "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 64,
      "unknown or a duplicate key" },
    { "{'descr': '<f4', 'shape': (1,)}", 64, "is missing from the header" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", 64, "unknown" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", 64, "not a dict" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (1", 64, "not a tuple" },
    { "{'descr': '<f4", 64, "descr is not a string" },
    { "{'de\\x73cr': '<f4'}", 64, "not a dict of descr" },
    { "__import__('os').system('x')", 64, "not a dict" },
    { "", 64, "not a dict" },
};

START_TEST(headers_are_read_strictly)
{
    struct tensor t;
    struct status status = read_made(&t, made[_i].header, made[_i].data);
    if (made[_i].problem) {
        ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
        ck_assert_msg(strstr(status.text, made[_i].problem) != NULL, "%s", status.text);
    } else {
        ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    }
}
END_TEST

/* Every cut of a file is an error or, behind the data it needs, harmless. */
START_TEST(every_cut_of_a_file)
{
    size_t bytes;
    char *text = scratch_read(PROBE_TEST_DATA "/npy/f4.c.npy", &bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        struct tensor t;
        char *exact = malloc(cut ? cut : 1);
        memcpy(exact, text, cut);
        ck_assert_int_eq(npy_read(&t, &arena, exact, cut, "t").code, STATUS_BAD_INPUT);
        free(exact);
    }
    free(text);
}
END_TEST

START_TEST(preambles_are_checked)
{
    struct tensor t;
    static const struct {
        const char *bytes;
        size_t size;
        const char *problem;
    } files[] = {
        { "\x93NUMPX\1\0\2\0{}", 12, "it is not a .npy file" },
        { "\x93NUMPY\0\0\2\0{}", 12, "format version" },
        { "\x93NUMPY\4\0\2\0\0\0{}", 14, "format version" },
        { "\x93NUMPY\2\0\2\0", 10, "ends inside the header" },
        { "\x93NUMPY\2\0\xff\xff\xff\xff{}", 14, "ends inside the header" },
        { "\x93NUMPY\1\0\3\0{}", 12, "ends inside the header" },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct status status = npy_read(&t, &arena, files[i].bytes, files[i].size, "t");
        ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
        ck_assert_msg(strstr(status.text, files[i].problem) != NULL, "%s", status.text);
    }
}
END_TEST

/* A header may have 64 KiB; one that says it has more, and is there, is refused all the same. */
START_TEST(headers_have_a_limit)
{
    static char file[12 + 65537 + 8];
    struct tensor t;
    for (size_t length = 65536; length <= 65537; length++) {
        memset(file, ' ', sizeof file);
        memcpy(file, "\x93NUMPY\2\0", 8);
        for (int i = 0; i < 4; i++) file[8 + i] = (char)(length >> 8 * i);
        static const char text[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
        memcpy(file + 12, text, sizeof text - 1);
        file[12 + length - 1] = '\n';
        struct status status = npy_read(&t, &arena, file, 12 + length + 8, "t");
        if (length == 65536) ck_assert_msg(!status.code, "%s", status.text);
        else ck_assert_ptr_nonnull(strstr(status.text, "its header is longer than 64 KiB"));
    }
}
END_TEST

START_TEST(bools_are_zero_or_one)
{
    unsigned char bytes[] = "\x93NUMPY\1\0\x3c\0"
                            "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}     \1\2";
    struct tensor t;
    struct status status = npy_read(&t, &arena, bytes, sizeof bytes - 1, "t");
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "element 1 is a bool that is neither 0 nor 1"));
    bytes[sizeof bytes - 2] = 0;
    ck_assert_int_eq(npy_read(&t, &arena, bytes, sizeof bytes - 1, "t").code, STATUS_OK);
}
END_TEST

/* ---- writing ---------------------------------------------------------------------------- */

/* What is written is byte for byte what NumPy writes. */
START_TEST(writes_what_numpy_writes)
{
    static const int64_t shape[] = { 2, 3, 4 };
    struct scratch dir = scratch_make();
    char name[64], path[512];
    struct tensor t;
    size_t want_bytes, got_bytes;

    snprintf(name, sizeof name, "%s.c.npy", types[_i].descr);
    snprintf(path, sizeof path, "%s/npy/%s", PROBE_TEST_DATA, name);
    fill_tensor(&t, &arena, types[_i].dtype, 3, shape);
    ck_assert_int_eq(npy_write(scratch_path(&dir, name), &t, &arena).code, STATUS_OK);
    char *want = scratch_read(path, &want_bytes);
    char *got = scratch_read(scratch_path(&dir, name), &got_bytes);
    /* NumPy 1.24 and later leave room to grow in the padding; the header itself is the same. */
    ck_assert_int_eq(strncmp(want + 10, got + 10, strcspn(got + 10, "}") + 1), 0);
    size_t data = 24 * dtype_info(types[_i].dtype)->bytes;
    ck_assert_uint_eq((got_bytes - data) % 64, 0);
    ck_assert_mem_eq(want + want_bytes - data, got + got_bytes - data, data);
    free(want);
    free(got);
    struct status status = npy_write(scratch_path(&dir, name), &t, &arena);
    ck_assert(file_already_exists(status));
    scratch_remove(&dir);
}
END_TEST

/* Shapes are Python's tuples: of none, of one with its comma, of many. */
START_TEST(shapes_are_written_as_tuples)
{
    static const int64_t shape[16] = { 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3 },
                         five[] = { 5 }, six[] = { 2, 3 };
    static const struct {
        int rank;
        const int64_t *shape;
        const char *text;
    } rows[] = {
        { 0, NULL, "'shape': (), }" },
        { 1, five, "'shape': (5,), }" },
        { 2, six, "'shape': (2, 3), }" },
        { 16, shape, "'shape': (2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3), }" },
    };
    struct scratch dir = scratch_make();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[16];
        size_t bytes;
        struct tensor t, back;
        snprintf(name, sizeof name, "%zu.npy", i);
        fill_tensor(&t, &arena, DT_F32, rows[i].rank, rows[i].shape);
        ck_assert_int_eq(npy_write(scratch_path(&dir, name), &t, &arena).code, STATUS_OK);
        char *file = scratch_read(scratch_path(&dir, name), &bytes);
        ck_assert_ptr_nonnull(strstr(file + 10, rows[i].text));
        ck_assert_int_eq(npy_read(&back, &arena, file, bytes, "t").code, STATUS_OK);
        check_shape(&back, rows[i].rank, rows[i].shape);
        check_elements(&back);
        free(file);
    }
    scratch_remove(&dir);
}
END_TEST

/* Types NumPy lacks are written as float32; views in C order; and all is read back. */
START_TEST(written_files_are_read_back)
{
    static const enum dtype dtypes[] = { DT_BF16, DT_F8E4M3, DT_F8E5M2, DT_F32 };
    static const int64_t shape[] = { 3, 2 };
    struct scratch dir = scratch_make();
    struct tensor t, back;
    struct file_map map;

    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.npy", i);
        fill_tensor(&t, &arena, dtypes[i], 2, shape);
        int64_t swap = t.shape[0];
        t.shape[0] = t.shape[1], t.shape[1] = swap;
        swap = t.stride[0];
        t.stride[0] = t.stride[1], t.stride[1] = swap;
        ck_assert_int_eq(npy_write(scratch_path(&dir, name), &t, &arena).code, STATUS_OK);
        ck_assert_int_eq(
            tensor_file_read(&back, &map, &arena, scratch_path(&dir, name), FILES_CHECKED).code,
            STATUS_OK);
        ck_assert_int_eq(back.dtype, DT_F32);
        ck_assert(tensor_same_shape(&back, &t));
        for (int k = 0; k < 6; k++) {
            double want[2];
            element_expected(want, DT_F32, (size_t)(k % 3 * 2 + k / 3));
            ck_assert_double_eq(((float *)back.data)[k], want[0]);
        }
        file_unmap(&map);
    }
    fill_tensor(&t, &arena, DT_F32, 0, NULL);
    ck_assert_int_eq(npy_write(scratch_path(&dir, "s.npy"), &t, &arena).code, STATUS_OK);
    ck_assert_int_eq(
        tensor_file_read(&back, &map, &arena, scratch_path(&dir, "s.npy"), FILES_CHECKED).code,
        STATUS_OK);
    ck_assert_int_eq(back.rank, 0);
    file_unmap(&map);
    scratch_remove(&dir);
}
END_TEST

START_TEST(suffixes_decide)
{
    struct scratch dir = scratch_make();
    struct tensor t;
    struct file_map map;
    struct status status =
        tensor_file_read(&t, &map, &arena, scratch_text(&dir, "a.bin", "x"), FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "its name ends with neither .pt nor .npy"));
    status = tensor_file_read(&t, &map, &arena, scratch_text(&dir, "a", "x"), FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    status = tensor_file_read(&t, &map, &arena, scratch_text(&dir, "a.pt", ""), FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "it is not a file of torch.save"));
    scratch_remove(&dir);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

int main(void)
{
    Suite *suite = suite_create("npy");
    TCase *tests = tcase_create("npy");
    tcase_add_checked_fixture(tests, start, finish);
    tcase_add_loop_test(tests, reads_what_numpy_writes, 0, COUNT(types));
    tcase_add_test(tests, reads_scalars_empties_and_versions);
    tcase_add_loop_test(tests, refuses_what_is_no_tensor, 0, 4);
    tcase_add_loop_test(tests, headers_are_read_strictly, 0, COUNT(made));
    tcase_add_test(tests, every_cut_of_a_file);
    tcase_add_test(tests, preambles_are_checked);
    tcase_add_test(tests, headers_have_a_limit);
    tcase_add_test(tests, shapes_are_written_as_tuples);
    tcase_add_test(tests, bools_are_zero_or_one);
    tcase_add_loop_test(tests, writes_what_numpy_writes, 0, COUNT(types));
    tcase_add_test(tests, written_files_are_read_back);
    tcase_add_test(tests, suffixes_decide);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
