/* The stack machine: one function per instruction, in a table by opcode. */
#include "formats/pickle.h"

#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/growing.h"

struct machine {
    const unsigned char *at, *end;
    struct arena *arena;
    const struct pickle_hooks *hooks;

    struct pickle_sequence stack, memo;
    size_t *marks; /* heights of the stack */
    size_t mark_count, mark_room;

    const char *problem;
    char problem_text[200];
    bool no_memory;
};

const char pickle_no_memory[] = "out of memory";

static bool fail(struct machine *m, const char *problem)
{
    if (problem == pickle_no_memory) m->no_memory = true;
    if (!m->problem) m->problem = problem;
    return false;
}

static bool out_of_memory(struct machine *m) { return fail(m, pickle_no_memory); }

/* ---- sequences -------------------------------------------------------------------------- */

static bool append(struct machine *m, struct pickle_sequence *s, const struct pickle_value *value)
{
    if (array_make_room_in(m->arena, &s->items, &s->room, s->count, sizeof *s->items).code)
        return out_of_memory(m);
    s->items[s->count++] = *value;
    return true;
}

static bool push(struct machine *m, struct pickle_value value)
{
    return append(m, &m->stack, &value);
}

/* Lowest height to which values may be popped: that of the last mark. */
static size_t stack_floor(const struct machine *m)
{
    return m->mark_count ? m->marks[m->mark_count - 1] : 0;
}

static bool pop(struct machine *m, struct pickle_value *out)
{
    if (m->stack.count <= stack_floor(m)) return fail(m, "it takes a value that is not there");
    *out = m->stack.items[--m->stack.count];
    return true;
}

static struct pickle_value *top(struct machine *m)
{
    if (m->stack.count > stack_floor(m)) return &m->stack.items[m->stack.count - 1];
    fail(m, "it uses a value that is not there");
    return NULL;
}

static bool push_mark(struct machine *m)
{
    if (array_make_room_in(m->arena, &m->marks, &m->mark_room, m->mark_count, sizeof *m->marks)
            .code)
        return out_of_memory(m);
    m->marks[m->mark_count++] = m->stack.count;
    return true;
}

/* Take everything above the last mark off the stack; the items stay readable until the next
 * push. */
static bool pop_mark(struct machine *m, struct pickle_value **items, size_t *count)
{
    if (!m->mark_count) return fail(m, "it uses a mark that is not there");
    size_t height = m->marks[--m->mark_count];
    *count = m->stack.count - height;
    *items = *count ? m->stack.items + height : NULL;
    m->stack.count = height;
    return true;
}

static bool push_sequence(struct machine *m, enum pickle_kind kind,
                          const struct pickle_value *items, size_t count)
{
    struct pickle_sequence *s = arena_allocate_zeroed(m->arena, 1, sizeof *s);
    if (!s) return out_of_memory(m);
    if (count) {
        s->items = arena_allocate_array(m->arena, count, sizeof *items);
        if (!s->items) return out_of_memory(m);
        memcpy(s->items, items, count * sizeof *items);
        s->count = s->room = count;
    }
    return push(m, (struct pickle_value){ .kind = kind, .sequence = s });
}

/* ---- arguments of instructions ---------------------------------------------------------- */

static bool take(struct machine *m, const unsigned char **out, size_t bytes)
{
    if ((size_t)(m->end - m->at) < bytes) return fail(m, "it ends in the middle");
    *out = m->at;
    m->at += bytes;
    return true;
}

static bool take_number(struct machine *m, uint64_t *out, size_t bytes)
{
    const unsigned char *p;
    if (!take(m, &p, bytes)) return false;
    *out = 0;
    for (size_t i = 0; i < bytes; i++) *out |= (uint64_t)p[i] << 8 * i;
    return true;
}

/* A line of text without its newline. */
static bool take_line(struct machine *m, struct pickle_value *out)
{
    const unsigned char *newline = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!newline) return fail(m, "it ends in the middle");
    *out = (struct pickle_value){ .kind = PICKLE_TEXT,
                                  .text = { (const char *)m->at, (size_t)(newline - m->at) } };
    m->at = newline + 1;
    return true;
}

/* ---- instructions ----------------------------------------------------------------------- */

typedef bool instruction(struct machine *m, int argument);

static bool run_proto(struct machine *m, int argument)
{
    uint64_t version;
    (void)argument;
    if (!take_number(m, &version, 1)) return false;
    return (version >= 2 && version <= 5) || fail(m, "its protocol is not 2 to 5");
}

static bool run_skip(struct machine *m, int bytes)
{
    const unsigned char *skipped;
    return take(m, &skipped, (size_t)bytes);
}

