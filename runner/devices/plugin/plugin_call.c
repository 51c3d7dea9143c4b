/* A walk over the program: load, look up, prepare by libffi, call, look at what came back. */
#include "runner/devices/plugin/plugin_call.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <ffi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/quantity.h"
#include "runner/devices/plugin/plugin_program.h"

/* A function with its libffi description: built on first use, 26 ns each time it is not. */
struct prepared {
    uint32_t library;
    uint32_t count;
    uint32_t result_type;
    char *symbol;
    uint8_t types[PROGRAM_MAX_ARGUMENTS];
    void (*function)(void);
    ffi_cif cif;
    ffi_type *ffi_types[PROGRAM_MAX_ARGUMENTS];
    struct prepared *next;
};

enum { BUCKETS = 64 };

/* Work space that kernels ask for: anonymous memory that ends at a guard page, kept and grown. */
struct workspace {
    unsigned char *base;
    size_t mapped;
};

enum { MAX_WORKSPACES = 8 };

struct session {
    void **libraries;
    size_t library_count;
    struct prepared *prepared[BUCKETS];
    uint64_t slots[PROGRAM_SLOTS];
    struct workspace workspaces[MAX_WORKSPACES];
    unsigned char *start; /* copy of the start request */
};

/* clang-format off */
static ffi_type *const ffi_types[TYPE_COUNT] = {
    [TYPE_VOID] = &ffi_type_void,     [TYPE_I8] = &ffi_type_sint8,
    [TYPE_U8] = &ffi_type_uint8,      [TYPE_I16] = &ffi_type_sint16,
    [TYPE_U16] = &ffi_type_uint16,    [TYPE_I32] = &ffi_type_sint32,
    [TYPE_U32] = &ffi_type_uint32,    [TYPE_I64] = &ffi_type_sint64,
    [TYPE_U64] = &ffi_type_uint64,    [TYPE_F32] = &ffi_type_float,
    [TYPE_F64] = &ffi_type_double,    [TYPE_POINTER] = &ffi_type_pointer,
};
/* clang-format on */

/* --- libraries and symbols -------------------------------------------------------------------- */

static struct status load_libraries(struct isolated *isolated, struct session *session,
                                    const struct program_start *start)
{
    const unsigned char *base = session->start;
    const uint64_t *names = (const uint64_t *)(const void *)(base + start->libraries);
    session->libraries = memory_allocate_zeroed(start->library_count, sizeof(void *));
    if (!session->libraries) return status_no_memory(start->library_count * sizeof(void *));
    session->library_count = start->library_count;
    for (size_t i = 0; i < start->library_count; i++) {
        const char *path = (const char *)(base + names[i]);
        char doing[110];
        (void)snprintf(doing, sizeof doing, "the loading of %s", path);
        isolated_doing(isolated, doing);
        session->libraries[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (session->libraries[i]) continue;
        return status_error(STATUS_BAD_INPUT, "cannot load the library %s: %s", path, dlerror());
    }
    return status_ok();
}

static struct status find_symbol(void (**out)(void), const struct session *session,
                                 uint64_t library, const char *symbol)
{
    assert(library < session->library_count); /* an index that the manifest's reader gave */
    (void)dlerror();
    void *address = dlsym(session->libraries[library], symbol);
    if (!address) {
        const char *reason = dlerror();
        return status_error(STATUS_BAD_INPUT, "no function %s: %s", symbol,
                            reason ? reason : "the symbol is null");
    }
    /* POSIX lets an object pointer from dlsym be used as a function; C asks for a detour. */
    memcpy(out, &address, sizeof address);
    return status_ok();
}

static size_t bucket_of(uint32_t library, const char *symbol)
{
    uint64_t hash = 14695981039346656037u ^ library;
    for (; *symbol; symbol++) hash = (hash ^ (unsigned char)*symbol) * 1099511628211u;
    return (size_t)(hash % BUCKETS);
}

static bool is_same(const struct prepared *p, const struct program_step *step, const char *symbol,
                    const struct program_argument *arguments)
{
    if (p->library != step->library || p->count != step->count ||
        p->result_type != step->result_type || strcmp(p->symbol, symbol))
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->types[i] != arguments[i].type) return false;
    return true;
}

