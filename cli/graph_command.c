/* The options of graphs, and what they found in a few lines. */
#include "cli/graph_command.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/warning_printer.h"
#include "compare/dumps/input.h"
#include "compare/dumps/layer_mapping.h"
#include "core/clock.h"
#include "core/memory.h"
#include "graph/database.h"
#include "graph/job.h"
#include "report/ci_reports.h"
#include "runner/environment.h"
#include "runner/interrupts.h"

struct graph_command_options {
    const char *framework; /* of the program's command line */
    const char *input, *target, *golden, *output, *formats, *schema, *fail_on;
    const char *layers; /* "": a layer mapping without a file */
    const char *matches;
    bool fuzzy, overflow_check;
    int64_t threads;
    struct file_policy file_policy;
};

/* ---- formats -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum graph_format format;
} formats[] = { { "html", GRAPH_HTML }, { "vis", GRAPH_VIS }, { "db", GRAPH_DATABASE } };
enum { N_FORMATS = sizeof formats / sizeof *formats };

static struct status add_format(unsigned *out, const char *name, size_t length)
{
    char typed[32];
    const char *names[N_FORMATS + 1] = { NULL };
    for (size_t i = 0; i < N_FORMATS; i++) {
        names[i] = formats[i].name;
        if (strlen(names[i]) != length || memcmp(name, names[i], length)) continue;
        if (formats[i].format == GRAPH_DATABASE && !database_available())
            return status_error(STATUS_BAD_ARGUMENT,
                                "this program was built without SQLite and cannot write databases; "
                                "use --format html,vis");
        *out |= formats[i].format;
        return status_ok();
    }
    (void)snprintf(typed, sizeof typed, "%.*s", (int)(length < 31 ? length : 31), name);
    return options_unknown_choice("--format", typed, names);
}

/* A list with commas; without one the page and what older viewers read. */
static struct status read_formats(unsigned *out, const char *list)
{
    *out = 0;
    if (!list) {
        *out = GRAPH_HTML | GRAPH_VIS;
        return status_ok();
    }
    for (;;) {
        size_t length = strcspn(list, ",");
        TRY(add_format(out, list, length));
        if (!list[length]) return status_ok();
        list += length + 1;
    }
}

/* ---- progress and interrupts ------------------------------------------------------------------ */

struct watching {
    const struct interrupts *interrupts;
};

static bool go_on(void *context, size_t done, size_t total)
{
    const struct watching *w = context;
    (void)done, (void)total;
    return !interrupts_take(w->interrupts);
}

/* ---- what the user sees ------------------------------------------------------------------------- */

static void print_counts(const struct graph_counts *counts, const struct graph_job *job,
                         double seconds)
{
    bool compared = graph_job_compares(job);
    printf("%u graph%s, %u nodes", counts->graphs, counts->graphs == 1 ? "" : "s", counts->nodes);
    if (compared) printf(", %u matched, %u suspicious", counts->matched, counts->suspicious);
    if (job->options.by_hand) printf(", %u by hand", counts->by_hand);
    if (job->options.overflow_check) printf(", %u with overflow", counts->overflowing);
    printf(", %.2f s\n", seconds);
    if (job->plan->left_out)
        printf("%zu ranks or steps are on one side only and left out\n", job->plan->left_out);
    if (counts->suspicious) {
        printf("first suspicious: %s", counts->first_suspicious);
        if (job->plan->kind == FOLDER_STEPS) printf(" (step %u)", counts->first_step);
        if (job->plan->kind != FOLDER_RANK) printf(" (rank %u)", counts->first_rank);
        printf("\n");
    }
    const char *step = job->plan->kind == FOLDER_STEPS ? "step*_" : "";
    const char *place = job->parallel ? "merged*_" : job->plan->kind == FOLDER_RANK ? "" : "rank*_";
    const char *verb = compared ? "compare" : "build";
    printf("results:\n");
    if (job->formats & GRAPH_HTML) printf("  %s/%s_%s.html\n", job->output, verb, job->stamp.text);
    if (job->formats & GRAPH_VIS)
        printf("  %s/%s_%s%s%s.vis\n", job->output, verb, step, place, job->stamp.text);
    if (job->formats & GRAPH_DATABASE)
        printf("  %s/%s_%s.vis.db\n", job->output, verb, job->stamp.text);
}

/* ---- the command ---------------------------------------------------------------------------------- */

static struct status read_input(struct comparison_input *out,
                                const struct graph_command_options *options)
{
    if (options->input && (options->target || options->golden))
        return status_error(STATUS_BAD_ARGUMENT, "give either -i or -tp and -gp");
    if (options->input)
        return comparison_input_read(out, options->input, false, options->file_policy);
    if (!options->target) return status_error(STATUS_BAD_ARGUMENT, "give -i FILE, or -tp FOLDER");
    return comparison_input_of_paths(out, options->target, options->golden);
}

