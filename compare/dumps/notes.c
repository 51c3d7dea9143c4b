/* What rows say, in words. The sentences of the comparison's own notes are those that users of msprobe
 * search for. */
#include <string.h>

#include "compare/dumps/result.h"
#include "formats/json_write.h"

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): long sentences go over two lines */
static const char *const notes[ROW_NOTES] = {
    [NOTE_FORMULA_NAME] =
        "The name starts like a formula of a spreadsheet; the row is not compared. ",
    [NOTE_FORMULA_TEXT] =
        "A text of the record starts like a formula of a spreadsheet; the row is not compared. ",
    [NOTE_ODD_SHAPE] = "The recorded shape is no list; the row is not compared. ",
    [NOTE_ODD_REQUIRES_GRAD] =
        "The recorded requires_grad is no boolean; the row is not compared. ",
    [NOTE_NO_BENCH] = "No bench data matched.",
    [NOTE_BENCH_UNMATCHED] = "Bench api/module unmatched.",
    [NOTE_NPU_HAS_NO_DATA] = "NPU does not have data file.",
    [NOTE_BENCH_HAS_NO_DATA] = "Bench does not have data file.",
    [NOTE_NPU_FILE] = "Dump file of NPU cannot be used: ",
    [NOTE_BENCH_FILE] = "Dump file of Bench cannot be used: ",
    [NOTE_EMPTY] = "This is empty data, can not compare.",
    [NOTE_ZERO_DIMENSIONS] = "This is type of 0-d tensor, can not calculate 'Cosine', 'EucDist', "
                             "'One Thousandth Err Ratio' and 'Five Thousandths Err Ratio'. ",
    [NOTE_SHAPES_DIFFER] = "Shape of NPU and bench tensor do not match. Skipped.",
    [NOTE_UNREADABLE] = "The data is unreadable: one side is complex, the other is not.",
    [NOTE_NON_FINITE_POSITIONS] =
        "The position of inf or nan in NPU and bench Tensor do not match.",
    [NOTE_DTYPES_DIFFER] = "Dtype of NPU and bench tensor do not match.",
    [NOTE_ONE_ELEMENT] = "This is a 1-d tensor of length 1.",
    [NOTE_COSINE_NAN] = "Cosine is Nan: one of the two tensors has only zeros. ",
    [NOTE_MAX_ABS_NAN] = "MaxAbsErr is Nan. ",
    [NOTE_MAX_RELATIVE_NAN] = "MaxRelativeErr is Nan. ",
    [NOTE_PADDING_CLEARED] = "Padding rows of NPU were set to 0 before comparing. ",
    [NOTE_CALIBRATED] = "Multiplied by the calibration matrix before comparing. ",
    [NOTE_CALIBRATION_FAILED] =
        "The calibration matrix does not fit the tensor; the raw tensor is compared. ",
    [NOTE_FUZZY] = "This entry was matched by fuzzy match, which may affect the accuracy. ",
    [NOTE_DOUBLE_CHECK] = "Need double check api accuracy. ",
    [NOTE_ARGUMENT_DIFFERS] = "A non-tensor argument differs. ",
    [NOTE_REQUIRES_GRAD] = "Requires_grad inconsistent. ",
    [NOTE_INF_SIGNS] = "The signs of inf differ. ",
    [REASON_NON_FINITE] = "Maximum or minimum is nan, -inf, or inf",
    [REASON_HUGE] = "Maximum absolute error exceeds 1e+10",
    [REASON_MAGNITUDE] = "The output's maximum absolute error is an order of magnitude larger than "
                         "the input/parameter's",
    [REASON_THOUSANDTH_RED] =
        "The input/parameter's one thousandth err ratio exceeds 0.9, while the "
        "output's is below 0.6",
    [REASON_THOUSANDTH] =
        "The output's one thousandth err ratio decreases by more than 0.1 compared "
        "to the input/parameter's",
    [REASON_COSINE] = "The output's cosine decreases by more than 0.1 compared to the "
                      "input/parameter's",
    [REASON_RELATIVE_RED] = "The output's maximum relative error exceeds 0.5",
    [REASON_RELATIVE] = "The output's maximum relative error exceeds 0.1, while the "
                        "input/parameter's is below 0.01",
    [RULE_NON_FINITE] = "NPU has inf or nan in its maximum or minimum, Bench has not",
    [RULE_NORM_JUMP] = "Norm relative error below 10% in every input and above 50% in the output",
    [RULE_NORM_GROWTH] = "Norm relative error grows tenfold from the inputs to the outputs",
    [RULE_THOUSANDTH_DROP] =
        "One thousandth err ratio above 0.9 in the inputs and below 0.1 in the "
        "outputs",
    [RULE_COSINE_DROP] = "Cosine above 0.9 in the inputs and more than 0.1 lower in the outputs",
    [RULE_REQUIRES_GRAD] = "Requires_grad inconsistent",
    [RULE_DTYPE] = "Dtypes differ",
    [RULE_SHAPE] = "Shapes differ",
    [RULE_SCALAR] = "A non-tensor argument differs",
    [RULE_CHECKSUM] = "Checksums differ",
    [RULE_CHECKSUM_MISSING] = "One side has no checksum",
};

const char *row_note_text(enum row_note note) { return notes[note]; }
/* NOLINTEND(bugprone-suspicious-missing-comma) */

static const char *const levels[ROW_LEVELS] = {
    [LEVEL_PASS] = "pass",           [LEVEL_WARNING] = "warning", [LEVEL_ERROR] = "error",
    [LEVEL_UNMATCHED] = "unmatched", [LEVEL_NOT_JUDGED] = "",
};

const char *row_level_name(enum row_level level) { return levels[level]; }

/* A note, and with one about a file why. */
static struct status append_note(struct csv_buffer *out, const struct comparison *c, uint32_t row,
                                 enum row_note note)
{
    TRY(csv_append_bytes(out, notes[note], strlen(notes[note])));
    if (note != NOTE_NPU_FILE && note != NOTE_BENCH_FILE) return status_ok();
    const char *detail = c->tensors && c->tensors[row].detail ? c->tensors[row].detail : "";
    return csv_append_bytes(out, detail, strlen(detail));
}

struct status notes_append(struct csv_buffer *out, const struct comparison *c, uint32_t row)
{
    uint64_t left = c->rows[row].notes;
    bool anything = false;

    while (left) {
        enum row_note note = (enum row_note)__builtin_ctzll(left);
        left &= left - 1;
        if (anything && note >= REASON_NON_FINITE) TRY(csv_append_bytes(out, "\n", 1));
        TRY(append_note(out, c, row, note));
        anything = true;
    }
    return status_ok();
}

struct status notes_append_list(struct csv_buffer *out, const struct comparison *c, uint32_t row)
{
    struct csv_buffer text = { 0 };
    struct status status = csv_append_bytes(out, "[", 1);
    bool first = true;

    for (uint64_t left = c->rows[row].notes; left && !status.code; left &= left - 1) {
        csv_buffer_clear(&text);
        if (!first) status = csv_append_bytes(out, ", ", 2);
        first = false;
        if (!status.code) status = append_note(&text, c, row, (enum row_note)__builtin_ctzll(left));
        while (text.length && text.data[text.length - 1] == ' ') text.length--;
        if (!status.code) status = json_append_string(out, text.data, text.length);
    }
    csv_buffer_release(&text);
    return status.code ? status : csv_append_bytes(out, "]", 1);
}
