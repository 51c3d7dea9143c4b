/* .pt files: those torch.save wrote in both containers, and those written here. */
#include <check.h>
#include <sys/mman.h>

#include "core/memory.h"
#include "elements.h"
#include "formats/pt.h"
#include "formats/tensor_file.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct arena arena;

static void start(void) { arena = (struct arena){ 0 }; }

static void finish(void) { arena_release(&arena); }

static const struct {
    const char *name;
    enum dtype dtype;
    /* clang-format off */
} types[] = {
    { "float64", DT_F64 },  { "float32", DT_F32 },      { "float16", DT_F16 },
    { "bfloat16", DT_BF16 }, { "int64", DT_I64 },       { "int32", DT_I32 },
    { "int16", DT_I16 },    { "int8", DT_I8 },          { "uint8", DT_U8 },
    { "bool", DT_BOOL },    { "complex128", DT_C128 },  { "complex64", DT_C64 },
};
/* clang-format on */

static const char *const containers[] = { "zip", "legacy" };

static struct status read_file(struct tensor *out, struct file_map *map, const char *name,
                               const char *container)
{
    char path[512];
    snprintf(path, sizeof path, "%s/pt/%s.%s.pt", PROBE_TEST_DATA, name, container);
    return tensor_file_read(out, map, &arena, path, FILES_TRUSTED);
}

static void read_good(struct tensor *out, struct file_map *map, const char *name,
                      const char *container)
{
    struct status status = read_file(out, map, name, container);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
}

/* Dense tensors of every dtype; those of zip files stay in the mapping. */
START_TEST(reads_every_dtype)
{
    static const int64_t shape[] = { 2, 3, 4 };
    struct tensor t;
    struct file_map map;
    char name[64];

    for (int c = 0; c < 2; c++) {
        snprintf(name, sizeof name, "%s.dense", types[_i].name);
        read_good(&t, &map, name, containers[c]);
        ck_assert_int_eq(t.dtype, types[_i].dtype);
        check_shape(&t, 3, shape);
        ck_assert(tensor_is_dense(&t));
        if (c == 0)
            ck_assert((const char *)t.data >= (const char *)map.data &&
                      (const char *)t.data < (const char *)map.data + map.bytes);
        check_elements(&t);
        file_unmap(&map);
    }
}
END_TEST

/* x = zeros(5, 4, 3).transpose(0, 2)[1:, ::2]: shape (2, 2, 5), strides (1, 6, 12), offset 1. */
START_TEST(reads_views)
{
    static const int64_t shape[] = { 2, 2, 5 };
    struct tensor t;
    struct file_map map;
    char name[64];

    for (int c = 0; c < 2; c++) {
        snprintf(name, sizeof name, "%s.view", types[_i].name);
        read_good(&t, &map, name, containers[c]);
        check_shape(&t, 3, shape);
        ck_assert_int_eq(t.stride[0], 1);
        ck_assert_int_eq(t.stride[1], 6);
        ck_assert_int_eq(t.stride[2], 12);
        check_elements(&t);
        file_unmap(&map);
    }
}
END_TEST

START_TEST(reads_scalars_empties_and_parameters)
{
    static const int64_t empty[] = { 0, 3 }, six[] = { 2, 3 }, four[] = { 4 };
    static const int64_t expanded[] = { 3, 4 };
    struct tensor t;
    struct file_map map;
    const char *container = containers[_i];

    read_good(&t, &map, "float32.scalar", container);
    check_shape(&t, 0, NULL);
    check_elements(&t);
    file_unmap(&map);
    read_good(&t, &map, "float32.empty", container);
    check_shape(&t, 2, empty);
    file_unmap(&map);
    read_good(&t, &map, "float32.parameter", container);
    check_shape(&t, 2, six);
    check_elements(&t);
    file_unmap(&map);
    read_good(&t, &map, "float64.requires_grad", container);
    ck_assert_int_eq(t.dtype, DT_F64);
    check_shape(&t, 1, four);
    check_elements(&t);
    file_unmap(&map);
    /* Three values, each expanded to a row of four: stride 0. */
    read_good(&t, &map, "float32.expanded", container);
    check_shape(&t, 2, expanded);
    ck_assert_int_eq(t.stride[1], 0);
    for (size_t i = 0; i < 3; i++) {
        double want[2];
        element_expected(want, DT_F32, i);
        ck_assert_double_eq(((float *)t.data)[(int64_t)i * t.stride[0]], want[0]);
    }
    file_unmap(&map);
}
END_TEST