static struct status make_job(struct graph_job *out, const struct graph_command_options *options,
                              struct watching *watching)
{
    *out = (struct graph_job){
        .output = options->output,
        .options = { .generation = generation_of(options->schema),
                     .rule = options->layers  ? MATCH_MAPPED
                             : options->fuzzy ? MATCH_FUZZY
                                              : MATCH_EXACT,
                     .overflow_check = options->overflow_check,
                     .threads = options->threads ? (unsigned)options->threads
                                                 : (unsigned)environment_cores(),
                     .file_policy = options->file_policy,
                     .watch = { go_on, watching } },
    };
    TRY(read_formats(&out->formats, options->formats));
    return timestamp_of(&out->stamp, time(NULL));
}

/* The rules of a layer mapping; their text and tree live in `arena`. */
static struct status read_layers(struct yaml_document *out, struct arena *arena,
                                 const struct graph_command_options *options)
{
    char *text;
    size_t bytes;
    TRY(file_read_text(&text, &bytes, options->layers, options->file_policy));
    const char *name = arena_copy_string(arena, options->layers);
    struct status status = name ? yaml_parse(out, arena, name, text, bytes) : status_no_memory(0);
    memory_release(text);
    return status.code ? status : layer_mapping_check(out);
}

/* Match by layers. The first generation wants a file, and goes on without one that is broken. */
static struct status use_layers(struct graph_options *out, struct yaml_document *layers,
                                struct arena *arena, const struct graph_command_options *options)
{
    bool first = out->generation == GENERATION_1;
    if (!*options->layers && first)
        return status_error(STATUS_BAD_ARGUMENT,
                            "option '-lm' needs a file with --result-schema g1");
    if (!*options->layers) return status_ok();
    struct status status = read_layers(layers, arena, options);
    out->layers = layers;
    if (!first || status.code != STATUS_BAD_INPUT) return status;
    warn(warning_printer, "%s; it is ignored", status.text);
    out->rule = MATCH_EXACT;
    out->layers = NULL;
    return status_ok();
}

/* Pairs of folders; where ranks are merged, those of each side by themselves. */
struct plans {
    struct parallel_merge parallel;
    struct graph_plan plan, bench;
};

static void release_plans(struct plans *plans)
{
    graph_plan_release(&plans->plan);
    graph_plan_release(&plans->bench);
}

/* The first generation wants the same ranks and steps on both sides. */
static struct status make_plan(struct graph_plan *out, const struct graph_command_options *options,
                               const struct comparison_input *input)
{
    TRY(graph_plan_make(out, input->npu_path, input->bench_path));
    if (!out->left_out || generation_of(options->schema) != GENERATION_1) return status_ok();
    struct status status = status_error(
        STATUS_BAD_INPUT,
        "%zu ranks or steps are on only one side, which --result-schema g1 refuses", out->left_out);
    graph_plan_release(out);
    return status;
}

static struct status make_plans(struct plans *out, const struct graph_command_options *options,
                                const struct comparison_input *input)
{
    *out = (struct plans){ .parallel.wanted = false };
    if (options->input)
        TRY(parallel_merge_read(&out->parallel, options->input, input->bench_path != NULL,
                                options->file_policy));
    if (!out->parallel.wanted) return make_plan(&out->plan, options, input);
    if (options->layers)
        return status_error(STATUS_BAD_ARGUMENT,
                            "option '-lm' does not go with 'parallel_merge', whose graphs match "
                            "fuzzily");
    TRY(graph_plan_make(&out->plan, input->npu_path, NULL));
    struct status status = input->bench_path ? graph_plan_make(&out->bench, input->bench_path, NULL)
                                             : status_ok();
    if (status.code) graph_plan_release(&out->plan);
    return status;
}

static struct status make_graphs(int *exit_status, const struct graph_command_options *options,
                                 const struct comparison_input *input, struct watching *watching)
{
    struct graph_job job;
    struct plans plans;
    struct graph_counts counts;
    double started = clock_seconds();

    TRY(make_job(&job, options, watching));
    TRY(make_plans(&plans, options, input));
    job.plan = &plans.plan;
    if (plans.parallel.wanted) {
        job.parallel = &plans.parallel;
        job.bench_plan = input->bench_path ? &plans.bench : NULL;
    }
    struct arena arena = { 0 };
    struct yaml_document layers;
    struct match_file by_hand = { .json = { .name = NULL } };
    struct status status = status_ok();
    if (options->matches && !input->bench_path)
        status = status_error(STATUS_BAD_ARGUMENT, "option '--match' needs two sides");
    if (!status.code && options->matches) {
        status = match_file_open(&by_hand, options->matches, options->file_policy);
        job.options.by_hand = &by_hand;
    }
    if (!status.code && options->layers)
        status = use_layers(&job.options, &layers, &arena, options);
    if (!status.code) status = graph_job_run(&counts, &job, warning_printer);
    arena_release(&arena);
    if (options->matches) match_file_close(&by_hand);
    if (!status.code) {
        print_counts(&counts, &job, clock_seconds() - started);
        bool failed = counts.suspicious || counts.overflowing;
        bool judged = counts.met || !graph_job_compares(&job);
        *exit_status = !options->fail_on ? 0
                       : failed          ? EXIT_FAILURES
                       : judged          ? 0
                                         : EXIT_NO_VERDICT;
    }
    release_plans(&plans);
    return status;
}

