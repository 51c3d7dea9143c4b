/* live-server [TOKEN]: the live view of a run that is made up. Prints its address, then takes commands, one a line:
 *
 *     bad        from now on there are errors and warnings, with names that would be markup
 *     many       there are 64 ranks, not 8
 *     trouble    the disk is full
 *     over       the run is over
 *     end        leave
 *
 * Every look is a second of the run later. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "online/live_view.h"

enum { FEW_RANKS = 8, MANY_RANKS = 64, STEPS = 40 };

struct run {
    bool bad, trouble, over;
    int ranks, looks;
};

static void make_cells(struct judge_cell *cells, const struct run *run)
{
    for (int rank = 0; rank < run->ranks; rank++)
        for (int step = 0; step < STEPS; step++) {
            struct judge_cell *cell = &cells[rank * STEPS + step];
            *cell = (struct judge_cell){ .rank = rank, .step = step };
            cell->calls[VERDICT_PASS] = (uint64_t)(900 + 13 * rank + step);
            cell->calls[VERDICT_SKIP] = 17;
            if (run->bad && rank == 3 && step > 4)
                cell->calls[VERDICT_ERROR] = (uint64_t)(step % 3);
            if (run->bad && rank == 5 && step % 9 == 0) cell->calls[VERDICT_WARNING] = 1200;
        }
}

static void make_bad_calls(struct judge_totals *totals)
{
    totals->first_bad = (struct judge_call){
        .is_set = true,
        .verdict = VERDICT_ERROR,
        .rank = 3,
        .step = 5,
        .excess = 1234.5,
        .name = "Functional.layer_norm.17.forward.output.0",
        .sentence = "the maximum relative error 0.31 exceeds 0.0002; <img src=x onerror=alert(1)>"
    };
    totals->worst =
        (struct judge_call){ .is_set = true,
                             .verdict = VERDICT_ERROR,
                             .rank = 3,
                             .step = 22,
                             .excess = 1.0 / 0.0,
                             .name = "Torch.<script>alert(2)</script>.0.forward.output.0",
                             .sentence = "NaN where the reference is 0.5" };
}

static void make_clients(struct stream_client_progress *clients, const struct run *run)
{
    for (int rank = 0; rank < run->ranks; rank++) {
        struct stream_client_progress *client = &clients[rank];
        *client = (struct stream_client_progress){
            .rank = rank,
            .process = (uint32_t)(41000 + rank),
            .is_connected = !run->over && rank != 6,
            .has_ended = run->over,
            .received = (uint64_t)(37000 + 11 * rank),
            .received_bytes = 48000000000ULL + (uint64_t)rank * 12345678,
            .state = { .queued_records = (uint64_t)(rank * 3),
                       .dropped_records = run->bad && rank == 6 ? 421 : 0 }
        };
        snprintf(client->host, sizeof client->host, rank < 4 ? "node-a" : "node-b<b>");
        snprintf(client->address, sizeof client->address, "10.0.0.%d:5%d", 10 + rank / 4,
                 1000 + rank);
    }
}

static struct status look(struct live_facts *facts, struct arena *arena, void *context)
{
    struct run *run = context;
    const size_t ranks = (size_t)run->ranks, n_cells = ranks * STEPS;
    struct judge_cell *cells = arena_allocate_array(arena, n_cells, sizeof *cells);
    struct stream_client_progress *clients = arena_allocate_array(arena, ranks, sizeof *clients);

    if (!cells || !clients) return status_no_memory(0);
    make_cells(cells, run);
    make_clients(clients, run);
    int second = ++run->looks;
    struct judge_totals totals = { .submitted = 302000,
                                   .judged = 301200,
                                   .filtered = 12,
                                   .refused = run->bad ? 2 : 0,
                                   .waiting = (uint64_t)(second % 7 * 31),
                                   .waiting_bytes = 180000000,
                                   .lag_s = 0.2 + 0.1 * (second % 5),
                                   .mean_s = 0.0042,
                                   .worst_s = 0.31,
                                   .rate = 1800 + 100 * (second % 4),
                                   .running_s = 3600 + second };
    for (size_t i = 0; i < n_cells; i++)
        for (int v = 0; v <= VERDICT_SKIP; v++) totals.calls[v] += cells[i].calls[v];
    if (run->bad) make_bad_calls(&totals);
    *facts = (struct live_facts){
        .totals = totals,
        .cells = cells,
        .n_cells = n_cells,
        .clients = clients,
        .n_clients = ranks,
        .store = { .arrived_bytes = 384000000000, .spool_bytes = 730000000 },
        .connections = 9,
        .trouble = run->trouble
                       ? "cannot write '/out/spool/segment00000007.spool': No space left on device"
                       : "",
        .place = "/work/results/online-run-17",
        .is_over = run->over
    };
    return status_ok();
}

static struct status report(const char *path, void *context)
{
    (void)context;
    FILE *file = fopen(path, "w");
    if (!file) return status_error(STATUS_IO, "cannot write %s", path);
    fputs("<!DOCTYPE html><title>report</title><p>the rows so far", file);
    return fclose(file) ? status_error(STATUS_IO, "cannot write %s", path) : status_ok();
}

int main(int count, char **words)
{
    struct run run = { .ranks = FEW_RANKS };
    const struct live_view_options options = { .address = "127.0.0.1:0",
                                               .token = count > 1 ? words[1] : NULL,
                                               .look = look,
                                               .report = report,
                                               .context = &run };
    struct live_view *view;
    char line[80];

    struct status status = live_view_open(&view, &options);
    if (status.code) {
        fprintf(stderr, "%s\n", status.text);
        return 1;
    }
    printf("%s\n", live_view_url(view));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && strcmp(line, "end\n") != 0) {
        run.bad = run.bad || !strcmp(line, "bad\n");
        if (!strcmp(line, "many\n")) run.ranks = MANY_RANKS;
        run.trouble = !strcmp(line, "trouble\n");
        run.over = !strcmp(line, "over\n");
    }
    live_view_close(view);
    return 0;
}
