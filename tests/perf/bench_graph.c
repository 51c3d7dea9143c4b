/* How fast graphs are built, compared and written.
 *
 *   bench_graph [NODES [DIRECTORY]]
 *
 * A model of NODES nodes (200,000 by default) a side: a decoder of layers with twelve modules and calls
 * each, forward and backward, whose calls have two inputs and an output with statistics and a stack of four
 * frames. Measured, each in a process of its own: opening one side, opening and comparing both, and writing
 * the comparison in each format, apart from opening. Wall and processor time, peak memory, bytes written.
 * Dumps stay in DIRECTORY (default /tmp/bench_graph) for the next run.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "graph/database.h"
#include "graph/graph.h"
#include "graph/page_file.h"
#include "graph/vis_file.h"

static char directory[512] = "/tmp/bench_graph";

static void stop(const char *what)
{
    fprintf(stderr, "bench_graph: %s\n", what);
    exit(1);
}

static void check(struct status status)
{
    if (status.code) stop(status.text);
}

/* ---- dumps ------------------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static double random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(int64_t)random_state * 0x1p-62;
}

struct dump_files {
    FILE *dump, *construct, *stack;
    long nodes;
    double noise;
};

static void write_tensor(struct dump_files *f, const char *before)
{
    double x = random_number();
    fprintf(
        f->dump,
        "%s{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2, 1024, 4096], "
        "\"Max\": %.9g, \"Min\": %.9g, \"Mean\": %.9g, \"Norm\": %.9g, \"requires_grad\": true}",
        before, x * 4 * f->noise, -x * 3, x / 128, x * 90);
}

static void write_node(struct dump_files *f, const char *name, const char *parent)
{
    const char *comma = f->nodes++ ? "," : "";
    fprintf(f->construct, "%s\n \"%s\": ", comma, name);
    fprintf(f->construct, *parent ? "\"%s\"" : "null", parent);
    fprintf(f->dump, "%s\n  \"%s\": {\"input_args\": [", comma, name);
    write_tensor(f, "");
    write_tensor(f, ", ");
    fprintf(f->dump, "], \"input_kwargs\": {}, \"output\": [");
    write_tensor(f, "");
    fprintf(f->dump, "]}");
    fprintf(f->stack, "%s\n \"%s\": [", comma, name);
    for (int i = 0; i < 4; i++)
        fprintf(f->stack,
                "%s\"File /workspace/model/transformer/layer_%d.py, line %d, in forward, \\n "
                "hidden = self.part_%d(hidden, mask)\"",
                i ? ", " : "", (int)(f->nodes % 97), 100 + i, i);
    fprintf(f->stack, "]");
}

static FILE *open_file(const char *side, const char *name)
{
    char path[800];
    snprintf(path, sizeof path, "%s/%s/%s", directory, side, name);
    FILE *file = fopen(path, "w");
    if (!file) stop("cannot write a dump");
    return file;
}

static void write_layer(struct dump_files *f, long layer, const char *direction)
{
    static const char *const modules[] = { "attention.Attention", "norm1.LayerNorm", "mlp.MLP",
                                           "norm2.LayerNorm" };
    static const char *const calls[] = { "Torch.matmul", "Functional.softmax" };
    char top[96], name[128], module[128];
    snprintf(top, sizeof top, "Module.model.layers.%ld.Layer.%s.0", layer, direction);
    write_node(f, top, "Module.model.GPT.forward.0");
    for (int i = 0; i < 4; i++) {
        snprintf(module, sizeof module, "Module.model.layers.%ld.%s.%s.0", layer, modules[i],
                 direction);
        write_node(f, module, top);
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "%s.%ld.%s", calls[k], 4 * layer + i, direction);
            write_node(f, name, module);
        }
    }
}

static void make_side(const char *side, long nodes, double noise)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s/done.%ld", directory, side, nodes);
    if (!access(path, F_OK)) return;
    snprintf(path, sizeof path, "rm -rf '%s/%s' && mkdir -p '%s/%s'", directory, side, directory,
             side);
    if (system(path)) stop("cannot make the folder of a dump");
    struct dump_files f = { open_file(side, "dump.json"), open_file(side, "construct.json"),
                            open_file(side, "stack.json"), 0, noise };
    random_state = 88172645463325252u;
    fprintf(f.construct, "{");
    fprintf(f.stack, "{");
    fprintf(f.dump, "{\"task\": \"statistics\", \"level\": \"mix\", \"framework\": \"pytorch\", "
                    "\"dump_data_dir\": null, \"data\": {");
    write_node(&f, "Module.model.GPT.forward.0", "");
    for (long layer = 0; f.nodes < nodes; layer++)
        write_layer(&f, layer, layer % 2 ? "backward" : "forward");
    fprintf(f.construct, "\n}\n");
    fprintf(f.stack, "\n}\n");
    fprintf(f.dump, "\n}}\n");
    fclose(f.construct);
    fclose(f.stack);
    fclose(f.dump);
    snprintf(path, sizeof path, "%s/%s/done.%ld", directory, side, nodes);
    FILE *done = fopen(path, "w");
    if (done) fclose(done);
}

/* ---- measuring --------------------------------------------------------------------------------- */

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef void writer(const char *path, const struct graph *graph);

