/* The advice is the text of the first suspicious row, by kind of finding. */
#include "compare/dumps/advice.h"

#include <stdio.h>
#include <string.h>

static const char all_well[] = "All data in comparison result meets the accuracy requirements.";
static const char deterministic[] = "This torch api may be uncertainty in the calculation, can "
                                    "seed_all(mode=True) to enable deterministic computing.";

/* Calls whose results may differ from run to run. */
static const char *const not_deterministic[] = {
    "conv2d", "conv3d", "matmul", "nll_loss", "layer_norm", "lstm",
};

/* Of a suspect's name: the first line whose words it has. */
static const struct {
    const char *words[3];
    const char *text;
} rules[] = {
    { { "batch_norm", ".forward.input.1" },
      "The running statistics of this batch normalization may not be fixed. Set training=False or "
      "affine=False, or enable deterministic computing." },
    { { ".debug" },
      "The data saved at this point of the program differ. Check the code between it and the last "
      "point whose data agree." },
    { { "forward", "input" },
      "1. Analyze the model to view the input source.\n"
      "2. Check whether an inplace API causes the output result to overwrite the input result. "
      "That is, the fault is actually caused by a computation error.\n"
      "3. The fault may be caused by memory corruption and further analysis is required." },
    { { "forward" },
      "This is a forward API computation error. Check the computation implementation." },
    { { "input" }, "Check whether the forward computation result is affected." },
    { { "" }, "This is a backward API computation error. Check the computation implementation." },
};

static bool has_words(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (!strstr(name, *words)) return false;
    return true;
}

static const char *text_of(const char *name)
{
    for (size_t i = 0; strstr(name, ".output") && i < sizeof not_deterministic / sizeof(char *);
         i++)
        if (strstr(name, not_deterministic[i])) return deterministic;
    size_t rule = 0;
    while (!has_words(name, rules[rule].words)) rule++;
    return rules[rule].text;
}

struct status advice_make(struct advice *out, const struct comparison *c)
{
    static const enum row_verdict bad[] = { [DUMP_TENSOR] = VERDICT_NO,
                                            [DUMP_STATISTICS] = VERDICT_IS_WARNING,
                                            [DUMP_MD5] = VERDICT_DIFFERENT,
                                            [DUMP_STRUCTURE] = VERDICT_IS_WARNING };
    struct csv_buffer name = { 0 };

    *out = (struct advice){ ROW_NONE, all_well };
    for (uint32_t row = 0; row < c->npu.n_rows && out->row == ROW_NONE; row++)
        if (c->rows[row].verdict == bad[c->kind]) out->row = row;
    if (out->row == ROW_NONE) return status_ok();
    struct status status = dump_row_append_name(&name, &c->npu, &c->npu.rows[out->row]);
    if (!status.code) status = csv_append_bytes(&name, "", 1);
    if (!status.code) out->text = text_of(name.data);
    csv_buffer_release(&name);
    return status;
}

struct status advice_append(struct csv_buffer *out, const struct comparison *c,
                            const struct advice *advice)
{
    char line[64] = "Line: NA\nSuspect Nodes: ";

    if (advice->row != ROW_NONE)
        (void)snprintf(line, sizeof line, "Line: %u\nSuspect Nodes: ", advice->row);
    TRY(csv_append_bytes(out, line, strlen(line)));
    if (advice->row == ROW_NONE) TRY(csv_append_bytes(out, "NA", 2));
    else TRY(dump_row_append_name(out, &c->npu, &c->npu.rows[advice->row]));
    TRY(csv_append_bytes(out, "\nExpert Advice: ", 16));
    TRY(csv_append_bytes(out, advice->text, strlen(advice->text)));
    return csv_append_bytes(out, "\n", 1);
}