static bool run_mark(struct machine *m, int argument)
{
    (void)argument;
    return push_mark(m);
}

static bool run_pop(struct machine *m, int argument)
{
    struct pickle_value ignored;
    (void)argument;
    return pop(m, &ignored);
}

static bool run_pop_mark(struct machine *m, int argument)
{
    struct pickle_value *items;
    size_t count;
    (void)argument;
    return pop_mark(m, &items, &count);
}

static bool run_duplicate(struct machine *m, int argument)
{
    const struct pickle_value *value = top(m);
    (void)argument;
    return value && push(m, *value);
}

static bool run_none(struct machine *m, int argument)
{
    (void)argument;
    return push(m, (struct pickle_value){ .kind = PICKLE_NONE });
}

static bool run_bool(struct machine *m, int argument)
{
    return push(m, (struct pickle_value){ .kind = PICKLE_BOOL, .boolean = argument != 0 });
}

/* BININT (signed), BININT1 and BININT2 (unsigned). */
static bool run_int(struct machine *m, int bytes)
{
    uint64_t bits;
    if (!take_number(m, &bits, (size_t)bytes)) return false;
    int64_t value = bytes == 4 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits;
    return push(m, (struct pickle_value){ .kind = PICKLE_INT, .integer = value });
}

/* LONG1 and LONG4. */
static bool run_long(struct machine *m, int width)
{
    const unsigned char *p;
    uint64_t bytes;

    if (!take_number(m, &bytes, (size_t)width) || !take(m, &p, (size_t)bytes)) return false;
    if (bytes > 8)
        return push(m, (struct pickle_value){ .kind = PICKLE_LONG,
                                              .text = { (const char *)p, (size_t)bytes } });
    uint64_t bits = bytes && p[bytes - 1] >> 7 ? UINT64_MAX : 0;
    for (size_t i = 0; i < bytes; i++) {
        bits &= ~(UINT64_C(0xff) << 8 * i);
        bits |= (uint64_t)p[i] << 8 * i;
    }
    return push(m, (struct pickle_value){ .kind = PICKLE_INT, .integer = (int64_t)bits });
}

static bool run_float(struct machine *m, int argument)
{
    const unsigned char *p;
    uint64_t bits = 0;
    double real;

    (void)argument;
    if (!take(m, &p, 8)) return false;
    for (int i = 0; i < 8; i++) bits = bits << 8 | p[i];
    memcpy(&real, &bits, sizeof real);
    return push(m, (struct pickle_value){ .kind = PICKLE_FLOAT, .real = real });
}

static bool push_text(struct machine *m, enum pickle_kind kind, int width)
{
    const unsigned char *p;
    uint64_t count;
    if (!take_number(m, &count, (size_t)width)) return false;
    if (count > (uint64_t)(m->end - m->at)) return fail(m, "a text is longer than the pickle");
    if (!take(m, &p, (size_t)count)) return false;
    return push(m,
                (struct pickle_value){ .kind = kind, .text = { (const char *)p, (size_t)count } });
}

/* A text whose length has `bytes` bytes. */
static bool run_text(struct machine *m, int bytes) { return push_text(m, PICKLE_TEXT, bytes); }

static bool run_bytes(struct machine *m, int bytes) { return push_text(m, PICKLE_BYTES, bytes); }

/* EMPTY_TUPLE and TUPLE1 to TUPLE3. */
static bool run_tuple(struct machine *m, int count)
{
    struct pickle_value items[3];
    for (int i = count; i-- > 0;)
        if (!pop(m, &items[i])) return false;
    return push_sequence(m, PICKLE_TUPLE, items, (size_t)count);
}

static bool run_marked_tuple(struct machine *m, int argument)
{
    struct pickle_value *items;
    size_t count;
    (void)argument;
    return pop_mark(m, &items, &count) && push_sequence(m, PICKLE_TUPLE, items, count);
}

static bool run_marked_set(struct machine *m, int argument)
{
    struct pickle_value *items;
    size_t count;
    (void)argument;
    return pop_mark(m, &items, &count) && push_sequence(m, PICKLE_SET, items, count);
}

static bool run_empty(struct machine *m, int kind)
{
    return push_sequence(m, (enum pickle_kind)kind, NULL, 0);
}

/* Append `count` items to the list or dict on top of the stack. */
static bool extend(struct machine *m, enum pickle_kind kind, const struct pickle_value *items,
                   size_t count)
{
    struct pickle_value *target = top(m);

    if (!target) return false;
    /* An OrderedDict of hooks is an object of the caller's; what is put in it is not used. */
    if (kind == PICKLE_DICT && target->kind == PICKLE_OBJECT) return true;
    if (target->kind != kind) return fail(m, "it adds items to something else than a container");
    if (kind == PICKLE_DICT && count % 2) return fail(m, "a dict has a key without a value");
    for (size_t i = 0; i < count; i++)
        if (!append(m, target->sequence, &items[i])) return false;
    return true;
}