static void write_nothing(const char *path, const struct graph *graph) { (void)path, (void)graph; }

static void write_vis(const char *path, const struct graph *graph)
{
    check(vis_file_write(path, graph, false, GENERATION_2));
}

static void write_database(const char *path, const struct graph *graph)
{
    struct database *database;
    const unsigned zero = 0;
    const struct database_config config = { .compared = graph->compared,
                                            .kind = graph_kind(graph),
                                            .generation = GENERATION_2,
                                            .micro_steps = graph_micro_steps(graph),
                                            .ranks = &zero,
                                            .steps = &zero,
                                            .n_ranks = 1,
                                            .n_steps = 1 };
    check(database_create(&database, path, GENERATION_2));
    check(database_add(database, graph, 0, 0));
    check(database_finish(database, &config));
}

static void write_page(const char *path, const struct graph *graph)
{
    struct graph_page page;
    check(graph_page_create(&page, path));
    check(graph_page_add(&page, graph, 0, 0));
    check(graph_page_finish(&page, false, GENERATION_2));
}

static void run(const char *what, bool compared, writer *write, const char *suffix)
{
    static const struct graph_options options = { .generation = GENERATION_2,
                                                  .rule = MATCH_EXACT,
                                                  .threads = 2 };
    pid_t child = fork();
    if (child == 0) {
        char npu[600], bench[600], path[600];
        struct graph graph;
        struct stat written = { .st_size = 0 };
        snprintf(npu, sizeof npu, "%s/npu", directory);
        snprintf(bench, sizeof bench, "%s/bench", directory);
        snprintf(path, sizeof path, "%s/result%s", directory, suffix);
        (void)unlink(path);
        double wall = clock_seconds(), cpu = processor_seconds();
        check(graph_open(&graph, npu, compared ? bench : NULL, &options));
        double opened = clock_seconds(), opened_cpu = processor_seconds();
        write(path, &graph);
        double end = clock_seconds(), end_cpu = processor_seconds();
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        (void)stat(path, &written);
        printf("%-28s open %6.2f s (%6.2f s processor)  write %6.2f s (%6.2f s)  %5ld MB memory, "
               "%5lld MB written\n",
               what, opened - wall, opened_cpu - cpu, end - opened, end_cpu - opened_cpu,
               usage.ru_maxrss >> 10, (long long)written.st_size >> 20);
        fflush(stdout);
        graph_close(&graph);
        (void)unlink(path);
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) < 0 || status) stop("a measurement failed");
}

int main(int argc, char **argv)
{
    long nodes = argc > 1 ? atol(argv[1]) : 200000;
    if (argc > 2) snprintf(directory, sizeof directory, "%s", argv[2]);
    make_side("npu", nodes, 1);
    make_side("bench", nodes, 1.0001);
    run("one side", false, write_nothing, "");
    run("two sides", true, write_nothing, "");
    run("two sides as .vis", true, write_vis, ".vis");
    if (database_available()) run("two sides as .vis.db", true, write_database, ".vis.db");
    run("two sides as .html", true, write_page, ".html");
    return 0;
}