static struct status run(int *exit_status, const void *values)
{
    const struct graph_command_options *options = values;
    struct comparison_input input;
    struct interrupts interrupts;

    TRY(read_input(&input, options));
    struct status status = interrupts_open(&interrupts);
    if (!status.code) {
        struct watching watching = { &interrupts };
        status = make_graphs(exit_status, options, &input, &watching);
        interrupts_close(&interrupts);
    }
    comparison_input_release(&input);
    return status;
}

static const char *const *verdict_choices(void)
{
    static const char *const choices[] = { "suspicious", NULL };
    return choices;
}

#define AT(member) .offset = offsetof(struct graph_command_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "i", "input_path" }, OPTION_FILE, AT(input), "FILE", .suffix = ".json",
      .help = "A file with npu_path and, to compare, bench_path: folders of a rank, of ranks, or of steps." },
    { { "tp", "target_path" }, OPTION_DIRECTORY, AT(target), "DIR",
      .help = "The folder to build a graph of, instead of a file." },
    { { "gp", "golden_path" }, OPTION_DIRECTORY, AT(golden), "DIR",
      .help = "The folder to compare it with." },
    { { "o", "output_path" }, OPTION_DIRECTORY, AT(output), "DIR", .bare = "./output",
      .help = "Where the results go; created when it does not exist; ./output by default." },
    { { "f", "fuzzy_match" }, OPTION_FLAG, AT(fuzzy),
      .help = "Match calls inside of matched modules without their counters, in order." },
    { { "lm", "layer_mapping" }, OPTION_FILE, AT(layers), "[FILE]", .bare = "",
      .help = "Match by the hierarchy of layers, with the rules of a YAML file or, without one, by equal "
              "names; types and shapes are not looked at. Needed when the frameworks differ." },
    { { "match" }, OPTION_FILE, AT(matches), "FILE",
      .help = "Matches made by hand, as the page exports them: a JSON object NPU node -> Bench node. They win over "
              "all others; \"\" leaves a node without a partner." },
    { { "oc", "overflow_check" }, OPTION_FLAG, AT(overflow_check),
      .help = "Mark nodes in which nan, inf or a norm a hundred times larger begin." },
    { { "format" }, OPTION_TEXT, AT(formats), "LIST",
      .help = "html (a page to look at), vis (JSON) and db (SQLite) for msprobe's viewers; a list with commas. "
              "html,vis by default." },
    { { "result-schema" }, OPTION_CHOICE, AT(schema), "NAME", .choices = generation_words,
      .help = "Indices and colours of a generation of msprobe: g2 (default), g1, g3." },
    { { "n", "num_threads" }, OPTION_INTEGER, AT(threads), "N", .minimum = 1, .maximum = 64,
      .help = "Threads for tensors, 1 to 64; one per core by default." },
    { { "fail-on" }, OPTION_CHOICE, AT(fail_on), "WHAT", .choices = verdict_choices,
      .help = "Exit with status 1 when a node is suspicious or, with -oc, overflows." },
    { { "trust-files" }, OPTION_FLAG, AT(file_policy.trusted),
      .help = "Read files that are links, belong to another user, may be written by others or are "
              "larger than usual." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct graph_command_options defaults = { .output = "./output", .schema = "g2" };

const struct command graph_command = {
    .word = "graph",
    .aliases = (const char *const[]){ "graph_visualize", NULL },
    .summary = "draw the hierarchy of a model, or compare two",
    .text =
        "Reads dump.json, construct.json and stack.json of a rank (dump with level L0 or mix), "
        "builds the hierarchy of modules and calls, compares it with another one, and writes "
        "a page that opens in any browser and files for the viewers of msprobe: .vis (JSON) and "
        ".vis.db (SQLite, for TensorBoard's graph_ascend plug-in).\n\n"
        "Nodes of a comparison have a precision index, from which their colour is taken; the "
        "summary names the first suspicious one in the order of execution.",
    .options = rows,
    .bytes = sizeof(struct graph_command_options),
    .framework_offset = offsetof(struct graph_command_options, framework),
    .takes_framework = true,
    .defaults = &defaults,
    .run = run,
};
