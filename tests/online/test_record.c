/* Records of the real client decode to what they were recorded from: every field, every tensor by dtype,
 * shape, strides, offset, storage and the checksum of its elements. And bodies that lie decode to nothing. */
#include <math.h>
#include <zlib.h>

#include "formats/zip_maker.h"
#include "online/captures.h"
#include "online/record.h"
#include "support/suite.h"

/* ---- what was recorded -------------------------------------------------------------------- */

/* Storages of a record by number, as the addresses where they begin. */
struct storages {
    const void *start[64];
    bool known[64];
};

static void check_value(const cJSON *want, const struct value *got, struct storages *storages,
                        const char *place);

static void check_extents(const cJSON *want, const int64_t *got, int rank, const char *place)
{
    ck_assert_msg(cJSON_GetArraySize(want) == rank, "%s", place);
    for (int i = 0; i < rank; i++)
        ck_assert_msg((int64_t)cJSON_GetArrayItem(want, i)->valuedouble == got[i], "%s", place);
}

static void check_elements(const cJSON *want, const struct tensor *tensor, const char *place)
{
    struct arena arena = { 0 };
    struct tensor dense;
    char sum[16];
    ck_assert_int_eq(tensor_densify(&dense, &arena, tensor).code, STATUS_OK);
    size_t bytes = tensor_elements(&dense) * dtype_info(dense.dtype)->bytes;
    (void)snprintf(sum, sizeof sum, "%08lx", crc32_z(crc32_z(0, NULL, 0), dense.data, bytes));
    ck_assert_msg((double)bytes == cJSON_GetObjectItem(want, "nbytes")->valuedouble, "%s", place);
    ck_assert_msg(!strcmp(sum, cJSON_GetObjectItem(want, "crc32")->valuestring), "%s", place);
    arena_release(&arena);
}

/* Equal storage numbers are the same memory, others are not. */
static void check_storage(const cJSON *want, const struct tensor *tensor, struct storages *storages,
                          const char *place)
{
    int number = cJSON_GetObjectItem(want, "storage")->valueint;
    size_t width = dtype_info(tensor->dtype)->bytes;
    const char *start = (const char *)tensor->data -
                        (size_t)cJSON_GetObjectItem(want, "offset")->valueint * width;
    ck_assert_int_lt(number, 64);
    if (!tensor_elements(tensor)) return;
    for (int i = 0; i < 64; i++)
        if (storages->known[i])
            ck_assert_msg((i == number) == (storages->start[i] == start), "%s: storage %d", place,
                          i);
    storages->start[number] = start;
    storages->known[number] = true;
}

static void check_tensor(const cJSON *want, const struct value *got, struct storages *storages,
                         const char *place)
{
    ck_assert_msg(got->kind == VALUE_TENSOR && got->tensor.tensor && got->tensor.record, "%s",
                  place);
    const struct tensor *tensor = got->tensor.tensor;
    ck_assert_msg(
        !strcmp(dtype_short_name(tensor->dtype), cJSON_GetObjectItem(want, "dtype")->valuestring),
        "%s", place);
    check_extents(cJSON_GetObjectItem(want, "shape"), tensor->shape, tensor->rank, place);
    if (tensor_elements(tensor))
        check_extents(cJSON_GetObjectItem(want, "stride"), tensor->stride, tensor->rank, place);
    check_elements(want, tensor, place);
    check_storage(want, tensor, storages, place);
    ck_assert_int_eq(got->tensor.record->dtype, tensor->dtype);
    ck_assert_int_eq(got->tensor.record->rank, tensor->rank);
}

static void check_list(const cJSON *want, const struct value *got, enum value_kind kind,
                       struct storages *storages, const char *place)
{
    size_t i = 0;
    const cJSON *item;
    ck_assert_msg(got->kind == kind, "%s: kind %d", place, got->kind);
    ck_assert_msg((size_t)cJSON_GetArraySize(want) == got->list.count, "%s", place);
    cJSON_ArrayForEach(item, want)
    {
        if (kind == VALUE_DICT) ck_assert_str_eq(got->list.keys[i], item->string);
        if (kind == VALUE_SLICE && cJSON_IsNumber(item))
            ck_assert_int_eq(got->list.items[i].integer, item->valueint);
        else check_value(item, &got->list.items[i], storages, place);
        i++;
    }
}

