/* .pt files made to harm: pickles that would run code or unfold, archives that lie. Each is an
 * error that says what is wrong, in bounded memory and time. */
#include <check.h>
#include <stdio.h>

#include "elements.h"
#include "formats/pt.h"
#include "support/suite.h"
#include "zip_maker.h"

static struct arena arena;

static void start(void) { arena = (struct arena){ 0 }; }

static void finish(void) { arena_release(&arena); }

/* Read bytes from memory of exactly their size. */
static struct status read_bytes(struct tensor *out, const struct made_bytes *bytes)
{
    unsigned char *exact = malloc(bytes->count ? bytes->count : 1);
    memcpy(exact, bytes->data, bytes->count);
    struct status status = pt_read(out, &arena, exact, bytes->count, "t.pt");
    if (!status.code) {
        struct tensor dense;
        ck_assert_int_eq(tensor_densify(&dense, &arena, out).code, STATUS_OK);
        if (tensor_is_dense(out)) {
            size_t total = tensor_elements(out) * dtype_info(out->dtype)->bytes;
            void *copy = malloc(total + 1);
            memcpy(copy, out->data, total);
            free(copy);
        }
    }
    free(exact);
    return status;
}

/* ---- pickles ---------------------------------------------------------------------------- */

#define PROTO   "\x80\x02"
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n"
#define STORAGE(class, count) \
    "(X\7\0\0\0storagectorch\n" class "\nX\1\0\0\0000X\3\0\0\0cpuK" count "tQ"
#define UNTYPED(name, length, bytes) \
    "(X\7\0\0\0storagectorch.storage\nUntypedStorage\nX" length name "X\3\0\0\0cpuK" bytes "tQ"
#define HOOKS \
    "\x89"    \
    "ccollections\nOrderedDict\n)R"

/* A file whose pickle is `pickle`, with a storage of `elements` floats, numbered from 0. */
static struct status read_pickle(struct tensor *out, const void *pickle, size_t bytes,
                                 size_t elements)
{
    float floats[64];
    for (int i = 0; i < 64; i++) floats[i] = (float)i;
    struct made_entry entries[] = {
        { .name = "a/data.pkl", .data = pickle, .bytes = bytes },
        { .name = "a/data/0", .data = floats, .bytes = 4 * elements },
        { .name = "a/version", .data = "3\n", .bytes = 2 },
    };
    struct made_bytes file = made_archive(&(struct made_zip){ .count = 3, .entries = entries });
    struct status status = read_bytes(out, &file);
    free(file.data);
    return status;
}

#define PICKLE(text) text, sizeof(text) - 1

