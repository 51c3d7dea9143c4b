/* The dump reader on real dumps, against an independent reading of the same text with cJSON. */
#include <cJSON.h>
#include <check.h>
#include <math.h>

#include "formats/dump.h"
#include "support/scratch.h"
#include "support/suite.h"

static const char *data_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/dumps/%s/dump.json", PROBE_TEST_DATA, name);
    return path;
}

static struct dump *open_dump(const char *path)
{
    struct dump *dump = NULL;
    struct status status = dump_open(&dump, path, FILES_CHECKED);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    return dump;
}

/* ---- real dumps against cJSON ----------------------------------------------------------- */

/* cJSON does not know NaN and infinities: put them in quotes. */
static cJSON *parse_with_cjson(const char *path)
{
    static const char *const words[] = { "-Infinity", "Infinity", "NaN" };
    size_t bytes;
    char *text = scratch_read(path, &bytes), *quoted = malloc(2 * bytes + 1), *out = quoted;
    bool in_string = false;

    for (const char *at = text; *at;) {
        size_t length = 0;
        if (*at == '"' && (at == text || at[-1] != '\\')) in_string = !in_string;
        for (int i = 0; i < 3 && !in_string && !length; i++)
            if (!strncmp(at, words[i], strlen(words[i]))) length = strlen(words[i]);
        if (length) {
            out += sprintf(out, "\"%.*s\"", (int)length, at);
            at += length;
        } else {
            *out++ = *at++;
        }
    }
    *out = '\0';
    cJSON *tree = cJSON_Parse(quoted);
    ck_assert_ptr_nonnull(tree);
    free(quoted);
    free(text);
    return tree;
}

static double real_of(const cJSON *item)
{
    if (cJSON_IsNumber(item)) return item->valuedouble;
    ck_assert(cJSON_IsString(item));
    return strtod(item->valuestring, NULL); /* "NaN", "Infinity", "-Infinity" */
}

static void compare_reals(double got, const cJSON *want)
{
    double x = real_of(want);
    ck_assert_msg(got == x || (isnan(got) && isnan(x)), "%a is not %a", got, x);
}

static void compare_statistic(const struct statistic *got, const cJSON *object, const char *key)
{
    const cJSON *want = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!want || cJSON_IsNull(want)) {
        ck_assert_int_eq(got->kind, STATISTIC_ABSENT);
    } else if (cJSON_IsBool(want)) {
        ck_assert_int_eq(got->kind, STATISTIC_BOOL);
        ck_assert_double_eq(got->number, cJSON_IsTrue(want));
    } else {
        ck_assert_int_eq(got->kind, STATISTIC_NUMBER);
        compare_reals(got->number, want);
    }
}

static void compare_text(const char *got, const cJSON *object, const char *key)
{
    const cJSON *want = cJSON_GetObjectItemCaseSensitive(object, key);
    if (cJSON_IsString(want)) ck_assert_str_eq(got, want->valuestring);
    else ck_assert_ptr_null(got);
}

static void compare_tensor(const struct tensor_record *got, const cJSON *want)
{
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(want, "shape");
    compare_text(got->dtype_name, want, "dtype");
    ck_assert_str_eq(dtype_info(got->dtype)->name, got->dtype_name);
    ck_assert_int_eq(got->rank, cJSON_GetArraySize(shape));
    for (int i = 0; i < got->rank; i++)
        ck_assert_int_eq(got->shape[i], (int64_t)cJSON_GetArrayItem(shape, i)->valuedouble);
    compare_statistic(&got->max, want, "Max");
    compare_statistic(&got->min, want, "Min");
    compare_statistic(&got->mean, want, "Mean");
    compare_statistic(&got->norm, want, "Norm");
    ck_assert_int_eq(got->requires_grad,
                     cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(want, "requires_grad")));
    compare_text(got->data_name, want, "data_name");
    compare_text(got->md5, want, "md5");
    ck_assert(!got->is_parameter);
}

static void compare_value(const struct value *got, const cJSON *want);

static void compare_list(const struct value *got, const cJSON *want)
{
    ck_assert_uint_eq(got->list.count, (size_t)cJSON_GetArraySize(want));
    size_t i = 0;
    for (const cJSON *item = want->child; item; item = item->next, i++) {
        if (got->kind == VALUE_DICT) ck_assert_str_eq(got->list.keys[i], item->string);
        compare_value(&got->list.items[i], item);
    }
}