static double real_of(const char *text)
{
    return !strcmp(text, "nan")    ? NAN
           : !strcmp(text, "inf")  ? INFINITY
           : !strcmp(text, "-inf") ? -INFINITY
                                   : strtod(text, NULL);
}

static void check_plain(const cJSON *want, const struct value *got, const char *place)
{
    const char *kind = want->string;
    if (!strcmp(kind, "int")) {
        ck_assert_msg(got->kind == VALUE_INT && (double)got->integer == want->valuedouble, "%s",
                      place);
    } else if (!strcmp(kind, "bool")) {
        ck_assert_msg(got->kind == VALUE_BOOL && got->boolean == cJSON_IsTrue(want), "%s", place);
    } else if (!strcmp(kind, "float")) {
        double real = real_of(want->valuestring);
        ck_assert_msg(got->kind == VALUE_FLOAT &&
                          (got->real == real || (isnan(real) && isnan(got->real))),
                      "%s", place);
    } else if (!strcmp(kind, "str")) {
        ck_assert_msg(got->kind == VALUE_STRING && !strcmp(got->string, want->valuestring), "%s",
                      place);
    } else if (!strcmp(kind, "dtype")) {
        ck_assert_msg(got->kind == VALUE_DTYPE &&
                          !strcmp(dtype_info(got->dtype)->name, want->valuestring),
                      "%s", place);
    } else if (!strcmp(kind, "device")) {
        ck_assert_msg(got->kind == VALUE_DEVICE && !strcmp(got->string, want->valuestring), "%s",
                      place);
    } else if (!strcmp(kind, "memory_format")) {
        ck_assert_msg(got->kind == VALUE_MEMORY_FORMAT &&
                          !strcmp(got->string, want->valuestring + strlen("torch.")),
                      "%s", place);
    } else if (!strcmp(kind, "ellipsis")) {
        ck_assert_msg(got->kind == VALUE_ELLIPSIS, "%s", place);
    } else {
        ck_abort_msg("%s: nothing is known of %s", place, kind);
    }
}

static void check_value(const cJSON *want, const struct value *got, struct storages *storages,
                        const char *place)
{
    if (cJSON_IsNull(want)) {
        ck_assert_msg(got->kind == VALUE_NONE, "%s", place);
        return;
    }
    const cJSON *item = want->child;
    const char *kind = item->string;
    if (!strcmp(kind, "tensor")) check_tensor(item, got, storages, place);
    else if (!strcmp(kind, "tuple") || !strcmp(kind, "list"))
        check_list(item, got, VALUE_LIST, storages, place);
    else if (!strcmp(kind, "dict")) check_list(item, got, VALUE_DICT, storages, place);
    else if (!strcmp(kind, "slice")) check_list(item, got, VALUE_SLICE, storages, place);
    else check_plain(item, got, place);
}

static void check_record(const struct captured_record *captured)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct storages storages = { .known = { false } };
    struct record record;
    const cJSON *want = captured->expected, *rank = cJSON_GetObjectItem(want, "rank");
    const cJSON *result = cJSON_GetObjectItem(want, "result");
    const char *place = captured->place;

    struct status status = record_decode(&record, &arena, captured->body, captured->bytes, place);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_msg(!record.unusable.code, "%s", record.unusable.text);
    ck_assert_str_eq(record.call.full_name, cJSON_GetObjectItem(want, "name")->valuestring);
    ck_assert_int_eq(record.step, capture_int(want, "step"));
    ck_assert_int_eq(record.has_rank, cJSON_IsNumber(rank));
    if (record.has_rank) ck_assert_int_eq(record.rank, rank->valueint);
    check_value(cJSON_GetObjectItem(want, "args"), &record.call.args, &storages, place);
    check_value(cJSON_GetObjectItem(want, "kwargs"), &record.call.kwargs, &storages, place);
    bool several = !cJSON_IsNull(result) && !strcmp(result->child->string, "tuple");
    ck_assert_msg(several || record.call.outputs.list.count == 1, "%s", place);
    check_value(result, several ? &record.call.outputs : &record.call.outputs.list.items[0],
                &storages, place);
    const cJSON *skip = cJSON_GetObjectItem(want, "may_skip");
    bool in_place = skip && !strncmp(skip->valuestring, "in place", 8);
    ck_assert_msg(record_writes_arguments(&record.call).code ==
                      (in_place ? STATUS_SKIP : STATUS_OK),
                  "%s", place);
    arena_release(&arena);
}