static bool run_append(struct machine *m, int argument)
{
    struct pickle_value item;
    (void)argument;
    return pop(m, &item) && extend(m, PICKLE_LIST, &item, 1);
}

static bool run_set_item(struct machine *m, int argument)
{
    struct pickle_value pair[2];
    (void)argument;
    return pop(m, &pair[1]) && pop(m, &pair[0]) && extend(m, PICKLE_DICT, pair, 2);
}

/* APPENDS and SETITEMS. The items stay in place above the stack's top while they are copied:
 * only the container grows. */
static bool run_extend(struct machine *m, int kind)
{
    struct pickle_value *items;
    size_t count;
    return pop_mark(m, &items, &count) && extend(m, (enum pickle_kind)kind, items, count);
}

static bool memo_put(struct machine *m, uint64_t index)
{
    const struct pickle_value *value = top(m);
    const struct pickle_value none = { .kind = PICKLE_NONE };

    if (!value) return false;
    /* Writers count up from 0, so a hole is not theirs; and it could be 2^32 wide. */
    if (index > m->memo.count) return fail(m, "its memo has a hole");
    if (index == m->memo.count && !append(m, &m->memo, &none)) return false;
    m->memo.items[index] = *value;
    return true;
}

static bool run_put(struct machine *m, int bytes)
{
    uint64_t index;
    return take_number(m, &index, (size_t)bytes) && memo_put(m, index);
}

static bool run_memoize(struct machine *m, int argument)
{
    (void)argument;
    return memo_put(m, m->memo.count);
}

static bool run_get(struct machine *m, int bytes)
{
    uint64_t index;
    if (!take_number(m, &index, (size_t)bytes)) return false;
    if (index >= m->memo.count) return fail(m, "it uses a memo that was never set");
    return push(m, m->memo.items[index]);
}

static void copy_text(char *out, size_t room, const struct pickle_value *text)
{
    size_t used = 0;
    for (; used < text->text.count && used + 1 < room; used++) {
        char c = text->text.bytes[used];
        out[used] = c >= 0x20 && c < 0x7f ? c : '?';
    }
    out[used] = '\0';
}

static bool push_global(struct machine *m, const struct pickle_value *module,
                        const struct pickle_value *name)
{
    char module_text[64], name_text[64];
    int id = 0;
    const char *problem = m->hooks->global(m->hooks->context, &id, module, name);

    if (problem) {
        copy_text(module_text, sizeof module_text, module);
        copy_text(name_text, sizeof name_text, name);
        (void)snprintf(m->problem_text, sizeof m->problem_text, "it asks for %s.%s: %s",
                       module_text, name_text, problem);
        return fail(m, m->problem_text);
    }
    return push(m, (struct pickle_value){ .kind = PICKLE_GLOBAL, .object = { .id = id } });
}

static bool run_global(struct machine *m, int argument)
{
    struct pickle_value module, name;
    (void)argument;
    return take_line(m, &module) && take_line(m, &name) && push_global(m, &module, &name);
}

static bool run_stack_global(struct machine *m, int argument)
{
    struct pickle_value module, name;
    (void)argument;
    if (!pop(m, &name) || !pop(m, &module)) return false;
    if (module.kind != PICKLE_TEXT || name.kind != PICKLE_TEXT)
        return fail(m, "a name is not a text");
    return push_global(m, &module, &name);
}

static bool run_reduce(struct machine *m, int argument)
{
    struct pickle_value arguments, callable, made = { .kind = PICKLE_NONE };

    (void)argument;
    if (!pop(m, &arguments) || !pop(m, &callable)) return false;
    if (callable.kind != PICKLE_GLOBAL || arguments.kind != PICKLE_TUPLE)
        return fail(m, "it calls something that is not a known name");
    const char *problem =
        m->hooks->reduce(m->hooks->context, &made, callable.object.id, arguments.sequence);
    return problem ? fail(m, problem) : push(m, made);
}

static bool run_build(struct machine *m, int argument)
{
    struct pickle_value state;

    (void)argument;
    if (!pop(m, &state)) return false;
    const struct pickle_value *object = top(m);
    if (!object) return false;
    if (!m->hooks->build || object->kind != PICKLE_OBJECT)
        return fail(m, "it gives a state to something that has none");
    const char *problem = m->hooks->build(m->hooks->context, object, &state);
    return !problem || fail(m, problem);
}