static void compare_encoded(const struct value *got, const char *type, const cJSON *want)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(want, "value");

    if (!strcmp(type, "torch.Tensor")) {
        ck_assert_int_eq(got->kind, VALUE_TENSOR);
        ck_assert_ptr_null(got->tensor.tensor);
        compare_tensor(got->tensor.record, want);
    } else if (!strcmp(type, "int")) {
        ck_assert_int_eq(got->kind, VALUE_INT);
        ck_assert_int_eq(got->integer, (int64_t)value->valuedouble);
    } else if (!strcmp(type, "float")) {
        ck_assert_int_eq(got->kind, VALUE_FLOAT);
        compare_reals(got->real, value);
    } else if (!strcmp(type, "bool")) {
        ck_assert_int_eq(got->kind, VALUE_BOOL);
        ck_assert_int_eq(got->boolean, cJSON_IsTrue(value));
    } else if (!strcmp(type, "str")) {
        ck_assert_int_eq(got->kind, VALUE_STRING);
        ck_assert_str_eq(got->string, value->valuestring);
    } else if (!strcmp(type, "torch.dtype")) {
        ck_assert_int_eq(got->kind, VALUE_DTYPE);
        ck_assert_str_eq(dtype_info(got->dtype)->name, value->valuestring);
    } else if (!strcmp(type, "torch.memory_format")) {
        ck_assert_int_eq(got->kind, VALUE_MEMORY_FORMAT);
        compare_text(got->string, want, "format");
    } else if (!strcmp(type, "slice")) {
        ck_assert_int_eq(got->kind, VALUE_SLICE);
        compare_list(got, value);
    } else {
        ck_assert_str_eq(type, "ellipsis");
        ck_assert_int_eq(got->kind, VALUE_ELLIPSIS);
    }
}

static void compare_value(const struct value *got, const cJSON *want)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(want, "type");

    if (cJSON_IsNull(want)) {
        ck_assert_int_eq(got->kind, VALUE_NONE);
    } else if (cJSON_IsArray(want)) {
        ck_assert_int_eq(got->kind, VALUE_LIST);
        compare_list(got, want);
    } else if (cJSON_IsNumber(want)) { /* the parts of slices */
        ck_assert_int_eq(got->kind, VALUE_INT);
        ck_assert_int_eq(got->integer, (int64_t)want->valuedouble);
    } else if (cJSON_IsString(type)) {
        compare_encoded(got, type->valuestring, want);
    } else if (!want->child) {
        ck_assert_int_eq(got->kind, VALUE_UNSUPPORTED);
    } else {
        ck_assert_int_eq(got->kind, VALUE_DICT);
        compare_list(got, want);
    }
}

static const struct {
    const char *name;
    size_t calls; /* counted with grep: keys ending in .forward that are not of modules */
} real_dumps[] = {
    { "m1/L1_statistics", 72 },  { "m2/L1_statistics", 55 },      { "m2/L1_tensor", 55 },
    { "m2/mix_statistics", 55 }, { "m2_bf16/L1_statistics", 56 }, { "m3/L1_statistics", 141 },
    { "m5x/L1_statistics", 1 },  { "m5x/L1_tensor", 1 },          { "m5a/L1_statistics", 673 },
    { "m5a/L1_tensor", 96 },
};

/* Every argument of every call of the real dumps is what cJSON reads. */
START_TEST(real_dumps_agree_with_cjson)
{
    const char *path = data_path(real_dumps[_i].name);
    struct dump *dump = open_dump(path);
    cJSON *tree = parse_with_cjson(path);
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(tree, "data");
    struct arena arena = { 0 };
    size_t i = 0;

    for (const cJSON *entry = data->child; entry; entry = entry->next) {
        size_t length = strlen(entry->string);
        char backward_name[512];
        struct api_case c;
        if (strstr(entry->string, "Module") || length < 8 ||
            strcmp(entry->string + length - 8, ".forward"))
            continue;
        struct status status = dump_read_case(&c, &arena, dump, i);
        ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
        ck_assert_uint_eq(strlen(c.full_name), length - 8);
        ck_assert_int_eq(strncmp(c.full_name, entry->string, length - 8), 0);
        ck_assert_str_eq(c.full_name, dump_name(dump, i));
        ck_assert_uint_eq(c.position, i);
        ck_assert(!c.gradients_of_arguments);
        compare_list(&c.args, cJSON_GetObjectItemCaseSensitive(entry, "input_args"));
        ck_assert_int_eq(c.kwargs.kind, VALUE_DICT);
        compare_list(&c.kwargs, cJSON_GetObjectItemCaseSensitive(entry, "input_kwargs"));
        compare_list(&c.outputs, cJSON_GetObjectItemCaseSensitive(entry, "output"));
        snprintf(backward_name, sizeof backward_name, "%s.backward", c.full_name);
        const cJSON *backward = cJSON_GetObjectItemCaseSensitive(data, backward_name);
        ck_assert_int_eq(c.has_backward, backward != NULL);
        if (backward) {
            compare_list(&c.cotangents, cJSON_GetObjectItemCaseSensitive(backward, "input"));
            compare_list(&c.gradients, cJSON_GetObjectItemCaseSensitive(backward, "output"));
        }
        arena_reset(&arena);
        i++;
    }
    ck_assert_uint_eq(i, dump_count(dump));
    ck_assert_uint_eq(i, real_dumps[_i].calls);
    cJSON_Delete(tree);
    arena_release(&arena);
    dump_close(dump);
}
END_TEST