START_TEST(records_are_what_was_recorded)
{
    size_t count = captures_each(check_record);
    ck_assert_uint_gt(count, 100);
}
END_TEST

/* A record that ends anywhere before its end is none, and nothing beyond it is read. */
static void check_cuts(const struct captured_record *captured)
{
    for (size_t bytes = 0; bytes < captured->bytes; bytes += bytes < 64 ? 1 : 37) {
        struct arena arena = { .limit_bytes = 64 << 20 };
        struct record record;
        void *part = malloc(bytes);
        if (bytes) memcpy(part, captured->body, bytes);
        struct status status = record_decode(&record, &arena, part, bytes, "cut");
        ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
        free(part);
        arena_release(&arena);
    }
}

START_TEST(cut_records_are_refused) { ck_assert_uint_gt(captures_each(check_cuts), 100); }
END_TEST

/* ---- made bodies -------------------------------------------------------------------------- */

#define API     "cmsprobe.pytorch.api_accuracy_checker.common.utils\nApiData\n"
#define NAME    "X\x0b\0\0\0Torch.abs.0"
#define END     "K\0K\0t\x81."
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n"
#define STORED(class, count) \
    "(X\7\0\0\0storagectorch\n" class "\nX\1\0\0\0000X\3\0\0\0cpuK" count "tQ"
#define TENSOR(class, count, offset, size, stride)                                 \
    REBUILD "(" STORED(class, count) "K" offset "K" size "\x85K" stride "\x85\x89" \
                                     "ccollections\nOrderedDict\n)RtR"
#define FLOATS TENSOR("FloatStorage", "\6", "\0", "\6", "\1")

struct decoded {
    struct status status;
    struct record record;
    struct arena arena;
    struct made_bytes body;
};

/* An archive with this pickle and a storage of six floats. */
static void decode(struct decoded *out, const char *pickle, size_t bytes, int method)
{
    static const float floats[6] = { 0, -1, 2, -3, 4, -5 };
    struct made_entry entries[] = {
        { .name = "archive/data.pkl", .data = pickle, .bytes = bytes, .deflate = method },
        { .name = "archive/data/0", .data = floats, .bytes = sizeof floats },
        { .name = "archive/version", .data = "3\n", .bytes = 2 },
    };
    *out = (struct decoded){ .arena.limit_bytes = 16 << 20 };
    out->body = made_archive(&(struct made_zip){ .count = 3, .entries = entries });
    out->status = record_decode(&out->record, &out->arena, out->body.data, out->body.count, "made");
}

static void release(struct decoded *decoded)
{
    free(decoded->body.data);
    arena_release(&decoded->arena);
}

#define PICKLE(text) "\x80\2" text, sizeof(text) + 1