static const struct {
    const char *pickle;
    size_t bytes;
    const char *problem; /* NULL: a tensor */
    /* clang-format off */
} pickles[] = {
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0K\2K\3\x86K\3K\1\x86" HOOKS
             "tR."), NULL },
    /* protocol 4: frames, short texts, memoize, names from the stack */
    { PICKLE("\x80\4\x95\x80\0\0\0\0\0\0\0\x8c\x0ctorch._utils\x94\x8c\x12_rebuild_tensor_v2\x94"
             "\x93\x94((\x8c\7storage\x94\x8c\5torch\x94\x8c\x0c" "FloatStorage\x94\x93\x94\x8c\1"
             "0\x94\x8c\3cpu\x94K\6t\x94QK\0K\6\x85\x94K\1\x85\x94\x89\x8c\x0b" "collections"
             "\x94\x8c\x0bOrderedDict\x94\x93\x94)R\x94t\x94R\x94."), NULL },
    /* a torch.Size, and instructions that a tensor does not need but may have */
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0ctorch\nSize\nK\6\x85\x85RK\1"
             "\x85" HOOKS "tR."), NULL },
    { PICKLE(PROTO "G\x40\0\0\0\0\0\0\0" "0(NN1K\1" "0N20" "0" REBUILD "(" STORAGE(
             "FloatStorage", "\6") "K\0K\6\x85K\1\x85" HOOKS "tR."), NULL },
    { PICKLE(PROTO "G\x40\0."), "ends in the middle" },
    { PICKLE(PROTO "ctorch\nSize\n)R."), "not made of a tuple" },
    /* code: os.system, builtins, eval, getattr, and by every instruction that calls */
    { PICKLE(PROTO "cos\nsystem\nX\x10\0\0\0touch /tmp/owned\x85R."), "it asks for os.system" },
    { PICKLE(PROTO "cposix\nsystem\nX\2\0\0\0id\x85R."), "it asks for posix.system" },
    { PICKLE(PROTO "c__builtin__\neval\nX\1\0\0\0001\x85R."), "it asks for __builtin__.eval" },
    { PICKLE("\x80\4\x8c\2os\x8c\6system\x93\x8c\2id\x85R."), "it asks for os.system" },
    { PICKLE(PROTO "ctorch\nload\nX\1\0\0\0x\x85R."), "it asks for torch.load" },
    { PICKLE(PROTO "ctorch._utils\n_rebuild_qtensor\n)R."), "_rebuild_qtensor" },
    { PICKLE(PROTO "(S'id'\nios\nsystem\n."), "instruction 0x53" },
    { PICKLE(PROTO "(ios\nsystem\n."), "instruction 0x69" },
    { PICKLE(PROTO "(cos\nsystem\no."), "it asks for os.system" },
    { PICKLE(PROTO ")}b."), "a state to something that has none" },
    { PICKLE(PROTO "ccollections\nOrderedDict\n)R}b."), "a state to something that has none" },
    { PICKLE(PROTO "ccollections\nOrderedDict\n)\x81."), "something else than one tensor" },
    { PICKLE(PROTO "cos\nsystem\n)\x81."), "it asks for os.system" },
    { PICKLE(PROTO "c__builtin__\ngetattr\n."), "it asks for __builtin__.getattr" },
    { PICKLE(PROTO "\x82\1."), "instruction 0x82" },
    /* calls of what cannot be called */
    { PICKLE(PROTO "K\1)R."), "it calls something that is not a known name" },
    { PICKLE(PROTO "ctorch\nFloatStorage\n)R."), "it calls a name that cannot be called" },
    { PICKLE(PROTO "ctorch\nfloat32\n)R."), "it calls a name that cannot be called" },
    { PICKLE(PROTO REBUILD ")R."), "not described as torch describes it" },
    { PICKLE(PROTO REBUILD "K\1R."), "it calls something that is not a known name" },
    { PICKLE(PROTO "ctorch._utils\n_rebuild_parameter\n)R."), "not made of a tensor" },
    { PICKLE(PROTO "ctorch._utils\n_rebuild_parameter\nN\x85R."), "not made of a tensor" },
    /* stacks and memos */
    { PICKLE(PROTO "R."), "takes a value that is not there" },
    { PICKLE(PROTO "t."), "uses a mark that is not there" },
    { PICKLE(PROTO "(K\1."), "leaves no single value" },
    { PICKLE(PROTO "K\1K\2."), "leaves no single value" },
    { PICKLE(PROTO "."), "leaves no single value" },
    { PICKLE(PROTO "K\1"), "no end" },
    { PICKLE(PROTO "K\1(0."), "takes a value that is not there" },
    { PICKLE(PROTO "h\0."), "a memo that was never set" },
    { PICKLE(PROTO "j\xff\xff\xff\xff."), "a memo that was never set" },
    { PICKLE(PROTO "K\1r\xff\xff\xff\xff."), "its memo has a hole" },
    { PICKLE(PROTO "q\0."), "uses a value that is not there" },
    { PICKLE(PROTO "X\xff\xff\xff\xff" "a."), "longer than the pickle" },
    { PICKLE(PROTO "X\x10\0\0\0" "a."), "longer than the pickle" },
    { PICKLE(PROTO "\x8a\xff\1."), "ends in the middle" },
    { PICKLE(PROTO "cos"), "ends in the middle" },
    { PICKLE("\x80\1N."), "protocol is not 2 to 5" },
    { PICKLE("\x80\6N."), "protocol is not 2 to 5" },
    { PICKLE(PROTO "(K\1K\2K\3u."), "uses a value that is not there" },
    { PICKLE(PROTO "}(K\1K\2K\3u."), "a key without a value" },
    { PICKLE(PROTO "}K\1a."), "adds items to something else" },
    { PICKLE(PROTO "]K\1K\2s."), "adds items to something else" },
    { PICKLE(PROTO "K\1K\2\x93."), "a name is not a text" },
    { PICKLE(PROTO "}."), "something else than one tensor" },
    { PICKLE(PROTO "ccollections\nOrderedDict\n)R."), "something else than one tensor" },
    /* storages */
    { PICKLE(PROTO "NQ."), "a storage is not described" },
    { PICKLE(PROTO ")Q."), "a storage is not described" },
    { PICKLE(PROTO "(X\7\0\0\0storagecos\nsystem\ntQ."), "it asks for os.system" },
    { PICKLE(PROTO "(X\7\0\0\0storageccollections\nOrderedDict\nX\1\0\0\0000X\3\0\0\0cpuK\6tQ."),
      "a storage is not described" },
    { PICKLE(PROTO "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuJ\xff\xff\xff"
             "\xfftQ."), "a storage is not described" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\7") "K\0K\6\x85K\1\x85" HOOKS "tR."),
      "its storage has another size" },
    { PICKLE(PROTO REBUILD "(" STORAGE("DoubleStorage", "\6") "K\0K\6\x85K\1\x85" HOOKS "tR."),
      "its storage has another size" },
    { PICKLE(PROTO "ctorch._utils\n_rebuild_tensor_v3\n(" STORAGE("FloatStorage", "\6")
             "K\0K\6\x85K\1\x85" HOOKS "NtR."), "a tensor has no known dtype" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") STORAGE("FloatStorage", "\5")
             "tR."), "described twice, and differently" },
    { PICKLE(PROTO REBUILD "((X\7\0\0\0storagectorch\nFloatStorage\nX\5\0\0\0../..X\3\0\0\0cpuK"
             "\6tQK\0K\6\x85K\1\x85" HOOKS "tR."), "the record of its storage is missing" },
    /* sizes, strides and offsets */
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\1K\6\x85K\1\x85" HOOKS "tR."),
      "reaches beyond its storage" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0K\2K\3\x86K\4K\1\x86" HOOKS
             "tR."), "reaches beyond its storage" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0K\6\x85J\xff\xff\xff\xff\x85"
             HOOKS "tR."), "non-negative integers" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "J\xff\xff\xff\xffK\6\x85K\1\x85"
             HOOKS "tR."), "not described as torch describes it" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0K\6\x85K\1K\1\x86" HOOKS "tR."),
      "non-negative integers" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0\x8a\x08\0\0\0\0\0\0\0\x40\x8a"
             "\x08\0\0\0\0\0\0\0\x40\x86K\0K\0\x86" HOOKS "tR."), "the sizes of the tensor "
      "overflow" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0K\3\x85\x8a\x08\xff\xff\xff\xff"
             "\xff\xff\xff\x7f\x85" HOOKS "tR."), "reaches beyond its storage" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "\x8a\x08\xff\xff\xff\xff\xff\xff"
             "\xff\x7fK\1\x85K\1\x85" HOOKS "tR."), "reaches beyond its storage" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0K\6\x85K\1\x85" HOOKS
             "}X\4\0\0\0conj\x88stR."), NULL },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0K\6\x85K\1\x85" HOOKS
             "}X\4\0\0\0lazy\x88stR."), "the metadata of a tensor" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0K\6\x85K\1\x85" HOOKS
             "}X\4\0\0\0conjK\1stR."), "the metadata of a tensor" },
    { PICKLE(PROTO "ctorch._utils\n_rebuild_tensor_v3\n(" STORAGE("FloatStorage", "\6")
             "K\0K\6\x85K\1\x85" HOOKS "ctorch\nfloat32\ntR."), "do not fit" },
    /* bytes whose dtype the tensor names, or does not */
    { PICKLE(PROTO "ctorch._utils\n_rebuild_tensor_v3\n(" UNTYPED("0", "\1\0\0\0", "\x18")
             "K\0K\6\x85K\1\x85" HOOKS "ctorch\nfloat32\ntR."), NULL },
    { PICKLE(PROTO "ctorch._utils\n_rebuild_tensor_v3\n(" UNTYPED("0", "\1\0\0\0", "\x18")
             "K\0K\6\x85K\1\x85" HOOKS "ctorch\nfloat64\ntR."), "reaches beyond its storage" },
    { PICKLE(PROTO "ctorch._utils\n_rebuild_tensor_v3\n(" UNTYPED("0", "\1\0\0\0", "\x18")
             "K\0K\6\x85K\1\x85" HOOKS "ctorch\nFloatStorage\ntR."), "a tensor has no known dtype" },
    { PICKLE(PROTO "ctorch._utils\n_rebuild_tensor_v3\n(" UNTYPED("0", "\1\0\0\0", "\x18")
             "K\0K\6\x85K\1\x85" HOOKS "ctorch\nSize\ntR."), "a tensor has no known dtype" },
    { PICKLE(PROTO REBUILD "(" UNTYPED("0", "\1\0\0\0", "\x18") "K\0K\6\x85K\1\x85" HOOKS "tR."),
      "do not fit" },
    /* sizes that are none, and 17 of them */
    { PICKLE(PROTO "ctorch\nSize\n]\x85R."), "not made of a tuple" },
    { PICKLE(PROTO "ctorch\nSize\n))\x86R."), "not made of a tuple" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0]K\1\x85" HOOKS "tR."),
      "non-negative integers" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0(K\1K\1K\1K\1K\1K\1K\1K\1K\1K\1K\1"
             "K\1K\1K\1K\1K\1K\6tK\1\x85" HOOKS "tR."), "at most 16" },
    /* a product, and a sum, that overflow */
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\0K\4\x85\x8a\x08\xff\xff\xff\xff"
             "\xff\xff\xff\x7f\x85" HOOKS "tR."), "reaches beyond its storage" },
    { PICKLE(PROTO REBUILD "(" STORAGE("FloatStorage", "\6") "K\5K\3\x85\x8a\x08\xff\xff\xff\xff"
             "\xff\xff\xff\x7f\x85" HOOKS "tR."), "reaches beyond its storage" },
    /* a storage of 2^62 doubles, and one with a name of 64 bytes */
    { PICKLE(PROTO REBUILD "((X\7\0\0\0storagectorch\nDoubleStorage\nX\1\0\0\0000X\3\0\0\0cpu\x8a\x08"
             "\0\0\0\0\0\0\0\x40tQK\0K\6\x85K\1\x85" HOOKS "tR."), "its storage has another size" },
    { PICKLE(PROTO REBUILD "(" UNTYPED("0123456789012345678901234567890123456789012345678901234567890123",
             "\x40\0\0\0", "\6") "K\0K\6\x85K\1\x85" HOOKS "tR."), "do not fit" },
    { PICKLE(PROTO REBUILD "((X\7\0\0\0storagectorch\nFloatStorage\nX\x40\0\0\0"
             "0123456789012345678901234567890123456789012345678901234567890123X\3\0\0\0cpuK\6tQ"
             "K\0K\6\x85K\1\x85" HOOKS "tR."), "a storage has an overlong name" },
};
/* clang-format on */

