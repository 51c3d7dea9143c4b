/* The result of comparing two dumps: what everything that shows it (table, advice, summary, report,
 * graph) reads. Rows are those of the NPU dump, in its order; a row's cells follow from the row,
 * its partner and what is noted here, and are made when they are shown (columns.h).
 */
#ifndef PROBE_COMPARE_DUMPS_RESULT_H
#define PROBE_COMPARE_DUMPS_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "compare/dumps/dump_rows.h"
#include "compare/dumps/pairing.h"
#include "compare/dumps/tensor_metrics.h"
#include "formats/table_file.h"

/* The columns and, for the third, the verdicts of a generation of the reference. */
enum generation { GENERATION_1, GENERATION_2, GENERATION_3 };

/* "g1", "g2", "g3", NULL: in the order of the generations. */
const char *const *generation_words(void);

/* The generation of one of the words. */
enum generation generation_of(const char *word);

/* What a row says in Err_message, in this order; the texts are in notes.c. */
enum row_note {
    NOTE_FORMULA_NAME,
    NOTE_FORMULA_TEXT,
    NOTE_ODD_SHAPE,
    NOTE_ODD_REQUIRES_GRAD,
    NOTE_NO_BENCH,
    NOTE_BENCH_UNMATCHED,
    NOTE_NPU_HAS_NO_DATA,
    NOTE_BENCH_HAS_NO_DATA,
    NOTE_NPU_FILE,
    NOTE_BENCH_FILE,
    NOTE_EMPTY,
    NOTE_ZERO_DIMENSIONS,
    NOTE_SHAPES_DIFFER,
    NOTE_UNREADABLE,
    NOTE_NON_FINITE_POSITIONS,
    NOTE_DTYPES_DIFFER,
    NOTE_ONE_ELEMENT,
    NOTE_COSINE_NAN,
    NOTE_MAX_ABS_NAN,
    NOTE_MAX_RELATIVE_NAN,
    NOTE_PADDING_CLEARED,
    NOTE_CALIBRATED,
    NOTE_CALIBRATION_FAILED,
    NOTE_FUZZY,
    NOTE_DOUBLE_CHECK,
    NOTE_ARGUMENT_DIFFERS,
    NOTE_REQUIRES_GRAD,
    NOTE_INF_SIGNS,
    /* reasons of a background, one a line */
    REASON_NON_FINITE,
    REASON_HUGE,
    REASON_MAGNITUDE,
    REASON_THOUSANDTH_RED,
    REASON_THOUSANDTH,
    REASON_COSINE,
    REASON_RELATIVE_RED,
    REASON_RELATIVE,
    /* rules of the third generation */
    RULE_NON_FINITE,
    RULE_NORM_JUMP,
    RULE_NORM_GROWTH,
    RULE_THOUSANDTH_DROP,
    RULE_COSINE_DROP,
    RULE_REQUIRES_GRAD,
    RULE_DTYPE,
    RULE_SHAPE,
    RULE_SCALAR,
    RULE_CHECKSUM,
    RULE_CHECKSUM_MISSING,
    ROW_NOTES
};
_Static_assert(ROW_NOTES <= 64, "notes are bits of a word");

static inline uint64_t note_bit(enum row_note note) { return UINT64_C(1) << note; }

/* The cell of the generation: `Accuracy Reached or Not`, or `Result`. */
enum row_verdict {
    VERDICT_EMPTY,
    VERDICT_YES,
    VERDICT_NO,
    VERDICT_NONE,      /* "None" */
    VERDICT_UNMATCHED, /* "Unmatched": shapes differ */
    VERDICT_IS_WARNING,
    VERDICT_IS_PASS,
    VERDICT_DIFFERENT,
    VERDICT_NOT_APPLICABLE, /* "N/A" */
    ROW_VERDICTS
};

/* Our own verdict, which every row has. */
enum row_level {
    LEVEL_PASS,
    LEVEL_WARNING,
    LEVEL_ERROR,
    LEVEL_UNMATCHED,
    LEVEL_NOT_JUDGED, /* nothing to judge by */
    ROW_LEVELS
};
const char *row_level_name(enum row_level level);

struct row_result {
    uint64_t notes;   /* bits of enum row_note */
    uint8_t verdict;  /* enum row_verdict */
    uint8_t level;    /* enum row_level */
    uint8_t fill;     /* enum table_fill */
    uint8_t g3_level; /* LEVEL_PASS to LEVEL_ERROR; LEVEL_UNMATCHED */
};

enum metric_cell {
    CELL_UNSUPPORTED,
    CELL_NUMBER,
    CELL_IS_NAN,         /* "Nan" */
    CELL_NOT_APPLICABLE, /* "N/A" */
    CELL_SHAPES_DIFFER   /* "shape unmatched" */
};

struct tensor_result {
    double metric[TENSOR_METRICS]; /* as the cells have them: rounded */
    uint8_t cell[TENSOR_METRICS];  /* enum metric_cell */
    bool counted;                  /* the four counts are known */
    bool inf_signs_differ;
    uint8_t own_level; /* by the limits of a profile, or of empty tensors; LEVEL_NOT_JUDGED */
    uint64_t notes;
    struct non_finite_counts npu, bench;
    char *detail; /* why a file could not be used; owned; mostly NULL */
};

struct stacks;

struct comparison {
    struct dump_rows npu, bench;
    struct dump_pair dumps;
    enum dump_kind kind; /* of both */
    enum generation generation;
    bool highlighted;
    bool any_shape; /* shapes are not judged */
    struct pairing pairing;
    uint32_t idle_names;           /* of a mapping file: no row has them */
    const char *idle_name;         /* the first of them; in the mapping */
    struct row_result *rows;       /* by NPU row */
    struct tensor_result *tensors; /* by NPU row; NULL but for DUMP_TENSOR */
    struct stacks *stacks;         /* of the NPU side; NULL when they are not shown */
};

static inline const struct dump_row *comparison_bench_row(const struct comparison *c, uint32_t row)
{
    uint32_t bench = c->pairing.bench_of[row];
    return bench == ROW_NONE ? NULL : &c->bench.rows[bench];
}

/* The texts of the notes of a row, appended as Err_message shows them. */
struct status notes_append(struct csv_buffer *out, const struct comparison *c, uint32_t row);

/* The sentence of one note; those about files need why behind them. */
const char *row_note_text(enum row_note note);

/* The same as the list of the third generation ("[]" when there is none). */
struct status notes_append_list(struct csv_buffer *out, const struct comparison *c, uint32_t row);

#endif
