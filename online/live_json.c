/* The facts of a run as JSON. Texts of others are strings in it and nothing else; the page puts them into
 * text nodes. */
#include "online/live_json.h"

#include <string.h>

#include "pages/json_out.h"

static void write_text(struct text_out *out, const char *key, const char *text)
{
    json_out_format(out, "\"%s\":", key);
    json_out_string(out, text, strlen(text));
}

static void write_number(struct text_out *out, const char *key, double number)
{
    json_out_format(out, "\"%s\":", key);
    json_out_number(out, number);
}

static void write_count(struct text_out *out, const char *key, uint64_t count)
{
    json_out_format(out, "\"%s\":%llu", key, (unsigned long long)count);
}

static void comma(struct text_out *out) { json_out_format(out, ","); }

static void write_calls(struct text_out *out, const uint64_t *calls)
{
    for (int i = 0; i <= VERDICT_SKIP; i++)
        json_out_format(out, "%s%llu", i ? "," : "", (unsigned long long)calls[i]);
}

/* ---- ranks and steps -------------------------------------------------------------------- */

static bool is_bad(const struct judge_cell *cell)
{
    return cell->calls[VERDICT_ERROR] || cell->calls[VERDICT_WARNING];
}

/* Steps in ascending order, the same once. */
struct steps {
    int64_t items[LIVE_LAST_STEPS + LIVE_BAD_STEPS];
    size_t count;
};

static bool has_step(const struct steps *steps, int64_t step)
{
    for (size_t i = 0; i < steps->count; i++)
        if (steps->items[i] == step) return true;
    return false;
}

static void insert_step(struct steps *steps, int64_t step, size_t at)
{
    memmove(steps->items + at + 1, steps->items + at, (steps->count - at) * sizeof *steps->items);
    steps->items[at] = step;
    steps->count++;
}

static size_t place_of(const struct steps *steps, int64_t step)
{
    size_t at = 0;
    while (at < steps->count && steps->items[at] < step) at++;
    return at;
}

/* Keep the `most` largest steps of those that come, or the smallest. */
static void keep_step(struct steps *steps, int64_t step, size_t most, bool largest)
{
    if (has_step(steps, step)) return;
    size_t at = place_of(steps, step);
    if (steps->count == most) {
        if (largest ? at == 0 : at == most) return;
        if (largest) {
            memmove(steps->items, steps->items + 1, (most - 1) * sizeof *steps->items);
            at--;
        }
        steps->count--;
    }
    insert_step(steps, step, at);
}

static void choose_steps(struct steps *chosen, const struct live_facts *facts)
{
    struct steps bad = { .count = 0 };

    chosen->count = 0;
    for (size_t i = 0; i < facts->n_cells; i++) {
        keep_step(chosen, facts->cells[i].step, LIVE_LAST_STEPS, true);
        if (is_bad(&facts->cells[i])) keep_step(&bad, facts->cells[i].step, LIVE_BAD_STEPS, false);
    }
    for (size_t i = 0; i < bad.count; i++)
        if (!has_step(chosen, bad.items[i]))
            insert_step(chosen, bad.items[i], place_of(chosen, bad.items[i]));
}

static void write_steps(struct text_out *out, const struct steps *steps)
{
    json_out_format(out, "\"steps\":[");
    for (size_t i = 0; i < steps->count; i++)
        json_out_format(out, "%s%lld", i ? "," : "", (long long)steps->items[i]);
    json_out_format(out, "]");
}

static void write_cells(struct text_out *out, const struct live_facts *facts,
                        const struct steps *steps)
{
    bool first = true;

    json_out_format(out, "\"cells\":[");
    for (size_t i = 0; i < facts->n_cells; i++) {
        const struct judge_cell *cell = &facts->cells[i];
        if (!has_step(steps, cell->step)) continue;
        json_out_format(out, "%s[%lld,%lld,", first ? "" : ",", (long long)cell->rank,
                        (long long)cell->step);
        write_calls(out, cell->calls);
        json_out_format(out, "]");
        first = false;
    }
    json_out_format(out, "]");
}