START_TEST(pickles_are_data)
{
    struct tensor t;
    struct status status = read_pickle(&t, pickles[_i].pickle, pickles[_i].bytes, 6);
    if (!pickles[_i].problem) {
        ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
        ck_assert_uint_eq(tensor_elements(&t), 6);
        return;
    }
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, pickles[_i].problem) != NULL, "%s", status.text);
}
END_TEST

/* An expanded tensor claims 10^18 elements of one: legal for strides of 0, refused by its size
 * only where memory would be asked for. */
START_TEST(huge_expansions_cost_nothing)
{
    struct tensor t;
    float one = 1;
    static const char pickle[] = PROTO REBUILD
        "(" STORAGE("FloatStorage", "\1") "K\0\x8a\x08\0\0\x64\xa7\xb3\xb6\xe0\x0d\x85K\0\x85" HOOKS
                                          "tR.";
    struct made_entry entries[] = {
        { .name = "a/data.pkl", .data = pickle, .bytes = sizeof pickle - 1 },
        { .name = "a/data/0", .data = &one, .bytes = 4 },
    };
    struct made_bytes file = made_archive(&(struct made_zip){ .count = 2, .entries = entries });
    struct status status = pt_read(&t, &arena, file.data, file.count, "t.pt");
    ck_assert_msg(status.code == STATUS_BAD_INPUT, "%d %s", status.code, status.text);
    ck_assert_ptr_nonnull(strstr(status.text, "the sizes of the tensor overflow"));
    ck_assert_uint_lt(arena.held_bytes, 1 << 20);
    free(file.data);
}
END_TEST

