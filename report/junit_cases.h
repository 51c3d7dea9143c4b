/* The cases of a JUnit report: rows of a details file, grouped by call and direction, with what the evidence
 * says of those that fail. */
#ifndef PROBE_REPORT_JUNIT_CASES_H
#define PROBE_REPORT_JUNIT_CASES_H

#include "core/text_table.h"
#include "formats/csv.h"
#include "standards/judged.h"

/* One call and direction. */
struct junit_case {
    enum verdict verdict; /* the worst of its rows; SKIP when none was judged */
    size_t call_length;   /* of its name, what names the call; 0 for a row that has another form */
    bool backward;
    char *sentence; /* of the first row with that verdict, one line; NULL when all pass; owned */
    struct csv_buffer notes; /* XML text of the rows that are not a pass */
};

struct junit_cases {
    struct text_table names; /* "<call>.<direction>" */
    struct junit_case *items;
    size_t capacity;
};

/* Read the cases, in the order of the details file.
 *
 *   out            to be released, also on failure
 *   evidence_path  of the same run: sentences, lines of source, commands. NULL or a file that is not
 *                  there: rows say what their message does
 */
struct status junit_cases_read(struct junit_cases *out, const char *details_path,
                               const char *evidence_path);
void junit_cases_release(struct junit_cases *cases);

#endif
