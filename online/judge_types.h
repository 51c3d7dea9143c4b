/* What the judge is given and what it tells (online/judge.h): the words that its parts share. */
#ifndef PROBE_ONLINE_JUDGE_TYPES_H
#define PROBE_ONLINE_JUDGE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "online/record.h"
#include "standards/judged.h"

/* Where a record came from. */
struct record_origin {
    const char *address; /* of the connection, for messages; or NULL */
    uint64_t sequence;   /* in the connection, or in the session */
    int64_t rank, step;  /* as the frame says */
    /* Of our own transport, whose sessions outlive connections: the id, for the evidence and the journal. NULL: the
     * connection is the session, and nothing continues after it. */
    const char *session;
};

/* What became of a record. */
enum record_fate {
    RECORD_JUDGED,   /* its rows are written: verdicts, or SKIP with the reason */
    RECORD_FILTERED, /* another rank, or an API that the lists leave out: no row */
    RECORD_REFUSED,  /* no record: logged; no row */
};

struct record_done {
    struct record_origin origin; /* texts valid during the call */
    void *ticket;                /* of the submission */
    enum record_fate fate;
    const char *name;   /* of the call; NULL when it could not be told */
    int64_t rank, step; /* of the record */
    enum verdict
        verdict; /* the worst of its rows: error before warning before pass before SKIP; BLANK
                             without rows */
    const char *sentence; /* what is wrong with the worst row, or why it was refused; or NULL */
};

struct judge_submission {
    struct record_origin origin;
    record_decoder *decode; /* of this kind of body: record_decode, stream_record_decode */
    void *body;             /* the judge's when it is taken; 16-byte aligned (memory_allocate) */
    size_t bytes;
    void *ticket; /* handed to done() */
};

/* ---- what is going on, for people -------------------------------------------------------- */

enum { JUDGE_NAME_BYTES = 160, JUDGE_SENTENCE_BYTES = 320 };

/* Calls of one rank and step by their verdict; there are cells for the first 16384 ranks and steps. */
struct judge_cell {
    int64_t rank, step;
    uint64_t calls[VERDICT_SKIP + 1]; /* by the worst verdict of their rows */
};

/* A call that is not a pass. */
struct judge_call {
    bool is_set;
    enum verdict verdict;
    char name[JUDGE_NAME_BYTES]; /* of the row */
    char sentence[JUDGE_SENTENCE_BYTES];
    int64_t rank, step;
    uint64_t sequence;
    double excess; /* times what is allowed; infinite without numbers */
};

struct judge_totals {
    uint64_t submitted, judged, filtered, refused;
    uint64_t calls[VERDICT_SKIP + 1];
    uint64_t waiting, waiting_bytes; /* not committed yet */
    double lag_s;                    /* how long the oldest of these has been waiting */
    double mean_s, worst_s;          /* from submission to row, of the last calls (some hundred) */
    double rate;                     /* records a second, over the last ten seconds */
    double running_s;
    struct judge_call first_bad, worst;     /* warnings and errors */
    char waiting_for[JUDGE_SENTENCE_BYTES]; /* why rows cannot be written now; "" otherwise */
};

#endif