/* Pickles that grow: 10^5 nested tuples, lists in lists through the memo (a billion laughs),
 * doubling by DUP. All linear, and then refused because there is no tensor. */
START_TEST(bombs_stay_small)
{
    struct made_bytes pickle = { 0 };
    struct tensor t;

    made_put(&pickle, PROTO "N", 3);
    for (int i = 0; i < 100000; i++) made_put(&pickle, "\x85", 1);
    made_put(&pickle, ".", 1);
    struct status status = read_pickle(&t, pickle.data, pickle.count, 6);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "something else than one tensor"));

    pickle.count = 0;
    made_put(&pickle, PROTO "]q\0", 5);
    for (int i = 0; i < 250; i++) {
        unsigned char step[] = { '(', 'h', 0, 'h', 0, 'h', 0, 'h', 0, 't', 'q', 0 };
        for (int k = 2; k <= 8; k += 2) step[k] = (unsigned char)i;
        step[11] = (unsigned char)(i + 1);
        made_put(&pickle, step, sizeof step);
    }
    made_put(&pickle, ".", 1);
    status = read_pickle(&t, pickle.data, pickle.count, 6);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);

    pickle.count = 0;
    made_put(&pickle, PROTO "N(", 4);
    for (int i = 0; i < 200000; i++) made_put(&pickle, "N", 1);
    made_put(&pickle, "t0.", 3);
    status = read_pickle(&t, pickle.data, pickle.count, 6);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);

    pickle.count = 0;
    made_put(&pickle, PROTO, 2);
    for (int i = 0; i < 200000; i++) made_put(&pickle, "(", 1);
    status = read_pickle(&t, pickle.data, pickle.count, 6);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "it has no end"));
    ck_assert_uint_lt(arena.held_bytes, 256u << 20);

    /* A list that holds itself. */
    static const char knot[] = PROTO "]q\0h\0a.";
    status = read_pickle(&t, knot, sizeof knot - 1, 6);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);

    pickle.count = 0;
    made_put(&pickle, PROTO, 2);
    for (int i = 0; i < 300000; i++) made_put(&pickle, "N0", 2);
    made_put(&pickle, "N.", 2);
    status = read_pickle(&t, pickle.data, pickle.count, 6);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "its pickle is longer than 256 KiB"));
    free(pickle.data);
}
END_TEST