/* Values that the captures have not, as the one argument of abs. */
static const struct {
    const char *pickle;
    size_t bytes;
    enum value_kind kind;
    double number; /* of a number, or of the first item */
    const char *text;
    /* clang-format off */
} arguments[] = {
#define ARGUMENT(value) PICKLE(API "(" NAME value "\x85}N" END)
    { ARGUMENT("cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nX\2\0\0\0f8\x89\x88\x87R(K\3X\1\0\0\0<NNNJ\xff\xff\xff\xffJ"
               "\xff\xff\xff\xffK\0tbc_codecs\nencode\nX\x09\0\0\0\0\0\0\0\0\0\xc3\xb8?X\6\0\0\0latin1\x86R\x86R"),
      VALUE_FLOAT, 1.5, NULL },
    { ARGUMENT("cnumpy._core.multiarray\nscalar\ncnumpy\ndtype\nX\2\0\0\0i2\x89\x88\x87R(K\3X\1\0\0\0>NNNJ\xff\xff\xff\xffJ"
               "\xff\xff\xff\xffK\0tbc_codecs\nencode\nX\3\0\0\0\xc3\xbf\1X\6\0\0\0latin1\x86R\x86R"),
      VALUE_INT, -255, NULL },
    { ARGUMENT("cnumpy._core.multiarray\nscalar\ncnumpy\ndtype\nX\2\0\0\0b1\x89\x88\x87RC\1\1\x86R"), VALUE_BOOL, 1, NULL },
    { ARGUMENT("c__builtin__\nslice\nK\1NK\2\x87R"), VALUE_SLICE, 1, NULL },
    { ARGUMENT("cbuiltins\nEllipsis\n"), VALUE_ELLIPSIS, 0, NULL },
    { ARGUMENT("c__builtin__\ngetattr\nctorch._utils\ntorch\nX\x0d\0\0\0channels_last\x86R"),
      VALUE_MEMORY_FORMAT, 0, "channels_last" },
    { ARGUMENT("ctorch._utils\ntorch.preserve_format\n"), VALUE_MEMORY_FORMAT, 0, "preserve_format" },
    { ARGUMENT("ctorch\ndevice\nX\3\0\0\0cpu\x85R"), VALUE_DEVICE, 0, "cpu" },
    { ARGUMENT("ctorch\ndevice\nX\3\0\0\0npuK\3\x86R"), VALUE_DEVICE, 0, "npu:3" },
    { ARGUMENT("ctorch\nbfloat16\n"), VALUE_DTYPE, 0, NULL },
    { ARGUMENT("ctorch\nSize\nK\4\x85\x85R"), VALUE_LIST, 4, NULL },
    { ARGUMENT("ctorch._utils\n_rebuild_parameter\n" FLOATS "\x88" "ccollections\nOrderedDict\n)R\x87R"),
      VALUE_TENSOR, 0, NULL },
    { ARGUMENT("ctorch.serialization\n_get_layout\nX\x0d\0\0\0torch.strided\x85R"), VALUE_UNSUPPORTED, 0, "torch.layout" },
    { ARGUMENT("\x8a\5\0\0\0\0\1"), VALUE_INT, 4294967296.0, NULL },
};
/* clang-format on */

START_TEST(other_values_decode)
{
    struct decoded decoded;
    decode(&decoded, arguments[_i].pickle, arguments[_i].bytes, 0);
    ck_assert_msg(!decoded.status.code, "%s", decoded.status.text);
    ck_assert_msg(!decoded.record.unusable.code, "%s", decoded.record.unusable.text);
    ck_assert_uint_eq(decoded.record.call.args.list.count, 1);
    const struct value *value = &decoded.record.call.args.list.items[0];
    ck_assert_int_eq(value->kind, arguments[_i].kind);
    if (arguments[_i].text) ck_assert_str_eq(value->string, arguments[_i].text);
    switch (value->kind) {
    case VALUE_FLOAT: ck_assert_double_eq(value->real, arguments[_i].number); break;
    case VALUE_INT: ck_assert_double_eq((double)value->integer, arguments[_i].number); break;
    case VALUE_BOOL: ck_assert_int_eq(value->boolean, arguments[_i].number != 0); break;
    case VALUE_DTYPE: ck_assert_int_eq(value->dtype, DT_BF16); break;
    case VALUE_SLICE:
    case VALUE_LIST:
        ck_assert_double_eq((double)value->list.items[0].integer, arguments[_i].number);
        break;
    case VALUE_TENSOR:
        ck_assert(value->tensor.record->is_parameter && value->tensor.record->requires_grad);
        ck_assert_float_eq(((const float *)value->tensor.tensor->data)[5], -5);
        break;
    default: break;
    }
    release(&decoded);
}
END_TEST

/* A lazily negated or conjugated view has the signs that torch would show. */
START_TEST(lazy_views_have_their_signs)
{
    struct decoded decoded;
    static const float negated[6] = { -0.0F, 1, -2, 3, -4, 5 };
    static const float conjugated[6] = { 0, 1, 2, 3, 4, 5 };
#define LAZY(class, count, size, key)                                                         \
    PICKLE(API "(" NAME REBUILD "(" STORED(class, count) "K\0K" size "\x85K\1\x85\x89"        \
                                                         "ccollections\nOrderedDict\n)R}" key \
                                                         "\x88stR\x85}N" END)
    decode(&decoded, LAZY("FloatStorage", "\6", "\6", "X\3\0\0\0neg"), 0);
    ck_assert_msg(!decoded.record.unusable.code, "%s", decoded.record.unusable.text);
    ck_assert_mem_eq(decoded.record.call.args.list.items[0].tensor.tensor->data, negated,
                     sizeof negated);
    release(&decoded);
    decode(&decoded, LAZY("ComplexFloatStorage", "\3", "\3", "X\4\0\0\0conj"), 0);
    ck_assert_msg(!decoded.record.unusable.code, "%s", decoded.record.unusable.text);
    ck_assert_mem_eq(decoded.record.call.args.list.items[0].tensor.tensor->data, conjugated,
                     sizeof conjugated);
    release(&decoded);
}
END_TEST