static struct status prepare(struct prepared **out, struct session *session,
                             const struct program_step *step, const char *symbol,
                             const struct program_argument *arguments)
{
    struct prepared **bucket = &session->prepared[bucket_of(step->library, symbol)];
    for (struct prepared *p = *bucket; p; p = p->next) {
        if (!is_same(p, step, symbol, arguments)) continue;
        *out = p;
        return status_ok();
    }
    void (*function)(void) = NULL;
    TRY(find_symbol(&function, session, step->library, symbol));
    struct prepared *p = memory_allocate_zeroed(1, sizeof *p);
    char *name = memory_copy_string(symbol);
    if (!p || !name) {
        memory_release(p);
        memory_release(name);
        return status_no_memory(sizeof *p);
    }
    p->library = step->library;
    p->count = step->count;
    p->result_type = step->result_type;
    p->symbol = name;
    p->function = function;
    for (uint32_t i = 0; i < step->count; i++) {
        p->types[i] = (uint8_t)arguments[i].type;
        p->ffi_types[i] = ffi_types[arguments[i].type];
    }
    ffi_status described = ffi_prep_cif(&p->cif, FFI_DEFAULT_ABI, step->count,
                                        ffi_types[step->result_type], p->ffi_types);
    assert(described == FFI_OK); /* it has types of the table above only */
    (void)described;
    p->next = *bucket;
    *bucket = p;
    *out = p;
    return status_ok();
}

/* --- arguments ---------------------------------------------------------------------------------- */

/* What a step runs on. */
struct frame {
    struct isolated *isolated;
    struct session *session;
    const unsigned char *program;
    size_t workspaces;
    bool made[PROGRAM_SLOTS]; /* slots that a call has filled without failing */
};

union cell {
    uint64_t bits;
    void *address;
    float f32;
    double f64;
};

static struct status address_array(void **out, const struct frame *frame,
                                   const struct program_argument *argument)
{
    const uint64_t *offsets = (const uint64_t *)(const void *)(frame->program + argument->bits);
    void **array = memory_allocate_zeroed(argument->count + 1, sizeof *array);
    if (!array) return status_no_memory(argument->count * sizeof *array);
    for (uint64_t i = 0; i < argument->count; i++)
        array[i] = offsets[i] == PROGRAM_NOTHING ? NULL : frame->isolated->base + offsets[i];
    *out = array;
    return status_ok();
}

/* The value that is the same for every round of a loop. */
static struct status fetch(union cell *cell, const struct frame *frame,
                           const struct program_argument *argument)
{
    unsigned char *base = frame->isolated->base;
    cell->bits = 0;
    switch ((enum argument_kind)argument->kind) {
    case ARGUMENT_BITS: cell->bits = argument->bits; break;
    case ARGUMENT_SPACE:
    case ARGUMENT_ELEMENT_ADDRESS:
    case ARGUMENT_ELEMENT: cell->address = base + argument->bits; break;
    case ARGUMENT_CONSTANT:
        memcpy(&cell->address, &(const void *){ frame->program + argument->bits },
               sizeof cell->address);
        break;
    case ARGUMENT_SLOT: cell->bits = frame->session->slots[argument->bits]; break;
    case ARGUMENT_SLOT_ADDRESS: cell->address = &frame->session->slots[argument->bits]; break;
    case ARGUMENT_ADDRESSES: return address_array(&cell->address, frame, argument);
    }
    return status_ok();
}

static void release(union cell *cells, const struct program_argument *arguments, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (arguments[i].kind == ARGUMENT_ADDRESSES) memory_release(cells[i].address);
}

/* --- results ------------------------------------------------------------------------------------ */