/* The sum of each rank, over all its steps. */
static void write_ranks(struct text_out *out, const struct live_facts *facts)
{
    json_out_format(out, "\"ranks\":[");
    for (size_t i = 0; i < facts->n_cells;) {
        const struct judge_cell *first = &facts->cells[i];
        uint64_t calls[VERDICT_SKIP + 1] = { 0 };
        json_out_format(out, "%s[%lld,", i ? "," : "", (long long)first->rank);
        for (; i < facts->n_cells && facts->cells[i].rank == first->rank; i++)
            for (int v = 0; v <= VERDICT_SKIP; v++) calls[v] += facts->cells[i].calls[v];
        write_calls(out, calls);
        json_out_format(out, "]");
    }
    json_out_format(out, "]");
}

/* ---- calls and clients ------------------------------------------------------------------ */

static void write_call(struct text_out *out, const char *key, const struct judge_call *call)
{
    json_out_format(out, "\"%s\":", key);
    if (!call->is_set) {
        json_out_format(out, "null");
        return;
    }
    json_out_format(out, "{");
    write_text(out, "name", call->name);
    comma(out);
    write_text(out, "verdict", verdict_name(call->verdict));
    comma(out);
    write_text(out, "sentence", call->sentence);
    json_out_format(out, ",\"rank\":%lld,\"step\":%lld,", (long long)call->rank,
                    (long long)call->step);
    write_number(out, "excess", call->excess);
    json_out_format(out, "}");
}

static void write_client(struct text_out *out, const struct stream_client_progress *client)
{
    json_out_format(out, "{");
    write_text(out, "host", client->host);
    comma(out);
    write_text(out, "address", client->address);
    json_out_format(out, ",\"rank\":%lld,\"process\":%u,\"connected\":%s,\"ended\":%s,",
                    (long long)client->rank, client->process,
                    client->is_connected ? "true" : "false", client->has_ended ? "true" : "false");
    write_count(out, "received", client->received);
    comma(out);
    write_count(out, "received_bytes", client->received_bytes);
    comma(out);
    write_count(out, "queued", client->state.queued_records);
    comma(out);
    write_count(out, "queued_bytes", client->state.queued_bytes);
    comma(out);
    write_count(out, "dropped", client->state.dropped_records);
    json_out_format(out, "}");
}

static void write_clients(struct text_out *out, const struct live_facts *facts)
{
    json_out_format(out, "\"clients\":[");
    for (size_t i = 0; i < facts->n_clients; i++) {
        if (i) comma(out);
        write_client(out, &facts->clients[i]);
    }
    json_out_format(out, "]");
}

/* ---- all of it -------------------------------------------------------------------------- */

static void write_totals(struct text_out *out, const struct live_facts *facts)
{
    const struct judge_totals *totals = &facts->totals;
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {
        { "submitted", totals->submitted },
        { "judged", totals->judged },
        { "filtered", totals->filtered },
        { "refused", totals->refused },
        { "waiting", totals->waiting + facts->store.waiting },
        { "waiting_bytes", totals->waiting_bytes },
        { "arrived_bytes", facts->store.arrived_bytes },
        { "spool_bytes", facts->store.spool_bytes },
        { "connections", facts->connections },
    };
    const struct {
        const char *key;
        double number;
    } numbers[] = {
        { "lag_s", totals->lag_s },         { "mean_s", totals->mean_s },
        { "worst_s", totals->worst_s },     { "rate", totals->rate },
        { "running_s", totals->running_s },
    };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        write_count(out, counts[i].key, counts[i].count);
        comma(out);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        write_number(out, numbers[i].key, numbers[i].number);
        comma(out);
    }
    json_out_format(out, "\"calls\":[");
    write_calls(out, totals->calls);
    json_out_format(out, "]");
}

void live_json_write(struct text_out *out, const struct live_facts *facts)
{
    struct steps steps;

    choose_steps(&steps, facts);
    json_out_format(out, "{\"over\":%s,", facts->is_over ? "true" : "false");
    write_totals(out, facts);
    comma(out);
    write_text(out, "trouble", facts->trouble);
    comma(out);
    write_text(out, "place", facts->place);
    comma(out);
    write_call(out, "first_bad", &facts->totals.first_bad);
    comma(out);
    write_call(out, "worst", &facts->totals.worst);
    comma(out);
    write_ranks(out, facts);
    comma(out);
    write_steps(out, &steps);
    comma(out);
    write_cells(out, facts, &steps);
    comma(out);
    write_clients(out, facts);
    json_out_format(out, "}\n");
}