/* What is known by name and cannot be judged says why. */
static const struct {
    const char *pickle;
    size_t bytes;
    const char *reason;
    /* clang-format off */
} unusable[] = {
    { ARGUMENT("cmy.model\nConfig\n)\x81}X\1\0\0\0aK\1sb"), "an object of my.model.Config" },
    { ARGUMENT("cos\nsystem\nX\x10\0\0\0touch /tmp/owned\x85R"), "an object of os.system" },
    { ARGUMENT("c__builtin__\neval\nX\1\0\0\0001\x85R"), "__builtin__.eval" },
    { ARGUMENT("ctorch._utils\n_rebuild_qtensor\n(" STORED("QInt8Storage", "\6") "K\0tR"), "torch._utils._rebuild_qtensor" },
    { ARGUMENT("ctorch._utils\n_rebuild_sparse_tensor\n)R"), "_rebuild_sparse_tensor" },
    { ARGUMENT("ctorch._C\nGenerator\n)R"), "torch._C.Generator" },
    { ARGUMENT("c__builtin__\ncomplex\nG\0\0\0\0\0\0\0\0G\0\0\0\0\0\0\0\0\x86R"), "a complex number" },
    { ARGUMENT("c__builtin__\nset\n]K\1a\x85R"), "a set" },
    { ARGUMENT("\x8a\x09\0\0\0\0\0\0\0\0\1"), "beyond 64 bits" },
    { ARGUMENT("}K\1K\2s"), "keys are not texts" },
    { ARGUMENT("ctorch._utils\n_rebuild_tensor_v3\n((X\7\0\0\0storagectorch.storage\nUntypedStorage\nX\1\0\0\0000X\3\0\0\0cpuK\x18tQ"
               "K\0K\6\x85K\1\x85\x89" "ccollections\nOrderedDict\n)Rctorch\nuint16\ntR"), "a tensor of torch.uint16" },
    { ARGUMENT("ctorch\nuint64\n"), "a dtype that has no type here" },
    { ARGUMENT(TENSOR("FloatStorage", "\7", "\0", "\6", "\1")), "another size" },
    { ARGUMENT(TENSOR("FloatStorage", "\6", "\1", "\6", "\1")), "beyond its storage" },
    { ARGUMENT(TENSOR("FloatStorage", "\6", "\0", "\4", "\2")), "beyond its storage" },
    { PICKLE(API "(" NAME "]}N" END), "args are no tuple" },
    { PICKLE(API "(" NAME ")NN" END), "kwargs are no dict" },
};
/* clang-format on */

START_TEST(unusable_records_say_why)
{
    struct decoded decoded;
    decode(&decoded, unusable[_i].pickle, unusable[_i].bytes, 0);
    if (!strcmp(unusable[_i].reason, "args are no tuple")) {
        /* A list is as good. */
        ck_assert_int_eq(decoded.record.unusable.code, STATUS_OK);
    } else {
        ck_assert_msg(!decoded.status.code, "%s", decoded.status.text);
        ck_assert_str_eq(decoded.record.call.full_name, "Torch.abs.0");
        ck_assert_int_eq(decoded.record.unusable.code, STATUS_SKIP);
        ck_assert_msg(strstr(decoded.record.unusable.text, unusable[_i].reason) != NULL, "%s",
                      decoded.record.unusable.text);
    }
    release(&decoded);
}
END_TEST