START_TEST(refuses_what_is_no_tensor)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        { "other.list", "it holds something else than one tensor" },
        { "other.dict", "it holds something else than one tensor" },
        { "other.number", "it holds something else than one tensor" },
        { "other.sparse", "it asks for torch._utils._rebuild_sparse_tensor" },
    };
    struct tensor t;
    struct file_map map;
    for (int c = 0; c < 2; c++) {
        struct status status = read_file(&t, &map, files[_i].name, containers[c]);
        ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
        ck_assert_msg(strstr(status.text, files[_i].text) != NULL, "%s", status.text);
    }
}
END_TEST

/* Every cut of a file is an error, in memory of exactly that size. */
START_TEST(every_cut_is_refused)
{
    char path[512];
    size_t bytes;
    struct tensor t;

    snprintf(path, sizeof path, "%s/pt/float64.view.%s.pt", PROBE_TEST_DATA, containers[_i]);
    char *text = scratch_read(path, &bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        char *exact = malloc(cut ? cut : 1);
        memcpy(exact, text, cut);
        struct status status = pt_read(&t, &arena, exact, cut, "t.pt");
        ck_assert_msg(status.code == STATUS_BAD_INPUT, "cut at %zu", cut);
        free(exact);
        arena_reset(&arena);
    }
    free(text);
}
END_TEST

/* Any changed byte gives an error or a tensor that lies inside the file. */
START_TEST(every_changed_byte_is_survived)
{
    char path[512];
    size_t bytes;

    snprintf(path, sizeof path, "%s/pt/int16.view.%s.pt", PROBE_TEST_DATA, containers[_i]);
    char *text = scratch_read(path, &bytes), *copy = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        static const unsigned char changes[] = { 0x01, 0x80, 0xff, 0x20 };
        for (int k = 0; k < 4; k++) {
            struct tensor t, dense;
            memcpy(copy, text, bytes);
            copy[i] ^= (char)changes[k];
            struct status status = pt_read(&t, &arena, copy, bytes, "t.pt");
            ck_assert(status.code == STATUS_OK || status.code == STATUS_BAD_INPUT);
            if (!status.code) ck_assert_int_eq(tensor_densify(&dense, &arena, &t).code, STATUS_OK);
            arena_reset(&arena);
        }
    }
    free(copy);
    free(text);
}
END_TEST

static int allocations_left;

static int fail_allocation(size_t bytes)
{
    (void)bytes;
    return allocations_left-- == 0;
}

/* Without memory: STATUS_NO_MEMORY, whichever allocation fails. The arena takes blocks, so a
 * limit of its own is moved through all sizes instead. */
START_TEST(memory_may_run_out)
{
    char path[512];
    size_t bytes;
    struct tensor t;

    snprintf(path, sizeof path, "%s/pt/float32.parameter.%s.pt", PROBE_TEST_DATA, containers[_i]);
    char *text = scratch_read(path, &bytes);
    bool succeeded = false;
    for (size_t limit = 64; !succeeded && limit < 1 << 20; limit += 64) {
        arena.limit_bytes = limit;
        struct status status = pt_read(&t, &arena, text, bytes, "t.pt");
        ck_assert_msg(status.code == STATUS_OK || status.code == STATUS_NO_MEMORY, "%s",
                      status.text);
        succeeded = status.code == STATUS_OK;
        arena_reset(&arena);
    }
    ck_assert(succeeded);
    arena_release(&arena);
    arena.limit_bytes = 0;
    allocations_left = 0;
    memory_fault = fail_allocation;
    ck_assert_int_eq(pt_read(&t, &arena, text, bytes, "t.pt").code, STATUS_NO_MEMORY);
    memory_fault = NULL;
    free(text);
}
END_TEST

/* ---- writing ---------------------------------------------------------------------------- */

/* What is written is read back, for every dtype, as dense tensors at a multiple of 64 bytes. */
START_TEST(written_files_are_read_back)
{
    static const int64_t shape[] = { 2, 3, 4 };
    static const enum dtype more[] = { DT_F8E4M3, DT_F8E5M2 };
    struct scratch dir = scratch_make();
    enum { TYPES = sizeof types / sizeof *types };
    struct tensor t, back;
    struct file_map map;

    enum dtype dtype = _i < TYPES ? types[_i].dtype : more[_i - TYPES];
    const char *path = scratch_path(&dir, "a.pt");
    fill_tensor(&t, &arena, dtype, 3, shape);
    ck_assert_int_eq(pt_write(path, &t, &arena).code, STATUS_OK);
    struct status status = tensor_file_read(&back, &map, &arena, path, FILES_CHECKED);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    ck_assert_int_eq(back.dtype, dtype);
    check_shape(&back, 3, shape);
    ck_assert(tensor_is_dense(&back));
    ck_assert_uint_eq((size_t)((char *)back.data - (char *)map.data) % 64, 0);
    ck_assert_mem_eq(back.data, t.data, 24 * dtype_info(dtype)->bytes);
    file_unmap(&map);
    scratch_remove(&dir);
}
END_TEST

