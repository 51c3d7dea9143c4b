/* Snapshots of what others count; nothing is counted here. */
#include "online/live_source.h"

#include "report/html/html_report.h"

/* Why nothing can be stored or written now; "" when all is well. */
static const char *trouble_of(struct live_source *source, const struct judge_totals *totals,
                              struct arena *arena)
{
    if (totals->waiting_for[0]) return arena_copy_string(arena, totals->waiting_for);
    struct status status = judge_failure(source->judge);
    if (!status.code && source->stream) status = stream_service_trouble(source->stream);
    return status.code ? arena_copy_string(arena, status.text) : "";
}

struct status live_source_look(struct live_facts *facts, struct arena *arena, void *context)
{
    struct live_source *source = context;
    struct judge_cell *cells;
    struct stream_client_progress *clients;

    *facts = (struct live_facts){ .place = source->out_path,
                                  .connections = atomic_load(&source->connections),
                                  .is_over = atomic_load(&source->is_over) };
    TRY(judge_progress(&facts->totals, &cells, &facts->n_cells, arena, source->judge));
    facts->cells = cells;
    if (source->stream) {
        TRY(stream_service_progress(&clients, &facts->n_clients, &facts->store, arena,
                                    source->stream));
        facts->clients = clients;
    }
    facts->trouble = trouble_of(source, &facts->totals, arena);
    return facts->trouble ? status_ok() : status_no_memory(0);
}

struct status live_source_report(const char *path, void *context)
{
    struct live_source *source = context;
    struct html_report_summary summary;
    const char *paths[] = { source->out_path };
    const struct html_report_request request = {
        .paths = paths, .count = 1, .out_path = path, .policy = source->file_policy
    };
    return html_report_write(&summary, &request);
}
