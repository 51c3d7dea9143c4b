/* Dumps of ranks whose collectives are right, or not: each rule on the smallest tensors that show it.
 *
 * Arguments are written as "1 2" (a tensor), "1 2|3 4" (a list of tensors), "-" (None), "#3" (a number), "#[1, 2]" (a list of
 * numbers), "+SUM" (a reduction), "'name" (a text), "@[0, 1] name" (a group), put together by ";". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/collectives/collectives.h"
#include "core/directory.h"
#include "core/memory.h"
#include "formats/npy.h"
#include "support/suite.h"
#include "support/workspace.h"

enum { TEXT = 4096, MOST_RANKS = 8 };

struct call {
    int rank;
    const char *api, *args, *keywords,
        *outputs; /* keywords: "group=@[0, 1] name"; outputs NULL: none recorded */
};

static struct workspace place;
static char *texts[MOST_RANKS];
static int n_tensors;
static char told[TEXT];

/* ---- dumps ---------------------------------------------------------------------------------- */

static void append_tensor(char *out, int rank, const char *numbers)
{
    float elements[64];
    int64_t n = 0;
    char name[64], *end;
    struct arena arena = { 0 };
    struct tensor tensor;

    for (double x = strtod(numbers, &end); end != numbers; x = strtod(numbers, &end)) {
        elements[n++] = (float)x;
        numbers = end;
    }
    tensor_wrap(&tensor, elements, DT_F32, 1, &n);
    (void)snprintf(name, sizeof name, "step0/rank%d/dump_tensor_data/x%d.npy", rank, ++n_tensors);
    ck_assert_int_eq(npy_write(in(&place, name), &tensor, &arena).code, STATUS_OK);
    arena_release(&arena);
    sprintf(out + strlen(out),
            "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[%lld],\"Max\":0,"
            "\"Min\":0,"
            "\"Mean\":0,\"Norm\":0,\"requires_grad\":false,\"data_name\":\"x%d.npy\"}",
            (long long)n, n_tensors);
}

/* A tensor, or a list of them. */
static void append_tensors(char *out, int rank, char *text)
{
    bool several = strchr(text, '|') != NULL;
    char *rest = NULL;
    if (several) strcat(out, "[");
    for (char *one = strtok_r(text, "|", &rest); one; one = strtok_r(NULL, "|", &rest)) {
        append_tensor(out, rank, one);
        if (several && rest && *rest) strcat(out, ",");
    }
    if (several) strcat(out, "]");
}

static void append_argument(char *out, int rank, char *text)
{
    char *end = out + strlen(out), *close = strchr(text, ']');
    switch (*text) {
    case '-': strcpy(end, "null"); break;
    case '#': strcpy(end, text + 1); break;
    case '\'': sprintf(end, "{\"type\":\"str\",\"value\":\"%s\"}", text + 1); break;
    case '+':
        sprintf(end, "{\"type\":\"torch.distributed.ReduceOp\",\"value\":\"RedOpType.%s\"}",
                text + 1);
        break;
    case '@':
        ck_assert_ptr_nonnull(close);
        sprintf(end, "{\"type\":\"torch.ProcessGroup\",\"group_ranks\":%.*s,\"group_id\":\"%s\"}",
                (int)(close - text), text + 1, close + 2);
        break;
    default: append_tensors(out, rank, text);
    }
}