START_TEST(writes_scalars_empties_and_views)
{
    static const int64_t empty[] = { 3, 0 }, six[] = { 2, 3 };
    struct scratch dir = scratch_make();
    struct tensor t, back;
    struct file_map map;

    fill_tensor(&t, &arena, DT_F32, 0, NULL);
    ck_assert_int_eq(pt_write(scratch_path(&dir, "s.pt"), &t, &arena).code, STATUS_OK);
    ck_assert_int_eq(
        tensor_file_read(&back, &map, &arena, scratch_path(&dir, "s.pt"), FILES_CHECKED).code,
        STATUS_OK);
    check_shape(&back, 0, NULL);
    check_elements(&back);
    file_unmap(&map);
    fill_tensor(&t, &arena, DT_F32, 2, empty);
    ck_assert_int_eq(pt_write(scratch_path(&dir, "e.pt"), &t, &arena).code, STATUS_OK);
    ck_assert_int_eq(
        tensor_file_read(&back, &map, &arena, scratch_path(&dir, "e.pt"), FILES_CHECKED).code,
        STATUS_OK);
    check_shape(&back, 2, empty);
    file_unmap(&map);
    /* A transposed view is written in its own order. */
    fill_tensor(&t, &arena, DT_I32, 2, six);
    t.shape[0] = 3, t.shape[1] = 2;
    t.stride[0] = 1, t.stride[1] = 3;
    ck_assert_int_eq(pt_write(scratch_path(&dir, "v.pt"), &t, &arena).code, STATUS_OK);
    ck_assert_int_eq(
        tensor_file_read(&back, &map, &arena, scratch_path(&dir, "v.pt"), FILES_CHECKED).code,
        STATUS_OK);
    ck_assert_int_eq(back.shape[0], 3);
    ck_assert_int_eq(((int32_t *)back.data)[1], ((int32_t *)t.data)[3]);
    file_unmap(&map);
    struct status status = pt_write(scratch_path(&dir, "v.pt"), &t, &arena);
    ck_assert(file_already_exists(status));
    scratch_remove(&dir);
}
END_TEST

/* ZIP64 fields for what is larger than this: for all records, for some, for the offsets of the last ones and
 * for none. Our reader and Python's zipfile (where there is one) read the same elements, which stay
 * aligned. */
START_TEST(zip64_fields_from_any_size)
{
    static const uint64_t limits[] = { 0,   1,   2,   3,   63,   64,   100,   200,
                                       300, 500, 700, 900, 1000, 1200, 100000 };
    static const int64_t shape[] = { 10, 10 };
    struct scratch dir = scratch_make();
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char name[32], command[1024];
        struct tensor t, back;
        struct file_map map;
        snprintf(name, sizeof name, "%zu.pt", i);
        const char *path = scratch_path(&dir, name);
        fill_tensor(&t, &arena, DT_F32, 2, shape);
        ck_assert_int_eq(pt_write_zip64(path, &t, &arena, limits[i]).code, STATUS_OK);
        struct status status = tensor_file_read(&back, &map, &arena, path, FILES_CHECKED);
        ck_assert_msg(status.code == STATUS_OK, "%llu: %s", (unsigned long long)limits[i],
                      status.text);
        check_shape(&back, 2, shape);
        check_elements(&back);
        ck_assert_uint_eq((size_t)((char *)back.data - (char *)map.data) % 64, 0);
        file_unmap(&map);
        scratch_write(&dir, "elements", t.data, 400);
        snprintf(command, sizeof command,
                 "command -v python3 >/dev/null || exit 0; python3 -c \"import zipfile; z = "
                 "zipfile.ZipFile('%s'); "
                 "assert z.testzip() is None and len(z.namelist()) == 3; "
                 "assert z.read('archive/data/0') == open('%s', 'rb').read() and "
                 "z.read('archive/version') == b'3\\n'\"",
                 path, scratch_path(&dir, "elements"));
        ck_assert_msg(system(command) == 0, "limit %llu", (unsigned long long)limits[i]);
    }
    scratch_remove(&dir);
}
END_TEST