/* ---- archives --------------------------------------------------------------------------- */

static const char good_pickle[] = PROTO REBUILD
    "(" STORAGE("FloatStorage", "\6") "K\0K\6\x85K\1\x85" HOOKS "tR.";
static const float six[6] = { 0, 1, 2, 3, 4, 5 };

#define GOOD_PICKLE .name = "a/data.pkl", .data = good_pickle, .bytes = sizeof good_pickle - 1
#define GOOD_DATA   .name = "a/data/0", .data = six, .bytes = sizeof six

static const struct {
    const char *what;
    struct made_entry entries[3];
    struct made_zip end;
    const char *problem;
    /* clang-format off */
} archives[] = {
    { "plain", { { GOOD_PICKLE }, { GOOD_DATA } }, { .count = 2 }, NULL },
    { "deflated", { { GOOD_PICKLE, .deflate = 1 }, { GOOD_DATA, .deflate = 1 } }, { .count = 2 },
      NULL },
    { "descriptors", { { GOOD_PICKLE, .descriptor = 1 }, { GOOD_DATA, .descriptor = 1 } },
      { .count = 2 }, NULL },
    { "zip64 entries", { { GOOD_PICKLE, .zip64 = 1 }, { GOOD_DATA, .zip64 = 1 } }, { .count = 2 },
      NULL },
    { "zip64 end", { { GOOD_PICKLE }, { GOOD_DATA } }, { .count = 2, .zip64_end = 1 }, NULL },
    { "a comment", { { GOOD_PICKLE }, { GOOD_DATA } }, { .count = 2, .end_comment = 300 }, NULL },
    { "big-endian",
      { { GOOD_PICKLE }, { GOOD_DATA }, { .name = "a/byteorder", .data = "big", .bytes = 3 } },
      { .count = 3 }, NULL },

    { "little-endian",
      { { GOOD_PICKLE }, { GOOD_DATA }, { .name = "a/byteorder", .data = "little", .bytes = 6 } },
      { .count = 3 }, NULL },
    { "an order that is none",
      { { GOOD_PICKLE }, { GOOD_DATA }, { .name = "a/byteorder", .data = "bug", .bytes = 3 } },
      { .count = 3 }, NULL },
    { "data.pkl in a folder below",
      { { GOOD_PICKLE }, { GOOD_DATA }, { .name = "a/b/data.pkl", .data = "", .bytes = 0 } },
      { .count = 3 }, NULL },
    { "names that are almost data.pkl",
      { { .name = "a/data.pky", .data = "", .bytes = 0 }, { GOOD_PICKLE }, { GOOD_DATA } },
      { .count = 3 }, NULL },
    { "data.pkl without a folder",
      { { .name = "data.pkl", .data = good_pickle, .bytes = sizeof good_pickle - 1 }, { GOOD_DATA } },
      { .count = 2 }, "not exactly one record data.pkl" },
    { "storages of the same length of name",
      { { .name = "a/data/1", .data = "", .bytes = 0 }, { GOOD_PICKLE }, { GOOD_DATA } },
      { .count = 3 }, NULL },

    { "wrong checksum", { { GOOD_PICKLE }, { GOOD_DATA, .crc = 1 } }, { .count = 2 },
      "the checksum of an entry is wrong" },
    { "wrong checksum, deflated", { { GOOD_PICKLE, .deflate = 1, .crc = 1 }, { GOOD_DATA } },
      { .count = 2 }, "the checksum of an entry is wrong" },
    { "encrypted", { { GOOD_PICKLE }, { GOOD_DATA, .flags = 1 } }, { .count = 2 }, "encrypted" },
    { "bzip2", { { GOOD_PICKLE }, { GOOD_DATA, .method = 12 } }, { .count = 2 },
      "another method than deflate" },
    { "no data.pkl", { { GOOD_DATA } }, { .count = 1 }, "not exactly one record data.pkl" },
    { "two data.pkl",
      { { GOOD_PICKLE }, { GOOD_DATA }, { .name = "b/data.pkl", .data = "", .bytes = 0 } },
      { .count = 3 }, "not exactly one record data.pkl" },
    { "no storage", { { GOOD_PICKLE } }, { .count = 1 }, "the record of its storage is missing" },
    { "storage of another folder",
      { { GOOD_PICKLE }, { .name = "b/data/0", .data = six, .bytes = sizeof six } },
      { .count = 2 }, "the record of its storage is missing" },
    { "short storage", { { GOOD_PICKLE }, { .name = "a/data/0", .data = six, .bytes = 20 } },
      { .count = 2 }, "its storage has another size" },
    { "another name in the header", { { GOOD_PICKLE }, { GOOD_DATA, .local_name = "a/data/9" } },
      { .count = 2 }, "header and the directory disagree" },
    { "another size in the header", { { GOOD_PICKLE }, { GOOD_DATA, .local_bytes = 23 } },
      { .count = 2 }, "header and the directory disagree" },
    { "stored with two sizes", { { GOOD_PICKLE }, { GOOD_DATA, .claimed_bytes = 25 } },
      { .count = 2 }, "sizes of a stored entry disagree" },
    { "data beyond the directory",
      { { GOOD_PICKLE }, { GOOD_DATA, .claimed_bytes = 4096, .claimed_packed = 4096,
                           .descriptor = 1 } },
      { .count = 2 }, "data lie outside" },
    { "sizes that overflow",
      { { GOOD_PICKLE }, { GOOD_DATA, .zip64 = 1, .claimed_bytes = UINT64_MAX,
                           .claimed_packed = UINT64_MAX, .descriptor = 1 } },
      { .count = 2 }, "data lie outside" },
    { "an offset that overflows",
      { { GOOD_PICKLE }, { GOOD_DATA, .zip64 = 1, .header_plus_one = UINT64_MAX } },
      { .count = 2 }, "an entry lies outside" },
    { "overlap: two entries, one header",
      { { GOOD_PICKLE, .descriptor = 1 },
        { GOOD_PICKLE, .header_plus_one = 1, .descriptor = 1 } },
      { .count = 2 }, "its entries overlap" },
    { "overlap: data into the next header",
      { { GOOD_PICKLE, .descriptor = 1, .claimed_bytes = 220, .claimed_packed = 220 },
        { GOOD_DATA }, { .name = "a/x", .data = archives, .bytes = 200 } },
      { .count = 3 }, "its entries overlap" },
    { "an entry that is no header", { { GOOD_PICKLE }, { GOOD_DATA, .header_plus_one = 8 } },
      { .count = 2 }, "an entry has no header" },
    { "deflated, longer than claimed",
      { { GOOD_PICKLE, .deflate = 1, .claimed_bytes = 10, .descriptor = 1 }, { GOOD_DATA } },
      { .count = 2 }, "cannot be inflated to the size it claims" },
    { "deflated, shorter than claimed",
      { { GOOD_PICKLE, .deflate = 1, .claimed_bytes = 1000, .descriptor = 1 }, { GOOD_DATA } },
      { .count = 2 }, "cannot be inflated to the size it claims" },
    { "deflated, absurdly long",
      { { GOOD_PICKLE, .deflate = 1, .claimed_bytes = 262144, .descriptor = 1 }, { GOOD_DATA } },
      { .count = 2 }, "lies about its size" },
    { "deflated, beyond 1 GiB",
      { { GOOD_PICKLE }, { GOOD_DATA, .deflate = 1, .claimed_bytes = UINT64_C(1) << 40,
                           .descriptor = 1, .zip64 = 1 } },
      { .count = 2 }, "its storage has another size" },
    { "a zip64 field that is not there",
      { { GOOD_PICKLE }, { GOOD_DATA, .claimed_bytes = 0xffffffff, .claimed_packed = 24 } },
      { .count = 2 }, "a ZIP64 field is missing" },
    { "stored bytes called deflated", { { GOOD_PICKLE, .method = 8 }, { GOOD_DATA } },
      { .count = 2 }, "cannot be inflated" },
    { "more entries than the directory has", { { GOOD_PICKLE }, { GOOD_DATA } },
      { .count = 2, .claimed_count = 3 }, "directory" },
    { "65000 entries", { { GOOD_PICKLE }, { GOOD_DATA } },
      { .count = 2, .claimed_count = 65000 }, "shorter than its number of entries" },
    { "2^60 entries", { { GOOD_PICKLE }, { GOOD_DATA } },
      { .count = 2, .claimed_count = UINT64_C(1) << 60, .zip64_end = 1 }, "more than 65536" },
    { "a directory beyond the end", { { GOOD_PICKLE }, { GOOD_DATA } },
      { .count = 2, .directory_bytes = 99999 }, "directory lies outside" },
    { "a zip64 directory beyond the end", { { GOOD_PICKLE }, { GOOD_DATA } },
      { .count = 2, .directory_offset_plus_one = UINT64_MAX, .zip64_end = 1 },
      "directory lies outside" },
    { "a directory elsewhere", { { GOOD_PICKLE }, { GOOD_DATA } },
      { .count = 2, .directory_offset_plus_one = 1 }, "directory is damaged" },
};
/* clang-format on */