/* libffi widens small integers to a machine word; other types are taken as their bits. */
static int64_t as_signed(const union cell *result, uint32_t type)
{
    switch ((enum program_type)type) {
    case TYPE_I8: return (int8_t)result->bits;
    case TYPE_U8: return (uint8_t)result->bits;
    case TYPE_I16: return (int16_t)result->bits;
    case TYPE_U16: return (uint16_t)result->bits;
    case TYPE_I32: return (int32_t)result->bits;
    case TYPE_U32: return (int64_t)(uint32_t)result->bits;
    default: return (int64_t)result->bits;
    }
}

static bool is_failure(const union cell *result, const struct program_step *step)
{
    int64_t code = as_signed(result, step->result_type);
    switch ((enum program_check)step->check) {
    case CHECK_NONE: return false;
    case CHECK_ZERO: return code != 0;
    case CHECK_NONZERO: return code == 0;
    case CHECK_NONNEGATIVE: return code < 0;
    case CHECK_NONNULL: return result->address == NULL;
    }
    return false;
}

/* The library's own words for a code, when the manifest names the function that has them. */
static struct status explain(const struct frame *frame, const struct program_step *step,
                             const char *symbol, int64_t code)
{
    const char *words = NULL;
    void (*function)(void) = NULL;
    if (step->explain != PROGRAM_NOTHING &&
        !find_symbol(&function, frame->session, step->explain_library,
                     (const char *)(frame->program + step->explain))
             .code)
        words = ((const char *(*)(int))function)((int)code);
    return status_error(STATUS_DEVICE, "device: %s returned %lld%s%s", symbol, (long long)code,
                        words ? ": " : "", words ? words : "");
}

/* --- steps ---------------------------------------------------------------------------------------- */

/* Scalar functions of the usual shapes are called directly: 2 ns instead of 40. */
static bool loop_directly(const struct prepared *p, const struct program_argument *arguments,
                          const union cell *cells, unsigned char *results, uint64_t count)
{
    bool unary = p->count == 1, binary = p->count == 2;
    enum program_type type = (enum program_type)p->result_type;
    if ((!unary && !binary) || (type != TYPE_F32 && type != TYPE_F64) || !results) return false;
    for (uint32_t i = 0; i < p->count; i++)
        if (arguments[i].kind != ARGUMENT_ELEMENT || arguments[i].type != p->result_type)
            return false;
    if (type == TYPE_F32) {
        const float *x = cells[0].address, *y = unary ? NULL : cells[1].address;
        float *out = (float *)(void *)results;
        float (*f)(float) = (float (*)(float))p->function;
        float (*g)(float, float) = (float (*)(float, float))p->function;
        for (uint64_t i = 0; i < count; i++) out[i] = unary ? f(x[i]) : g(x[i], y[i]);
    } else {
        const double *x = cells[0].address, *y = unary ? NULL : cells[1].address;
        double *out = (double *)(void *)results;
        double (*f)(double) = (double (*)(double))p->function;
        double (*g)(double, double) = (double (*)(double, double))p->function;
        for (uint64_t i = 0; i < count; i++) out[i] = unary ? f(x[i]) : g(x[i], y[i]);
    }
    return true;
}

/* The result of the last round, which is the first one that failed when there is such. */
static void call_loop(struct prepared *p, const struct program_step *step,
                      const struct program_argument *arguments, union cell *cells, void **pointers,
                      unsigned char *results, union cell *result)
{
    size_t result_bytes = program_type_info((enum program_type)p->result_type)->bytes;
    unsigned char *start[PROGRAM_MAX_ARGUMENTS];

    if (loop_directly(p, arguments, cells, results, step->loop)) return;
    for (uint32_t k = 0; k < p->count; k++) start[k] = cells[k].address;
    for (uint64_t i = 0; i < step->loop; i++) {
        for (uint32_t k = 0; k < p->count; k++) {
            size_t bytes = program_type_info((enum program_type)arguments[k].type)->bytes;
            if (arguments[k].kind == ARGUMENT_ELEMENT) pointers[k] = start[k] + i * bytes;
            /* `count` of such an argument is the size of an element. */
            if (arguments[k].kind == ARGUMENT_ELEMENT_ADDRESS)
                cells[k].address = start[k] + i * arguments[k].count;
        }
        result->bits = 0;
        ffi_call(&p->cif, p->function, result, pointers);
        if (results) memcpy(results + i * result_bytes, result, result_bytes);
        if (is_failure(result, step)) return;
    }
}