/* With PROBE_LONG in the environment: a tensor beyond 2 GiB, whose sizes and offsets need ZIP64
 * fields, is written and read back (and loaded by torch, if there is one). */
START_TEST(tensors_beyond_two_gibibytes)
{
    static const int64_t shape[] = { (INT64_C(1) << 31) + 5 };
    const char *python = getenv("PROBE_TORCH_PYTHON");
    struct scratch dir = scratch_make();
    struct tensor t = { 0 }, back;
    struct file_map map;
    char command[1024];

    if (getenv("PROBE_LONG")) {
        size_t bytes = (size_t)shape[0];
        char *zeros = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ck_assert_ptr_ne(zeros, MAP_FAILED);
        zeros[bytes - 1] = 7;
        tensor_wrap(&t, zeros, DT_I8, 1, shape);
        const char *path = scratch_path(&dir, "big.pt");
        ck_assert_int_eq(pt_write(path, &t, &arena).code, STATUS_OK);
        struct status status = tensor_file_read(&back, &map, &arena, path, FILES_CHECKED);
        ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
        check_shape(&back, 1, shape);
        ck_assert_int_eq(((char *)back.data)[bytes - 1], 7);
        file_unmap(&map);
        munmap(zeros, bytes);
        if (python) {
            snprintf(command, sizeof command,
                     "%s -c \"import torch; t = torch.load('%s'); assert t.shape == "
                     "(2 ** 31 + 5,) and t[-1] == 7\"",
                     python, path);
            ck_assert_int_eq(system(command), 0);
        }
    }
    scratch_remove(&dir);
}
END_TEST

/* With PROBE_TORCH_PYTHON=/usr/bin/python3 (a Python with torch) in the environment: torch.load
 * reads what is written, with the same elements. */
START_TEST(torch_loads_what_is_written)
{
    static const char script[] =
        "import sys, torch\n"
        "for line in sys.stdin:\n"
        "    path, dtype = line.split()\n"
        "    t = torch.load(path)\n"
        "    assert str(t.dtype) == dtype and tuple(t.shape) == (2, 3, 4), (t.dtype, t.shape)\n"
        "    want = torch.load(sys.argv[1] + dtype[6:] + '.dense.zip.pt')\n"
        "    assert torch.equal(t, want), dtype\n"
        "    assert t.is_contiguous() and not t.requires_grad\n"
        "print('checked')\n";
    static const int64_t shape[] = { 2, 3, 4 };
    const char *python = getenv("PROBE_TORCH_PYTHON");
    struct scratch dir = scratch_make();
    char command[1024];
    struct tensor t;

    if (python) {
        snprintf(command, sizeof command, "%s %s %s/pt/", python,
                 scratch_text(&dir, "check.py", script), PROBE_TEST_DATA);
        FILE *pipe = popen(command, "w");
        ck_assert_ptr_nonnull(pipe);
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s.pt", types[i].name);
            fill_tensor(&t, &arena, types[i].dtype, 3, shape);
            ck_assert_int_eq(pt_write(scratch_path(&dir, name), &t, &arena).code, STATUS_OK);
            fprintf(pipe, "%s torch.%s\n", scratch_path(&dir, name), types[i].name);
        }
        ck_assert_int_eq(pclose(pipe), 0);
    }
    scratch_remove(&dir);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

int main(void)
{
    Suite *suite = suite_create("pt");
    TCase *tests = tcase_create("pt");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, start, finish);
    tcase_add_loop_test(tests, reads_every_dtype, 0, COUNT(types));
    tcase_add_loop_test(tests, reads_views, 0, COUNT(types));
    tcase_add_loop_test(tests, reads_scalars_empties_and_parameters, 0, 2);
    tcase_add_loop_test(tests, refuses_what_is_no_tensor, 0, 4);
    tcase_add_loop_test(tests, every_cut_is_refused, 0, 2);
    tcase_add_loop_test(tests, every_changed_byte_is_survived, 0, 2);
    tcase_add_loop_test(tests, memory_may_run_out, 0, 2);
    tcase_add_loop_test(tests, written_files_are_read_back, 0, COUNT(types) + 2);
    tcase_add_test(tests, writes_scalars_empties_and_views);
    tcase_add_test(tests, zip64_fields_from_any_size);
    tcase_add_test(tests, tensors_beyond_two_gibibytes);
    tcase_add_test(tests, torch_loads_what_is_written);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