START_TEST(archives_are_not_believed)
{
    struct tensor t;
    struct made_zip zip = archives[_i].end;
    zip.entries = archives[_i].entries;
    struct made_bytes file = made_archive(&zip);
    struct status status = read_bytes(&t, &file);
    free(file.data);
    if (!archives[_i].problem) {
        ck_assert_msg(status.code == STATUS_OK, "%s: %s", archives[_i].what, status.text);
        ck_assert_uint_eq(tensor_elements(&t), 6);
        return;
    }
    ck_assert_msg(status.code == STATUS_BAD_INPUT, "%s", archives[_i].what);
    ck_assert_msg(strstr(status.text, archives[_i].problem) != NULL, "%s: %s", archives[_i].what,
                  status.text);
}
END_TEST

/* Elements of a big-endian archive come out in this host's order. */
START_TEST(big_endian_elements)
{
    static const unsigned char swapped[8] = { 0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0 };
    static const char pickle[] = PROTO REBUILD
        "(" STORAGE("FloatStorage", "\2") "K\0K\2\x85K\1\x85" HOOKS "tR.";
    struct made_entry entries[] = {
        { .name = "a/data.pkl", .data = pickle, .bytes = sizeof pickle - 1 },
        { .name = "a/data/0", .data = swapped, .bytes = 8 },
        { .name = "a/byteorder", .data = "big", .bytes = 3 },
    };
    struct tensor t;
    struct made_bytes file = made_archive(&(struct made_zip){ .count = 3, .entries = entries });
    ck_assert_int_eq(pt_read(&t, &arena, file.data, file.count, "t.pt").code, STATUS_OK);
    ck_assert_double_eq(((float *)t.data)[0], 1.0);
    ck_assert_double_eq(((float *)t.data)[1], -2.5);
    free(file.data);
}
END_TEST