/* Is there everything that a releasing step takes? What was never made, because the call that
 * makes it failed or was not reached, is not released either: few libraries take NULL there. */
static bool has_slots(const struct frame *frame, const struct program_step *step)
{
    const struct program_argument *arguments =
        (const struct program_argument *)(const void *)(frame->program + step->arguments);
    for (uint32_t i = 0; i < step->count; i++)
        if (arguments[i].kind == ARGUMENT_SLOT && arguments[i].bits >= SESSION_SLOTS &&
            !frame->made[arguments[i].bits])
            return false;
    return true;
}

static void note_slots(struct frame *frame, const struct program_step *step,
                       const struct program_argument *arguments)
{
    if (step->result_slot != PROGRAM_NOTHING) frame->made[step->result_slot] = true;
    for (uint32_t i = 0; i < step->count; i++)
        if (arguments[i].kind == ARGUMENT_SLOT_ADDRESS) frame->made[arguments[i].bits] = true;
}

static struct status run_call(struct frame *frame, const struct program_step *step)
{
    const char *symbol = (const char *)(frame->program + step->symbol);
    const struct program_argument *arguments =
        (const struct program_argument *)(const void *)(frame->program + step->arguments);
    union cell cells[PROGRAM_MAX_ARGUMENTS], result = { 0 };
    void *pointers[PROGRAM_MAX_ARGUMENTS];
    struct prepared *p = NULL;
    uint32_t fetched = 0;
    struct status st;

    isolated_doing(frame->isolated, symbol);
    if ((st = prepare(&p, frame->session, step, symbol, arguments)).code) return st;
    for (; fetched < step->count; fetched++) {
        if ((st = fetch(&cells[fetched], frame, &arguments[fetched])).code) break;
        pointers[fetched] = &cells[fetched];
    }
    if (!st.code && step->loop == PROGRAM_NOTHING)
        ffi_call(&p->cif, p->function, &result, pointers);
    else if (!st.code) {
        unsigned char *results = step->result_element == PROGRAM_NOTHING
                                     ? NULL
                                     : frame->isolated->base + step->result_element;
        call_loop(p, step, arguments, cells, pointers, results, &result);
    }
    release(cells, arguments, fetched);
    if (st.code) return st;
    if (step->result_slot != PROGRAM_NOTHING)
        frame->session->slots[step->result_slot] = (uint64_t)as_signed(&result, step->result_type);
    if (!step->loop) return status_ok(); /* a loop over nothing has called nothing */
    if (is_failure(&result, step))
        return explain(frame, step, symbol, as_signed(&result, step->result_type));
    note_slots(frame, step, arguments);
    return status_ok();
}