/* The name that contains "forward", whose backward ends the peer's run. */
START_TEST(names_may_contain_the_directions)
{
    struct dump *dump = open_dump(data_path("m5x/L1_statistics"));
    struct arena arena = { 0 };
    struct api_case c;
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
    ck_assert_str_eq(c.full_name, "Functional.multi_head_attention_forward.0");
    ck_assert_str_eq(c.type, "Functional");
    ck_assert_str_eq(c.api, "multi_head_attention_forward");
    ck_assert(c.has_backward);
    arena_release(&arena);
    dump_close(dump);
}
END_TEST

START_TEST(headers_are_read)
{
    struct dump *dump = open_dump(data_path("m2/L1_tensor"));
    const struct dump_header *header = dump_header(dump);
    ck_assert_str_eq(header->task, "tensor");
    ck_assert_str_eq(header->level, "L1");
    ck_assert_str_eq(header->framework, "pytorch");
    ck_assert(header->has_data_dir);
    dump_close(dump);
    dump = open_dump(data_path("m2/mix_statistics"));
    header = dump_header(dump);
    ck_assert_str_eq(header->task, "statistics");
    ck_assert_str_eq(header->level, "mix");
    ck_assert(!header->has_data_dir);
    dump_close(dump);
}
END_TEST

/* Bytes of a case are those of its entries' text, so they add up to less than the file. */
START_TEST(case_bytes_add_up)
{
    const char *path = data_path("m1/L1_statistics");
    struct dump *dump = open_dump(path);
    struct stat info;
    size_t total = 0;
    ck_assert_int_eq(stat(path, &info), 0);
    for (size_t i = 0; i < dump_count(dump); i++) {
        ck_assert_uint_gt(dump_case_bytes(dump, i), 100);
        total += dump_case_bytes(dump, i);
    }
    ck_assert_uint_lt(total, (size_t)info.st_size);
    ck_assert_uint_gt(total, (size_t)info.st_size * 9 / 10);
    dump_close(dump);
}
END_TEST

/* On a real dump: what is dropped equals a kept call, and no two kept calls are equal by the
 * peer's count (it drops 2 of m2's 55, comparing Mean and Norm too; by structure more go). */
START_TEST(duplicates_of_a_real_dump)
{
    struct dump *real = open_dump(data_path("m2/L1_statistics"));
    bool keep[64];
    size_t kept = 0;
    ck_assert_int_eq(dump_filter(keep, real).code, STATUS_OK);
    for (size_t i = 0; i < dump_count(real); i++) kept += keep[i];
    ck_assert_uint_le(kept, 53);
    ck_assert(keep[0]);
    /* The two layers of the model repeat each other: the second layer_norm and the first have
     * the same structure. */
    for (size_t i = 0; i < dump_count(real); i++)
        if (!strncmp(dump_name(real, i), "Functional.layer_norm.", 22))
            ck_assert_int_eq(keep[i], !strcmp(dump_name(real, i), "Functional.layer_norm.0"));
    dump_close(real);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dump_real");
    TCase *tests = tcase_create("dump_real");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, real_dumps_agree_with_cjson, 0,
                        (int)(sizeof real_dumps / sizeof *real_dumps));
    tcase_add_test(tests, names_may_contain_the_directions);
    tcase_add_test(tests, headers_are_read);
    tcase_add_test(tests, case_bytes_add_up);
    tcase_add_test(tests, duplicates_of_a_real_dump);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
