/* A worker in C: a small program of its own that computes a few APIs for probe-ut.
 *
 * It shows that the worker protocol (docs/worker-protocol.md) needs nothing but JSON lines and
 * shared memory. Built with cJSON and libc alone; nothing of probe-ut is used. Run it with
 *
 *     probe-ut -api_info dump.json --backend worker:build/release/examples/worker-c
 */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANK_MAX = 8 };

struct tensor {
    float *data;
    int rank;
    double shape[RANK_MAX];
    size_t n;
};

static int memory_file = -1;
static unsigned char *memory;
static size_t memory_bytes;

/* --- shared memory ---------------------------------------------------------------------------- */

/* Map the whole file again when it has grown, and make it at least `bytes` long. */
static int map_memory(size_t bytes)
{
    struct stat stat;
    if (fstat(memory_file, &stat)) return 0;
    size_t length = (size_t)stat.st_size;
    if (length < bytes) {
        if (ftruncate(memory_file, (off_t)bytes)) return 0;
        length = bytes;
    }
    if (length == memory_bytes) return 1;
    if (memory) munmap(memory, memory_bytes);
    memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file, 0);
    if (memory == MAP_FAILED) memory = NULL;
    memory_bytes = memory ? length : 0;
    return memory != NULL;
}

/* --- values ------------------------------------------------------------------------------------- */

/* A float32 tensor argument; 0 when it is anything else. */
static int get_tensor(struct tensor *out, const cJSON *value)
{
    const cJSON *t = cJSON_GetObjectItem(value, "tensor"), *extent;
    const cJSON *dtype = cJSON_GetObjectItem(t, "dtype"),
                *offset = cJSON_GetObjectItem(t, "offset");
    if (!cJSON_IsString(dtype) || strcmp(dtype->valuestring, "torch.float32")) return 0;
    out->rank = 0;
    out->n = 1;
    cJSON_ArrayForEach(extent, cJSON_GetObjectItem(t, "shape"))
    {
        if (out->rank == RANK_MAX) return 0;
        out->shape[out->rank++] = extent->valuedouble;
        out->n *= (size_t)extent->valuedouble;
    }
    out->data = (float *)(void *)(memory + (size_t)offset->valuedouble);
    return 1;
}

/* Describe a tensor that starts at `offset`. */
static cJSON *put_tensor(const struct tensor *t, size_t offset)
{
    cJSON *value = cJSON_CreateObject(), *inner = cJSON_AddObjectToObject(value, "tensor");
    cJSON_AddStringToObject(inner, "dtype", "torch.float32");
    cJSON_AddItemToObject(inner, "shape", cJSON_CreateDoubleArray(t->shape, t->rank));
    cJSON_AddNumberToObject(inner, "offset", (double)offset);
    return value;
}

/* --- the APIs: y = f(x), and dx = g(x) * dy ----------------------------------------------------- */

/* clang-format off */
static float relu(float x) { return x > 0 ? x : 0; }
static float relu_slope(float x) { return x > 0 ? 1 : 0; }
static float sigmoid(float x) { return 1 / (1 + expf(-x)); }
static float sigmoid_slope(float x) { return sigmoid(x) * (1 - sigmoid(x)); }
static float tanh_slope(float x) { return 1 - tanhf(x) * tanhf(x); }
/* clang-format on */

static const struct api {
    const char *name;
    float (*value)(float), (*slope)(float);
} apis[] = {
    { "exp", expf, expf },
    { "relu", relu, relu_slope },
    { "sigmoid", sigmoid, sigmoid_slope },
    { "tanh", tanhf, tanh_slope },
};

static void refuse(cJSON *reply, const char *reason)
{
    cJSON_AddStringToObject(reply, "skip", reason);
}

static void run(cJSON *reply, const cJSON *request)
{
    const cJSON *name = cJSON_GetObjectItem(request, "name");
    const cJSON *argument = cJSON_GetArrayItem(cJSON_GetObjectItem(request, "args"), 0);
    const struct api *api = NULL;
    struct tensor x, y, dy, dx;
    for (size_t i = 0; i < sizeof apis / sizeof *apis; i++)
        if (!strcmp(apis[i].name, name->valuestring)) api = &apis[i];
    if (!api) {
        refuse(reply, "this worker knows exp, relu, sigmoid and tanh");
        return;
    }
    size_t out = (size_t)cJSON_GetObjectItem(request, "free")->valuedouble;
    if (!map_memory(out) || !get_tensor(&x, argument)) {
        refuse(reply, "this worker computes float32 tensors");
        return;
    }
    size_t bytes = (x.n * sizeof(float) + 63) / 64 * 64;
    if (!map_memory(out + 2 * bytes) || !get_tensor(&x, argument)) {
        refuse(reply, "out of memory");
        return;
    }
    y = x;
    y.data = (float *)(void *)(memory + out);
    for (size_t i = 0; i < x.n; i++) y.data[i] = api->value(x.data[i]);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(reply, "outputs"), put_tensor(&y, out));
    if (!cJSON_IsTrue(cJSON_GetObjectItem(request, "gradients"))) return;

    if (!get_tensor(&dy, cJSON_GetArrayItem(cJSON_GetObjectItem(request, "cotangents"), 0))) {
        refuse(cJSON_AddObjectToObject(reply, "backward"), "there is no cotangent");
        return;
    }
    dx = x;
    dx.data = (float *)(void *)(memory + out + bytes);
    for (size_t i = 0; i < x.n; i++) dx.data[i] = api->slope(x.data[i]) * dy.data[i];
    cJSON_AddItemToArray(cJSON_AddArrayToObject(reply, "gradients"), put_tensor(&dx, out + bytes));
}

static void greet(cJSON *reply, const cJSON *request)
{
    memory_file = open(cJSON_GetObjectItem(request, "memory")->valuestring, O_RDWR);
    cJSON_AddNumberToObject(reply, "protocol", 1);
    cJSON_AddStringToObject(reply, "name", "example worker in C");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(reply, "capabilities"),
                         cJSON_CreateString("backward"));
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        cJSON *request = cJSON_Parse(line), *reply = cJSON_CreateObject();
        const cJSON *number = cJSON_GetObjectItem(request, "run");
        if (number) {
            cJSON_AddNumberToObject(reply, "run", number->valuedouble);
            run(reply, request);
        } else {
            greet(reply, request);
        }
        char *text = cJSON_PrintUnformatted(reply);
        puts(text);
        fflush(stdout);
        free(text);
        cJSON_Delete(reply);
        cJSON_Delete(request);
    }
    free(line);
    return 0;
}