/* Work space ends at a guard page, so that writing past it faults. */
static struct status run_allocate(struct frame *frame, const struct program_step *step)
{
    union cell bytes;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    TRY(fetch(&bytes, frame,
              (const struct program_argument *)(const void *)(frame->program + step->arguments)));
    if (frame->workspaces == MAX_WORKSPACES)
        return status_error(STATUS_SKIP, "a kernel may allocate at most %d work spaces",
                            MAX_WORKSPACES);
    struct workspace *w = &frame->session->workspaces[frame->workspaces++];
    if (bytes.bits > (uint64_t)1 << 46)
        return status_error(STATUS_DEVICE, "device: asks for a work space of %s",
                            quantity_bytes(bytes.bits).text);
    size_t needed = (bytes.bits + page - 1) / page * page + page;
    if (needed > w->mapped) {
        if (w->base) (void)munmap(w->base, w->mapped);
        w->base = mmap(NULL, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        w->mapped = w->base == MAP_FAILED ? 0 : needed;
        if (w->base == MAP_FAILED) {
            w->base = NULL;
            return status_error(STATUS_DEVICE, "device: no memory for a work space of %s",
                                quantity_bytes(bytes.bits).text);
        }
        (void)mprotect(w->base + needed - page, page, PROT_NONE);
    }
    /* Flush with the guard, as aligned as an allocation is. */
    unsigned char *end = w->base + w->mapped - page;
    frame->session->slots[step->result_slot] =
        (uint64_t)(uintptr_t)(end - ((bytes.bits + 63) & ~(uint64_t)63));
    frame->made[step->result_slot] = true;
    return status_ok();
}

static struct status run_program(struct isolated *isolated, struct session *session,
                                 const unsigned char *program)
{
    struct frame frame = { .isolated = isolated, .session = session, .program = program };
    const struct program *head = (const struct program *)(const void *)program;
    const struct program_step *steps =
        (const struct program_step *)(const void *)(program + head->steps);
    struct status first = status_ok();

    memset(session->slots + SESSION_SLOTS, 0,
           (PROGRAM_SLOTS - SESSION_SLOTS) * sizeof *session->slots);
    for (uint64_t i = 0; i < head->step_count; i++) {
        if (first.code && !(steps[i].always && has_slots(&frame, &steps[i]))) continue;
        struct status st = steps[i].kind == STEP_ALLOCATE ? run_allocate(&frame, &steps[i])
                                                          : run_call(&frame, &steps[i]);
        if (!first.code) first = st;
    }
    return first;
}

/* --- the handler ---------------------------------------------------------------------------------- */

static void session_release(struct session *session)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct prepared *p = session->prepared[i], *next; p; p = next) {
            next = p->next;
            memory_release(p->symbol);
            memory_release(p);
        }
    }
    for (size_t i = 0; i < MAX_WORKSPACES; i++)
        if (session->workspaces[i].base)
            (void)munmap(session->workspaces[i].base, session->workspaces[i].mapped);
    for (size_t i = session->library_count; i-- > 0;)
        if (session->libraries[i]) (void)dlclose(session->libraries[i]);
    memory_release(session->libraries);
    memory_release(session->start);
    memory_release(session);
}

static struct status session_open(struct isolated *isolated, const void *request, uint64_t bytes)
{
    struct session *session = memory_allocate_zeroed(1, sizeof *session);
    if (!session) return status_no_memory(sizeof *session);
    session->start = memory_allocate(bytes);
    if (!session->start) {
        memory_release(session);
        return status_no_memory(bytes);
    }
    memcpy(session->start, request, bytes);
    const struct program_start *start = (const struct program_start *)(void *)session->start;
    const uint64_t *environment =
        (const uint64_t *)(const void *)(session->start + start->environment);
    for (uint64_t i = 0; i < start->environment_count; i++)
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): in the kernel's process, before its library */
        (void)setenv((const char *)session->start + environment[2 * i],
                     (const char *)session->start + environment[2 * i + 1], 1);
    struct status st = load_libraries(isolated, session, start);
    if (!st.code) st = run_program(isolated, session, session->start + start->open);
    if (st.code) {
        session_release(session);
        return st;
    }
    isolated->state = session;
    return status_ok();
}

void plugin_call_finish(void *state)
{
    struct session *session = state;
    if (!session) return;
    const struct program_start *start = (const struct program_start *)(void *)session->start;
    /* Nobody listens any more: notes go to a header of our own. */
    struct space_header *header = memory_allocate_zeroed(1, sizeof *header);
    if (header) {
        struct isolated isolated = { .header = header };
        (void)run_program(&isolated, session, session->start + start->close);
        memory_release(header);
    }
    session_release(session);
}

struct status plugin_call(struct isolated *isolated, const void *request, uint64_t bytes,
                          bool starting)
{
    if (starting) return session_open(isolated, request, bytes);
    uint64_t word;
    memcpy(&word, request, sizeof word);
    if (word == PLUGIN_PROBE) {
        const struct plugin_probe *probe = request;
        void (*function)(void);
        return find_symbol(&function, isolated->state, probe->library, probe->symbol);
    }
    return run_program(isolated, isolated->state, request);
}