/* What is no record at all. */
static const struct {
    const char *pickle;
    size_t bytes;
    const char *problem;
    /* clang-format off */
} refused[] = {
    { PICKLE("N."), "something else than a record" },
    { PICKLE("cos\nsystem\nX\2\0\0\0id\x85R."), "something else than a record" },
    { PICKLE("cos\nsystem\n."), "something else than a record" },
    { PICKLE(API ")\x81."), "other than six fields" },
    { PICKLE(API "(" NAME ")}NK\0K\0K\0t\x81."), "other than six fields" },
    { PICKLE(API "(K\1)}N" END), "its name is no text" },
    { PICKLE(API "(X\0\0\0\0)}N" END), "its name has 0 bytes" },
    { PICKLE(API "(X\5\0\0\0=a.b.)}N" END), "begins a formula" },
    { PICKLE(API "(X\7\0\0\0T.a;@.0)}N" END), "begins a formula" },
    { PICKLE(API "(X\6\0\0\0\xef\xbc\x9d" "a.b)}N" END), "begins a formula" },
    { PICKLE(API "(X\5\0\0\0T\n.a.)}N" END), "control character" },
    { PICKLE(API "(" NAME ")}NNK\0t\x81."), "its step" },
    { PICKLE(API "(" NAME ")}NJ\xff\xff\xff\xffK\0t\x81."), "its step" },
    { PICKLE(API "(" NAME ")}NK\0X\1\0\0\0000t\x81."), "its rank" },
    { PICKLE("c__builtin__\ngetattr\ncos\nsystem\nX\1\0\0\0a\x86R."), "something else than a record" },
    { PICKLE("c__builtin__\ngetattr\nctorch._utils\ntorch\nX\6\0\0\0system\x86R."), "no memory format" },
    { PICKLE("ctorch.storage\n_load_from_bytes\nC\1a\x85R."), "a storage is not made of bytes" },
    { PICKLE("cos\nsystem\nX\2\0\0\0id\x85RK\1\x85R."), "not a known name" },
    { PICKLE("(ios\nsystem\n."), "instruction 0x69" },
    { PICKLE("K\1K\2b."), "a state to something that has none" },
};
/* clang-format on */

START_TEST(other_bodies_are_refused)
{
    struct decoded decoded;
    decode(&decoded, refused[_i].pickle, refused[_i].bytes, 0);
    ck_assert_int_eq(decoded.status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(decoded.status.text, refused[_i].problem) != NULL, "%s",
                  decoded.status.text);
    release(&decoded);
}
END_TEST

/* torch.save compresses nothing. */
START_TEST(compressed_entries_are_refused)
{
    struct decoded decoded;
    decode(&decoded, ARGUMENT(FLOATS), 8);
    ck_assert_int_eq(decoded.status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(decoded.status.text, "compressed"));
    release(&decoded);
}
END_TEST

/* ---- bombs -------------------------------------------------------------------------------- */

static void put(struct made_bytes *out, const char *text, size_t bytes)
{
    made_put(out, text, bytes);
}
#define PUT(out, text) put(out, text, sizeof(text) - 1)

static void check_bomb(struct made_bytes *pickle, const char *reason)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct record record;
    PUT(pickle, "\x85}N" END);
    struct status status = record_decode(&record, &arena, pickle->data, pickle->count, "bomb");
    if (!status.code) status = record.unusable;
    ck_assert_int_ne(status.code, STATUS_OK);
    ck_assert_msg(strstr(status.text, reason) != NULL, "%s", status.text);
    free(pickle->data);
    arena_release(&arena);
}

START_TEST(deep_values_are_refused)
{
    struct made_bytes pickle = { 0 };
    PUT(&pickle, "\x80\2" API "(" NAME "N");
    for (int i = 0; i < 100000; i++) PUT(&pickle, "\x85");
    check_bomb(&pickle, "nested more than 64 deep");
}
END_TEST

/* A list of two of the list before, forty times. */
START_TEST(values_that_multiply_are_refused)
{
    struct made_bytes pickle = { 0 };
    PUT(&pickle, "\x80\2" API "(" NAME "K\1");
    for (int i = 0; i < 40; i++) PUT(&pickle, "2\x86");
    check_bomb(&pickle, "more than a million values");
}
END_TEST

START_TEST(lists_in_themselves_are_refused)
{
    struct made_bytes pickle = { 0 };
    PUT(&pickle, "\x80\2" API "(" NAME "]2a");
    check_bomb(&pickle, "nested more than 64 deep");
}
END_TEST

/* Each byte makes an empty list of 128 bytes. */
START_TEST(small_values_cost_no_more_than_they_may)
{
    struct made_bytes pickle = { 0 };
    PUT(&pickle, "\x80\2" API "(" NAME "(");
    for (int i = 0; i < 2000000; i++) PUT(&pickle, "]");
    PUT(&pickle, "t");
    check_bomb(&pickle, "unfolds to more than it may");
}
END_TEST