static void append_arguments(char *out, int rank, const char *arguments)
{
    char copy[TEXT], *rest = NULL;
    strcpy(copy, arguments);
    for (char *one = strtok_r(copy, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        append_argument(out, rank, one);
        if (rest && *rest) strcat(out, ",");
    }
}

static void append_keywords(char *out, int rank, const char *keywords)
{
    char copy[TEXT], *rest = NULL;
    strcpy(copy, keywords);
    for (char *one = strtok_r(copy, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        char *value = strchr(one, '=');
        *value++ = '\0';
        sprintf(out + strlen(out), "\"%s\":", one);
        append_argument(out, rank, value);
        if (rest && *rest) strcat(out, ",");
    }
}

static void add_call(const char *framework, const struct call *call, int number)
{
    char *text = texts[call->rank];
    if (!text) {
        char command[600];
        (void)snprintf(command, sizeof command, "mkdir -p '%s/step0/rank%d/dump_tensor_data'",
                       place.path, call->rank);
        ck_assert_int_eq(system(command), 0);
        text = texts[call->rank] = calloc(1, 65536);
        sprintf(text,
                "{\"task\":\"tensor\",\"level\":\"L1\",\"framework\":\"%s\",\"dump_data_dir\":"
                "\"dump_tensor_data\",\"data\":{",
                framework);
    } else strcat(text, ",");
    sprintf(text + strlen(text), "\"%s.%d.forward\":{\"input_args\":[", call->api, number);
    append_arguments(text, call->rank, call->args);
    strcat(text, "],\"input_kwargs\":{");
    append_keywords(text, call->rank, call->keywords);
    strcat(text, "}");
    if (call->outputs) {
        strcat(text, ",\"output\":[");
        append_arguments(text, call->rank, call->outputs);
        strcat(text, "]");
    }
    strcat(text, "}");
}

static void write_dumps(void)
{
    for (int r = 0; r < MOST_RANKS; r++) {
        if (!texts[r]) continue;
        char name[64];
        (void)snprintf(name, sizeof name, "step0/rank%d/dump.json", r);
        strcat(texts[r], "}}");
        write_text(in(&place, name), texts[r]);
        free(texts[r]);
        texts[r] = NULL;
    }
}

/* ---- checking ------------------------------------------------------------------------------- */

static void tell(void *context, const char *line)
{
    (void)context;
    strcat(strncat(told, line, TEXT - strlen(told) - 2), "\n");
}

static struct status check(struct collectives_counts *counts)
{
    const struct dump_tree_filter all = { .steps.count = 0 };
    const struct file_policy policy = FILES_CHECKED;
    struct arena arena = { 0 };
    struct dump_tree tree;
    told[0] = '\0';
    ck_assert_int_eq(dump_tree_find(&tree, &arena, place.path, &all, policy).code, STATUS_OK);
    const struct collectives_request request = {
        .tree = &tree, .table = in(&place, "table.csv"), .policy = policy, .tell = tell
    };
    struct status status = collectives_check(counts, &request);
    arena_release(&arena);
    return status;
}

/* The calls, in this order on each rank, numbered by API and rank. */
static struct collectives_counts outcome_of(const char *framework, const struct call *calls,
                                            size_t n)
{
    struct collectives_counts counts;
    place = workspace_make();
    for (size_t i = 0; i < n; i++) {
        int number = 0;
        for (size_t k = 0; k < i; k++)
            number += calls[k].rank == calls[i].rank && !strcmp(calls[k].api, calls[i].api);
        add_call(framework, &calls[i], number);
    }
    write_dumps();
    struct status status = check(&counts);
    ck_assert_msg(!status.code, "%s", status.text);
    return counts;
}

#define OUTCOME(calls)              outcome_of("pytorch", calls, sizeof(calls) / sizeof *(calls))
#define OUTCOME_OF_MINDSPORE(calls) outcome_of("mindspore", calls, sizeof(calls) / sizeof *(calls))

static void verdicts_are(const struct collectives_counts *counts, size_t pass, size_t warning,
                         size_t error, size_t skip)
{
    const size_t *v = counts->verdicts;
    ck_assert_msg(v[VERDICT_PASS] == pass && v[VERDICT_WARNING] == warning &&
                      v[VERDICT_ERROR] == error && v[VERDICT_SKIP] == skip,
                  "%zu pass, %zu warning, %zu error, %zu SKIP:\n%s", v[VERDICT_PASS],
                  v[VERDICT_WARNING], v[VERDICT_ERROR], v[VERDICT_SKIP], told);
    workspace_remove(&place);
}

static void says(const char *words)
{
    ck_assert_msg(strstr(told, words) != NULL, "'%s' is not in: %s", words, told);
}

/* ---- each kind of call ------------------------------------------------------------------------ */

#define D "Distributed."

/* Right on two ranks; `wrong` is what rank 1 has behind the call instead. */
static const struct kind {
    const char *api, *args[2], *outputs[2], *wrong;
    int receivers; /* rows; rank 1 is one of them */
} kinds[] = {
    { "all_reduce", { "1 2", "10 20" }, { "11 22", "11 22" }, "11 23", 2 },
    { "all_reduce", { "1 2;+MAX", "10 0;+MAX" }, { "10 2;-", "10 2;-" }, "10 0;-", 2 },
    { "all_reduce", { "1 2;+AVG", "10 20;+AVG" }, { "5.5 11;-", "5.5 11;-" }, "11 22;-", 2 },
    { "all_reduce", { "2 3;+PRODUCT", "5 7;+PRODUCT" }, { "10 21;-", "10 21;-" }, "10 20;-", 2 },
    { "reduce", { "1 2;#1", "10 20;#1" }, { "3 4;-", "11 22;-" }, "10 20;-", 1 },
    { "broadcast", { "1 2;#0", "0 0;#0" }, { "1 2;-", "1 2;-" }, "0 0;-", 2 },
    { "scatter", { "0;1|2;#0", "0;-;#0" }, { "1;-;-", "2;-;-" }, "1;-;-", 2 },
    { "gather", { "1;-;#1", "2;0|0;#1" }, { "1;-;-", "2;1|2;-" }, "2;2|1;-", 1 },
    { "all_gather", { "0|0;1", "0|0;2" }, { "1|2;1", "1|2;2" }, "1|1;2", 2 },
    { "all_gather_into_tensor", { "0 0;1", "0 0;2" }, { "1 2;1", "1 2;2" }, "2 1;2", 2 },
    { "_all_gather_base", { "0 0;1", "0 0;2" }, { "1 2;1", "1 2;2" }, "2 1;2", 2 },
    { "reduce_scatter", { "0;1|2", "0;10|20" }, { "11;-", "22;-" }, "11;-", 2 },
    { "reduce_scatter_tensor", { "0;1 2", "0;10 20" }, { "11;-", "22;-" }, "21;-", 2 },
    { "_reduce_scatter_base", { "0;1 2", "0;10 20" }, { "11;-", "22;-" }, "21;-", 2 },
    { "all_to_all", { "0|0;1|2", "0|0;3|4" }, { "1|3;-", "2|4;-" }, "2|3;-", 2 },
    { "all_to_all_single", { "0 0;1 2", "0 0;3 4" }, { "1 3;-", "2 4;-" }, "4 2;-", 2 },
    { "all_to_all_single",
      { "0 0 0;1 2;#[1, 2];#[1, 1]", "0 0 0;3 4 5;#[1, 1];#[2, 1]" },
      { "1 3 4;-;-;-", "2 5;-;-;-" },
      "3 5;-;-;-",
      2 },
};

START_TEST(every_kind_of_call)
{
    const struct kind *kind = &kinds[_i];
    char api[64];
    (void)snprintf(api, sizeof api, D "%s", kind->api);
    for (int wrong = 0; wrong < 2; wrong++) {
        const struct call calls[] = {
            { 0, api, kind->args[0], "", kind->outputs[0] },
            { 1, api, kind->args[1], "", wrong ? kind->wrong : kind->outputs[1] },
        };
        struct collectives_counts counts = OUTCOME(calls);
        ck_assert_uint_eq(counts.meetings, 1);
        verdicts_are(&counts, (size_t)(kind->receivers - wrong), 0, (size_t)wrong, 0);
        if (wrong) says("rank 1, Distributed.");
    }
}
END_TEST

/* comm_func of MindSpore returns its results, with a handle behind them. */
static const struct kind returning_kinds[] = {
    { "all_reduce", { "1 2", "10 20" }, { "11 22;-", "11 22;-" }, "11 23;-", 2 },
    { "all_reduce",
      { "1 2;'max;'hccl_world_group", "10 0;'max;'hccl_world_group" },
      { "10 2;-", "10 2;-" },
      "10 0;-",
      2 },
    { "reduce", { "1 2;#1", "10 20;#1" }, { "1 2", "11 22" }, "10 20", 1 },
    { "broadcast", { "1 2", "0 0" }, { "1 2", "1 2" }, "0 0", 2 },
    { "broadcast", { "0 0;#1", "1 2;#1" }, { "1 2", "1 2" }, "0 0", 2 },
    { "scatter_tensor", { "1 2 3 4", "0 0 0 0" }, { "1 2", "3 4" }, "1 2", 2 },
    { "gather_into_tensor", { "1;#1", "2;#1" }, { "0 0", "1 2" }, "2 1", 1 },
    { "all_gather_into_tensor", { "1", "2" }, { "1 2;-", "1 2;-" }, "2 1;-", 2 },
    { "reduce_scatter_tensor", { "1 2", "10 20" }, { "11;-", "22;-" }, "21;-", 2 },
    { "all_to_all_with_output_shape", { "-;1|2", "-;3|4" }, { "1|3;-", "2|4;-" }, "2|3;-", 2 },
    { "all_to_all_single_with_output_shape",
      { "-;1 2;#[1, 2];#[1, 1]", "-;3 4 5;#[1, 1];#[2, 1]" },
      { "1 3 4;-", "2 5;-" },
      "3 5;-",
      2 },
};

START_TEST(every_kind_that_returns)
{
    const struct kind *kind = &returning_kinds[_i];
    char api[64];
    (void)snprintf(api, sizeof api, D "%s", kind->api);
    for (int wrong = 0; wrong < 2; wrong++) {
        const struct call calls[] = {
            { 0, api, kind->args[0], "", kind->outputs[0] },
            { 1, api, kind->args[1], "", wrong ? kind->wrong : kind->outputs[1] },
        };
        struct collectives_counts counts = OUTCOME_OF_MINDSPORE(calls);
        ck_assert_uint_eq(counts.meetings, 1);
        verdicts_are(&counts, (size_t)(kind->receivers - wrong), 0, (size_t)wrong, 0);
    }
}
END_TEST

START_TEST(messages_that_are_returned)
{
    const struct call calls[] = {
        { 0, D "send", "1 2;#1", "", NULL },
        { 1, D "recv", "0 0;#0", "", "1 2" },
        { 0, D "isend", "3 4", "dst=#1", "-" },
        { 1, D "irecv", "0 0", "src=#0", "3 5;-" },
    };
    struct collectives_counts counts = OUTCOME_OF_MINDSPORE(calls);
    says("rank 1, Distributed.irecv.0: 1 of 2 elements are wrong");
    verdicts_are(&counts, 1, 0, 1, 0);
}
END_TEST

/* Who belongs to a group of another name, nothing says. */
START_TEST(groups_of_mindspore_have_names_alone)
{
    const struct call calls[] = {
        { 0, D "all_reduce", "1 2", "group='tensor-parallel-3", "11 22;-" },
        { 1, D "all_reduce", "10 20", "group='tensor-parallel-3", "11 22;-" },
    };
    struct collectives_counts counts = OUTCOME_OF_MINDSPORE(calls);
    says("does not say who belongs to the group");
    ck_assert_uint_eq(counts.verdicts[VERDICT_SKIP], 2);
    workspace_remove(&place);
}
END_TEST

/* The same arguments by name, behind the call in the order in which they were given. */
START_TEST(arguments_by_name)
{
    const struct call calls[] = {
        { 0, D "reduce", "", "op=+MIN;dst=#0;tensor=1 2", "-;-;1 0" },
        { 1, D "reduce", "5 0", "dst=#0;op=+MIN", "5 0;-;-" },
        { 0, D "all_gather", "", "tensor=1;tensor_list=0|0", "1;1|2" },
        { 1, D "all_gather", "0|0", "tensor=2", "1|2;2" },
    };
    struct collectives_counts counts = OUTCOME(calls);
    verdicts_are(&counts, 3, 0, 0, 0);
}
END_TEST

/* Groups count their calls apart: what is the first call of one rank may be the second of another. */
START_TEST(groups_meet_by_themselves)
{
    const struct call calls[] = {
        { 0, D "all_reduce", "1", "group=@[0, 1] a", "3;-" },
        { 0, D "all_reduce", "10", "group=@[0, 2] b", "40;-" },
        { 1, D "all_reduce", "2", "group=@[0, 1] a", "3;-" },
        { 2, D "all_reduce", "30", "group=@[0, 2] b", "40;-" },
        { 0, D "all_reduce", "100", "group=@[0, 1] a", "300;-" },
        { 1, D "all_reduce", "200", "group=@[0, 1] a", "300;-" },
    };
    struct collectives_counts counts = OUTCOME(calls);
    ck_assert_uint_eq(counts.meetings, 3);
    verdicts_are(&counts, 6, 0, 0, 0);
}
END_TEST

START_TEST(results_that_differ_by_a_bit_are_a_warning)
{
    const struct call calls[] = {
        { 0, D "all_reduce", "1", "", "3" },
        { 1, D "all_reduce", "2", "", "3.0000002" },
    };
    struct collectives_counts counts = OUTCOME(calls);
    says("not bit for bit what rank 0 has");
    verdicts_are(&counts, 1, 1, 0, 0);
}
END_TEST

START_TEST(the_piece_is_named)
{
    const struct call calls[] = {
        { 0, D "all_gather", "0 0|0 0;1 2", "", "1 2|3 4;-" },
        { 1, D "all_gather", "0 0|0 0;3 4", "", "1 2|3 5;-" },
    };
    struct collectives_counts counts = OUTCOME(calls);
    says("1 of 2 elements are wrong; element 1 is 5, should be 4; in the piece of rank 1");
    verdicts_are(&counts, 1, 0, 1, 0);
}
END_TEST

/* Messages are numbered by sender and receiver, whatever the forms of the calls. */
START_TEST(messages)
{
    for (int wrong = 0; wrong < 2; wrong++) {
        const struct call calls[] = {
            { 0, D "send", "1 2;#1", "", "1 2;-" },
            { 0, D "isend", "3 4", "dst=#1", "3 4;-" },
            { 0, D "recv", "0;#2", "", wrong ? "8;-" : "7;-" },
            { 1, D "irecv", "0 0;#0", "", "1 2;-" },
            { 1, D "recv", "0 0", "src=#0", wrong ? "1 2;-" : "3 4;-" },
            { 2, D "send", "7;#0", "", "7;-" },
        };
        struct collectives_counts counts = OUTCOME(calls);
        ck_assert_uint_eq(counts.meetings, 3);
        if (wrong) {
            says("rank 0, Distributed.recv.0: 1 of 1 elements are wrong");
            says("rank 1, Distributed.recv.0: 2 of 2 elements are wrong");
        }
        verdicts_are(&counts, wrong ? 1 : 3, 0, wrong ? 2 : 0, 0);
    }
}
END_TEST

/* ---- what cannot be checked --------------------------------------------------------------------- */

static const struct gap {
    struct call calls[3];
    size_t pass, error, skip;
    const char *says;
} gaps[] = {
    /* Rank 2 is in the group and not in the dumps. */
    { { { 0, D "all_reduce", "1", "group=@[0, 1, 2] g", "6;-" },
        { 1, D "all_reduce", "2", "group=@[0, 1, 2] g", "6;-" } },
      0,
      0,
      2,
      "rank 2 has no such call" },
    /* Other pieces can still be judged, this one is not. */
    { { { 0, D "all_gather", "0|0;1", "group=@[0, 1] g", "1|2;-;-" } },
      0,
      0,
      1,
      "rank 1 has no such call" },
    { { { 0, D "all_reduce", "1", "", "3" }, { 1, D "all_reduce", "2", "", NULL } },
      0,
      0,
      2,
      "does not say what the call left" },
    { { { 0, D "all_reduce", "1", "", "3" }, { 1, D "all_reduce", "2", "", "3;3" } },
      0,
      0,
      2,
      "does not say what the call left" },
    { { { 0, D "all_reduce", "1;+PREMUL_SUM", "", "3;-" },
        { 1, D "all_reduce", "2;+PREMUL_SUM", "", "3;-" } },
      0,
      0,
      2,
      "the reduction 'PREMUL_SUM' is not known" },
    { { { 0, D "all_reduce", "1;+BAND", "", "3;-" }, { 1, D "all_reduce", "2;+BAND", "", "3;-" } },
      0,
      0,
      2,
      "bits of numbers with a point" },
    { { { 0, D "all_reduce", "1;+SUM", "", "3;-" }, { 1, D "all_reduce", "2;+MAX", "", "3;-" } },
      0,
      1,
      1,
      "it reduces by maximum, others of the group by sum" },
    { { { 0, D "all_reduce", "1 2", "", "3 4" }, { 1, D "all_reduce", "2", "", "3" } },
      0,
      2,
      0,
      "elements of a member that gave" },
    { { { 0, D "all_reduce", "1", "group=@[0, 0] g", "3;-" },
        { 1, D "all_reduce", "1", "group=@[0, 0] g", "3;-" } },
      0,
      0,
      2,
      "names rank 0 twice" },
    { { { 0, D "all_reduce", "1", "group=#7", "3;-" },
        { 1, D "all_reduce", "1", "group=#7", "3;-" } },
      0,
      0,
      2,
      "does not say who belongs to the group" },
    { { { 0, D "broadcast", "1;#5", "", "1;-" }, { 1, D "broadcast", "1;#5", "", "1;-" } },
      0,
      0,
      2,
      "its root is no member of the group" },
    { { { 0, D "scatter", "0;1|2|3;#0", "", "1;-;-" }, { 1, D "scatter", "0;-;#0", "", "2;-;-" } },
      0,
      1,
      1,
      "a list of 3 tensors, not of 2" },
    { { { 0, D "reduce_scatter_tensor", "0;1 2 3", "", "1;-" },
        { 1, D "reduce_scatter_tensor", "0;1 2 3", "", "1;-" } },
      0,
      2,
      0,
      "3 elements, no multiple of 2 ranks" },
    { { { 0, D "all_to_all_single", "0 0;1 2;#[1, 9];#[1, 1]", "", "1 2;-;-;-" },
        { 1, D "all_to_all_single", "0 0;3 4", "", "1 2;-" } },
      0,
      1,
      1,
      "split beyond its rows" },
    { { { 0, D "send", "1;#1", "", "1;-" } },
      0,
      0,
      1,
      "rank 0, Distributed.send.0: rank 1 has no such call" },
    { { { 1, D "recv", "1;#0", "", "1;-" } },
      0,
      0,
      1,
      "rank 1, Distributed.recv.0: rank 0 has no such call" },
    { { { 1, D "recv", "1", "", "1" } }, 0, 0, 1, "does not say who the other rank is" },
    { { { 0, D "reduce", "1;#1", "group=@[0, 1] g", "1;-;-" } },
      0,
      0,
      1,
      "rank 0, Distributed.reduce.0: rank 1 has no such call" },
    { { { 0, D "send", "1 2;#1", "", "1 2;-" }, { 1, D "recv", "1;#0", "", "1;-" } },
      0,
      1,
      0,
      "got 1 elements of a member that gave 2" },
    /* Calls that move no tensors, or are no collectives, have no rows. */
    { { { 0, D "barrier", "", "", "" },
        { 0, "Torch.all_reduce", "1", "", "2" },
        { 1, D "get_rank", "1;#0", "", "1;-" } },
      0,
      0,
      0,
      "" },
};

START_TEST(gaps_are_said)
{
    const struct gap *gap = &gaps[_i];
    size_t n = 0;
    while (n < 3 && gap->calls[n].api) n++;
    struct collectives_counts counts = outcome_of("pytorch", gap->calls, n);
    says(gap->says);
    verdicts_are(&counts, gap->pass, 0, gap->error, gap->skip);
}
END_TEST

START_TEST(a_rank_that_is_no_member)
{
    const struct call calls[] = {
        { 0, D "all_reduce", "1", "group=@[0, 1] g", "3;-" },
        { 1, D "all_reduce", "2", "group=@[0, 1] g", "3;-" },
        { 2, D "all_reduce", "7", "group=@[0, 1] g", "3;-" },
    };
    struct collectives_counts counts = OUTCOME(calls);
    says("rank 2, Distributed.all_reduce.0: this rank is no member of the group");
    verdicts_are(&counts, 2, 0, 0, 1);
}
END_TEST

/* Dumps of statistics have no tensors. */
START_TEST(dumps_without_tensors)
{
    struct collectives_counts counts;
    place = workspace_make();
    const struct call call = { 0, D "all_reduce", "1", "", "1" };
    add_call("pytorch", &call, 0);
    char *text = strstr(texts[0], "\"dump_data_dir\":\"dump_tensor_data\"");
    memcpy(text, "\"dump_data_dir\":null              ",
           strlen("\"dump_data_dir\":\"dump_tensor_data\""));
    write_dumps();
    ck_assert_int_eq(check(&counts).code, STATUS_OK);
    says("SKIP");
    verdicts_are(&counts, 0, 0, 0, 1);
}
END_TEST

/* A dump that is none ends the work, and leaves no table. */
START_TEST(dumps_that_cannot_be_read)
{
    struct collectives_counts counts;
    place = workspace_make();
    const struct call call = { 0, D "all_reduce", "1", "", "1" };
    add_call("pytorch", &call, 0);
    write_dumps();
    write_text(in(&place, "step0/rank0/dump.json"), "{");
    ck_assert_int_eq(check(&counts).code, STATUS_BAD_INPUT);
    ck_assert_uint_eq(count_matches(&place, "table*"), 0);
    workspace_remove(&place);
}
END_TEST

START_TEST(ranks_have_folders)
{
    struct collectives_counts counts;
    place = workspace_make();
    const struct call call = { 0, D "all_reduce", "1", "", "1" };
    add_call("pytorch", &call, 0);
    write_dumps();
    char command[700];
    (void)snprintf(command, sizeof command, "cd '%s' && cp -r step0/rank0 step0/model", place.path);
    ck_assert_int_eq(system(command), 0);
    struct status status = check(&counts);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "is in no folder of a rank"));
    (void)snprintf(command, sizeof command, "cd '%s/step0' && mv model rank00", place.path);
    ck_assert_int_eq(system(command), 0);
    status = check(&counts);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "rank 0 has two dumps of one step"));
    workspace_remove(&place);
}
END_TEST