/* 256 MiB of zeros in 256 KiB: inflated when the arena has room for it, an error of memory when
 * it has not, and never more than it claims. */
START_TEST(a_zip_bomb_meets_the_limit_of_memory)
{
    enum { FLOATS = 64 << 20 };
    static const char pickle[] = PROTO REBUILD
        "((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuJ\0\0\0\4tQ"
        "K\0J\0\0\0\4\x85K\1\x85" HOOKS "tR.";
    void *zeros = calloc(FLOATS, 4);
    struct made_entry entries[] = {
        { .name = "a/data.pkl", .data = pickle, .bytes = sizeof pickle - 1 },
        { .name = "a/data/0", .data = zeros, .bytes = FLOATS * 4ul, .deflate = 1 },
    };
    struct tensor t;
    struct made_bytes file = made_archive(&(struct made_zip){ .count = 2, .entries = entries });
    free(zeros);
    ck_assert_uint_lt(file.count, 300000);
    arena.limit_bytes = 64 << 20;
    struct status status = pt_read(&t, &arena, file.data, file.count, "t.pt");
    ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
    ck_assert_uint_lt(arena.held_bytes, 4 << 20);
    arena.limit_bytes = 0;
    ck_assert_int_eq(pt_read(&t, &arena, file.data, file.count, "t.pt").code, STATUS_OK);
    ck_assert_uint_eq(tensor_elements(&t), FLOATS);
    free(file.data);
}
END_TEST

/* 60,000 entries, in order and piled on one place: time stays that of sorting. */
START_TEST(many_entries)
{
    enum { MANY = 60000 };
    struct made_entry *entries = calloc(MANY, sizeof *entries);
    char(*names)[16] = malloc(MANY * sizeof *names);
    struct tensor t;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof *names, "a/%d", i);
        entries[i] = (struct made_entry){ .name = names[i], .data = "x", .bytes = 1 };
    }
    struct made_bytes file = made_archive(&(struct made_zip){ .count = MANY, .entries = entries });
    struct status status = read_bytes(&t, &file);
    ck_assert_ptr_nonnull(strstr(status.text, "not exactly one record data.pkl"));
    free(file.data);
    for (int i = 0; i < MANY; i++)
        entries[i] =
            (struct made_entry){ .name = "a/x", .data = "x", .bytes = 1, .header_plus_one = 1 };
    file = made_archive(&(struct made_zip){ .count = MANY, .entries = entries });
    status = read_bytes(&t, &file);
    ck_assert_ptr_nonnull(strstr(status.text, "its entries overlap"));
    free(file.data);
    free(entries);
    free(names);
}
END_TEST