START_TEST(other_containers_are_refused)
{
    static const char *const bodies[] = { "", "a", "STOP_", "\x80", "\x80\4.", "PK\3\4", "\0\0\0" };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct arena arena = { 0 };
        struct record record;
        struct status status =
            record_decode(&record, &arena, bodies[i], strlen(bodies[i]), "other");
        ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
        arena_release(&arena);
    }
}
END_TEST

/* ---- calls that write into their arguments ------------------------------------------------ */

static const struct {
    const char *name;
    bool writes;
} names[] = {
    { "Tensor.add_.0", true },        { "Torch.relu_.0", true },
    { "Tensor.__iadd__.3", true },    { "Tensor.__setitem__.0", true },
    { "Tensor.__add__.0", false },    { "Tensor.add.0", false },
    { "Tensor.__invert__.0", false }, { "Tensor.__index__.0", false },
    { "Aten.add_.Tensor.0", true },   { "Aten.add.Tensor.0", false },
    { "Aten._foreach_add_.0", true }, { "Aten._log_softmax_backward_data.0", false },
    { "Tensor.__init__.0", false },
};

START_TEST(names_tell_of_writes)
{
    struct arena arena = { 0 };
    struct api_case call = { .args.kind = VALUE_LIST, .kwargs.kind = VALUE_DICT };
    const char *name = names[_i].name;
    ck_assert_int_eq(record_set_name(&call, &arena, name, strlen(name)).code, STATUS_OK);
    ck_assert_int_eq(record_writes_arguments(&call).code,
                     names[_i].writes ? STATUS_SKIP : STATUS_OK);
    arena_release(&arena);
}
END_TEST

/* relu(x, True), dropout(x, 0.5, True, True), out=x. */
START_TEST(arguments_tell_of_writes)
{
    struct arena arena = { 0 };
    struct value flags[4] = { { .kind = VALUE_NONE },
                              { .kind = VALUE_BOOL, .boolean = true },
                              { .kind = VALUE_BOOL, .boolean = true },
                              { .kind = VALUE_BOOL, .boolean = true } };
    const char *key = "out";
    struct api_case call = { .args.kind = VALUE_LIST, .kwargs.kind = VALUE_DICT };
    call.args.list.items = flags;
    call.args.list.count = 2;
    ck_assert_int_eq(record_set_name(&call, &arena, "Functional.relu.0", 17).code, STATUS_OK);
    ck_assert_int_eq(record_writes_arguments(&call).code, STATUS_SKIP);
    flags[1].boolean = false;
    ck_assert_int_eq(record_writes_arguments(&call).code, STATUS_OK);
    ck_assert_int_eq(record_set_name(&call, &arena, "Functional.dropout.0", 20).code, STATUS_OK);
    call.args.list.count = 3;
    ck_assert_int_eq(record_writes_arguments(&call).code, STATUS_OK);
    call.args.list.count = 4;
    ck_assert_int_eq(record_writes_arguments(&call).code, STATUS_SKIP);
    call.args.list.count = 1;
    call.kwargs.list.items = flags;
    call.kwargs.list.keys = &key;
    call.kwargs.list.count = 1;
    ck_assert_int_eq(record_writes_arguments(&call).code, STATUS_OK);
    call.kwargs.list.items = flags + 2;
    ck_assert_int_eq(record_writes_arguments(&call).code, STATUS_SKIP);
    arena_release(&arena);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *tests = tcase_create("record");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, records_are_what_was_recorded);
    tcase_add_test(tests, cut_records_are_refused);
    tcase_add_loop_test(tests, other_values_decode, 0, COUNT(arguments));
    tcase_add_test(tests, lazy_views_have_their_signs);
    tcase_add_loop_test(tests, unusable_records_say_why, 0, COUNT(unusable));
    tcase_add_loop_test(tests, other_bodies_are_refused, 0, COUNT(refused));
    tcase_add_test(tests, compressed_entries_are_refused);
    tcase_add_test(tests, deep_values_are_refused);
    tcase_add_test(tests, values_that_multiply_are_refused);
    tcase_add_test(tests, lists_in_themselves_are_refused);
    tcase_add_test(tests, small_values_cost_no_more_than_they_may);
    tcase_add_test(tests, other_containers_are_refused);
    tcase_add_loop_test(tests, names_tell_of_writes, 0, COUNT(names));
    tcase_add_test(tests, arguments_tell_of_writes);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