/* ---- the command -------------------------------------------------------------------------------- */

START_TEST(the_command)
{
    place = workspace_make();
    const struct call calls[] = { { 0, D "all_reduce", "1 2 3 4 5", "", "4 6 8 10 12" },
                                  { 1, D "all_reduce", "3 4 5 6 7", "", "2 3 4 5 6" } };
    for (size_t i = 0; i < 2; i++) add_call("pytorch", &calls[i], 0);
    write_dumps();
    struct outcome o =
        run_program(&place, "collectives", "-i", ".", "-o", "out", "--fail-on", "error", NULL);
    ck_assert_msg(o.status == 1, "%s%s", o.out, o.err);
    ck_assert_ptr_nonnull(
        strstr(o.out, "error   step 0, rank 1, Distributed.all_reduce.0: 5 of 5 elements are "
                      "wrong"));
    ck_assert_ptr_nonnull(strstr(o.out, "it is the average, not the sum"));
    ck_assert_ptr_nonnull(
        strstr(o.out, "1 collective of 2 ranks in 1 step: 1 pass, 0 warning, 1 error, 0 SKIP"));
    outcome_free(&o);
    char *table = read_file(only_match(&place, "out/collectives_result_*.csv"), NULL);
    ck_assert_ptr_nonnull(strstr(
        table, "\r\n0,0,Distributed.all_reduce.0,,2,sum,torch.float32,5,0,0,0.0,0.0,0.0,pass,"
               "\r\n0,1,Distributed.all_reduce.0,,2,sum,torch.float32,5,5,0,"));
    free(table);
    o = run_program(&place, "collectives", "-i", ".", "-o", "book", "--rank", "0", "--xlsx", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_uint_eq(count_matches(&place, "book/collectives_result_*.xlsx"), 1);
    outcome_free(&o);
    o = run_program(&place, "collectives", "-i", "out", "-o", "out", NULL);
    ck_assert_int_eq(o.status, 2);
    outcome_free(&o);
    workspace_remove(&place);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collectives");
    TCase *tests = tcase_create("collectives");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, every_kind_of_call, 0, sizeof kinds / sizeof *kinds);
    tcase_add_loop_test(tests, every_kind_that_returns, 0,
                        sizeof returning_kinds / sizeof *returning_kinds);
    tcase_add_test(tests, messages_that_are_returned);
    tcase_add_test(tests, groups_of_mindspore_have_names_alone);
    tcase_add_test(tests, arguments_by_name);
    tcase_add_test(tests, groups_meet_by_themselves);
    tcase_add_test(tests, results_that_differ_by_a_bit_are_a_warning);
    tcase_add_test(tests, the_piece_is_named);
    tcase_add_test(tests, messages);
    tcase_add_loop_test(tests, gaps_are_said, 0, sizeof gaps / sizeof *gaps);
    tcase_add_test(tests, a_rank_that_is_no_member);
    tcase_add_test(tests, dumps_without_tensors);
    tcase_add_test(tests, dumps_that_cannot_be_read);
    tcase_add_test(tests, ranks_have_folders);
    tcase_add_test(tests, the_command);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