/* ---- the legacy container --------------------------------------------------------------- */

#define MAGIC          "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define VERSION        PROTO "M\xe9\3."
#define SYSTEM(little) PROTO "}(X\x0d\0\0\0little_endian" little "u."
#define OBJECT(count) \
    PROTO REBUILD "(" STORAGE("ShortStorage", count) "K\0K\2\x85K\1\x85" HOOKS "tR."
#define KEYS      PROTO "]X\1\0\0\0000a."
#define COUNT8(n) n "\0\0\0\0\0\0\0"

static const struct {
    const char *bytes;
    size_t size;
    const char *problem;
    int first;
    /* clang-format off */
} legacies[] = {
    { PICKLE(MAGIC VERSION SYSTEM("\x88") OBJECT("\2") KEYS COUNT8("\2") "\1\2\3\4"), NULL,
      0x0201 },
    { PICKLE(MAGIC VERSION SYSTEM("\x89") OBJECT("\2") KEYS "\0\0\0\0\0\0\0\2" "\1\2\3\4"), NULL,
      0x0102 },
    { PICKLE(MAGIC PROTO "K\1." SYSTEM("\x88") OBJECT("\2") KEYS COUNT8("\2") "\1\2\3\4"),
      "protocol version is not 1001", 0 },
    { PICKLE(MAGIC VERSION SYSTEM("\x88") OBJECT("\2") KEYS COUNT8("\3") "\1\2\3\4\5\6"),
      "its storage has another size", 0 },
    { PICKLE(MAGIC VERSION SYSTEM("\x88") OBJECT("\3") KEYS COUNT8("\3") "\1\2\3\4"),
      "ends inside a storage", 0 },
    { PICKLE(MAGIC VERSION SYSTEM("\x88") OBJECT("\2") KEYS "\2\0\0"), "ends inside a storage",
      0 },
    { PICKLE(MAGIC VERSION SYSTEM("\x88") OBJECT("\2") PROTO "]." COUNT8("\2") "\1\2\3\4"),
      "the bytes of its storage are missing", 0 },
    { PICKLE(MAGIC VERSION SYSTEM("\x88") OBJECT("\2") PROTO "]X\1\0\0\0001a." COUNT8("\2")),
      "a storage that no tensor uses", 0 },
    { PICKLE(MAGIC VERSION SYSTEM("\x88") OBJECT("\2") PROTO "]K\1a." COUNT8("\2")),
      "a storage has no name", 0 },
    { PICKLE(MAGIC VERSION SYSTEM("\x88") OBJECT("\2") PROTO "N." COUNT8("\2")),
      "list of its storages is missing", 0 },
    { PICKLE(MAGIC VERSION SYSTEM("\x88") PROTO "N." KEYS), "a storage that no tensor uses", 0 },
    { PICKLE(MAGIC VERSION SYSTEM("\x88") PROTO REBUILD
             "((X\7\0\0\0storagectorch\nShortStorage\nX\1\0\0\0000X\3\0\0\0cpuK\2(X\1\0\0\0vK\0K\2"
             "ttQ" "K\0K\2\x85K\1\x85" HOOKS "tR." KEYS), "a view of another storage", 0 },
    { PICKLE(MAGIC PROTO "cos\nsystem\nX\2\0\0\0id\x85R."), "it asks for os.system", 0 },
    { PICKLE(MAGIC), "no end", 0 },
};
/* clang-format on */

START_TEST(legacy_files_are_not_believed)
{
    struct tensor t;
    struct made_bytes file = { 0 };
    made_put(&file, legacies[_i].bytes, legacies[_i].size);
    if (!legacies[_i].problem) {
        struct status status = pt_read(&t, &arena, file.data, file.count, "t.pt");
        ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
        ck_assert_int_eq(((int16_t *)t.data)[0], legacies[_i].first);
    } else {
        struct status status = read_bytes(&t, &file);
        ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
        ck_assert_msg(strstr(status.text, legacies[_i].problem) != NULL, "%s", status.text);
    }
    free(file.data);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

int main(void)
{
    Suite *suite = suite_create("hostile_pt");
    TCase *tests = tcase_create("hostile_pt");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, start, finish);
    tcase_add_loop_test(tests, pickles_are_data, 0, COUNT(pickles));
    tcase_add_test(tests, huge_expansions_cost_nothing);
    tcase_add_test(tests, bombs_stay_small);
    tcase_add_loop_test(tests, archives_are_not_believed, 0, COUNT(archives));
    tcase_add_test(tests, big_endian_elements);
    tcase_add_test(tests, a_zip_bomb_meets_the_limit_of_memory);
    tcase_add_test(tests, many_entries);
    tcase_add_loop_test(tests, legacy_files_are_not_believed, 0, COUNT(legacies));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