static bool run_persistent(struct machine *m, int argument)
{
    struct pickle_value id, made = { .kind = PICKLE_NONE };

    (void)argument;
    if (!pop(m, &id)) return false;
    if (!m->hooks->persistent) return fail(m, "it refers to something that is not in it");
    const char *problem = m->hooks->persistent(m->hooks->context, &made, &id);
    return problem ? fail(m, problem) : push(m, made);
}

/* The instructions that exist here, by their byte (pickletools of CPython describes them). */
static const struct {
    instruction *run;
    int argument;
} instructions[256] = {
    [0x80] = { run_proto, 0 },
    [0x95] = { run_skip, 8 }, /* FRAME: its length adds nothing */
    ['('] = { run_mark, 0 },
    ['0'] = { run_pop, 0 },
    ['1'] = { run_pop_mark, 0 },
    ['2'] = { run_duplicate, 0 },
    ['N'] = { run_none, 0 },
    [0x88] = { run_bool, 1 },
    [0x89] = { run_bool, 0 },
    ['J'] = { run_int, 4 },
    ['K'] = { run_int, 1 },
    ['M'] = { run_int, 2 },
    [0x8a] = { run_long, 1 },
    [0x8b] = { run_long, 4 },
    ['G'] = { run_float, 0 },
    ['X'] = { run_text, 4 },
    [0x8c] = { run_text, 1 },
    [0x8d] = { run_text, 8 },
    ['B'] = { run_bytes, 4 },
    ['C'] = { run_bytes, 1 },
    [0x8e] = { run_bytes, 8 },
    [')'] = { run_tuple, 0 },
    [0x85] = { run_tuple, 1 },
    [0x86] = { run_tuple, 2 },
    [0x87] = { run_tuple, 3 },
    ['t'] = { run_marked_tuple, 0 },
    [']'] = { run_empty, PICKLE_LIST },
    ['}'] = { run_empty, PICKLE_DICT },
    [0x8f] = { run_empty, PICKLE_SET },
    [0x90] = { run_extend, PICKLE_SET },
    [0x91] = { run_marked_set, 0 }, /* FROZENSET */
    ['a'] = { run_append, 0 },
    ['e'] = { run_extend, PICKLE_LIST },
    ['s'] = { run_set_item, 0 },
    ['u'] = { run_extend, PICKLE_DICT },
    ['q'] = { run_put, 1 },
    ['r'] = { run_put, 4 },
    [0x94] = { run_memoize, 0 },
    ['h'] = { run_get, 1 },
    ['j'] = { run_get, 4 },
    ['c'] = { run_global, 0 },
    [0x93] = { run_stack_global, 0 },
    ['R'] = { run_reduce, 0 },
    [0x81] = { run_reduce, 0 }, /* NEWOBJ */
    ['b'] = { run_build, 0 },
    ['Q'] = { run_persistent, 0 },
};

enum { STOP = '.' };

static bool run(struct machine *m)
{
    while (m->at < m->end) {
        int code = *m->at++;
        if (code == STOP) return true;
        if (!instructions[code].run) {
            (void)snprintf(m->problem_text, sizeof m->problem_text,
                           "its instruction 0x%02x is none that such a file needs", (unsigned)code);
            return fail(m, m->problem_text);
        }
        if (!instructions[code].run(m, instructions[code].argument)) return false;
    }
    return fail(m, "it has no end, within the file and the most that is read");
}

struct status pickle_read(struct pickle_value *out, size_t *used, struct arena *arena,
                          const void *bytes, size_t size, const struct pickle_hooks *hooks,
                          const char *name)
{
    /* Data of a legacy file follow the pickles, so a long rest is not a long pickle. */
    size_t most = hooks->most_bytes ? hooks->most_bytes : PICKLE_MAX_BYTES;
    size_t limited = size < most ? size : most;
    struct machine m = { .at = bytes, .arena = arena, .hooks = hooks };

    m.end = m.at + limited;
    bool done = run(&m);
    if (done && (m.mark_count || m.stack.count != 1)) done = fail(&m, "it leaves no single value");
    if (m.no_memory) return status_no_memory(0);
    if (!done)
        return status_error(STATUS_BAD_INPUT, "cannot read '%s': the pickle at its byte %zu: %s",
                            file_shown(name).text, (size_t)(m.at - (const unsigned char *)bytes),
                            m.problem);
    *out = m.stack.items[0];
    *used = (size_t)(m.at - (const unsigned char *)bytes);
    return status_ok();
}

bool pickle_text_is(const struct pickle_value *value, const char *text)
{
    return value->kind == PICKLE_TEXT && value->text.count == strlen(text) &&
           !memcmp(value->text.bytes, text, value->text.count);
}
