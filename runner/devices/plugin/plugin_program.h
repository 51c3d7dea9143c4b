/* The calls that make up one kernel, ready to be carried out in another process.
 *
 * The program resolves a manifest's entry for one case into plain bytes (plugin_bind.c); the
 * kernel process, which knows nothing of JSON, cases or expressions, walks through them and
 * calls functions by libffi (plugin_call.c). All places are offsets: `offset` of an argument
 * counts from the start of the shared memory, offsets of steps, arguments and strings count
 * from the start of the program.
 *
 * Slots are 64-bit variables that hold what calls return: handles, sizes of work space, status
 * codes. The first SESSION_SLOTS live as long as the process (opened handles), the others as
 * long as one program.
 */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_PROGRAM_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "core/dtype.h"
#include "core/status.h"

enum { SESSION_SLOTS = 32, PROGRAM_SLOTS = 256, PROGRAM_MAX_ARGUMENTS = 48 };

/* C types of arguments and results. `pointer` includes handles. */
enum program_type {
    TYPE_VOID,
    TYPE_I8,
    TYPE_U8,
    TYPE_I16,
    TYPE_U16,
    TYPE_I32,
    TYPE_U32,
    TYPE_I64,
    TYPE_U64,
    TYPE_F32,
    TYPE_F64,
    TYPE_POINTER,
    TYPE_COUNT
};

struct program_type_info {
    const char *name; /* in manifests */
    size_t bytes;
    enum dtype dtype; /* of a tensor with such elements; DT_NONE when there is none */
};

const struct program_type_info *program_type_info(enum program_type type);

/* The type of a name, TYPE_COUNT when there is none such. */
enum program_type program_type_find(const char *name);

enum argument_kind {
    ARGUMENT_BITS,            /* `bits` is the value */
    ARGUMENT_SPACE,           /* address: shared memory + bits */
    ARGUMENT_CONSTANT,        /* address: program + bits (strings, lists of numbers) */
    ARGUMENT_SLOT,            /* value of slot `bits` */
    ARGUMENT_SLOT_ADDRESS,    /* address of slot `bits`: an out parameter */
    ARGUMENT_ELEMENT,         /* value of element i of the array at shared memory + bits */
    ARGUMENT_ELEMENT_ADDRESS, /* its address */
    ARGUMENT_ADDRESSES        /* address of an array of pointers: program + bits holds u64
                                 offsets, made into addresses in scratch memory */
};

struct program_argument {
    uint32_t type; /* enum program_type */
    uint32_t kind; /* enum argument_kind */
    uint64_t bits;
    uint64_t count; /* ADDRESSES, CONSTANT: how many */
    uint64_t item;  /* CONSTANT: enum program_type of the numbers, TYPE_VOID for a string */
};

/* When a result says that the call failed. */
enum program_check { CHECK_NONE, CHECK_ZERO, CHECK_NONZERO, CHECK_NONNEGATIVE, CHECK_NONNULL };

enum step_kind { STEP_CALL, STEP_ALLOCATE };

#define PROGRAM_NOTHING UINT64_MAX

struct program_step {
    uint32_t kind;
    uint32_t library; /* CALL: index of the library */
    uint64_t symbol;  /* offset of the name */
    uint32_t count;   /* of arguments */
    uint32_t result_type;
    uint64_t arguments;      /* offset of struct program_argument[count]; for ALLOCATE one: the
                                bytes */
    uint64_t loop;           /* elements to call it for; or PROGRAM_NOTHING: a plain call */
    uint64_t result_slot;    /* or PROGRAM_NOTHING; ALLOCATE: gets the address */
    uint64_t result_element; /* offset in shared memory of an array that element i goes to */
    uint32_t check;          /* enum program_check */
    uint32_t explain_library;
    uint64_t explain; /* name of `const char *f(int)` that words a code; or PROGRAM_NOTHING */
    uint64_t always;  /* 1: carried out although an earlier call failed (releasing) */
};

struct program {
    uint64_t bytes; /* of everything */
    uint64_t steps; /* offset of struct program_step[step_count] */
    uint64_t step_count;
};

/* The start request of a kernel process: libraries to load, environment to set, what to call
 * first (handles) and last. */
struct program_start {
    uint64_t library_count;
    uint64_t libraries;         /* offset of u64[library_count], each the offset of a path */
    uint64_t environment_count; /* pairs */
    uint64_t environment;       /* offset of u64[2 * environment_count]: names and values */
    uint64_t open, close;       /* offsets of a struct program each, with offsets of its own */
};

/* --- building ------------------------------------------------------------------------------ */

/* A growing block of bytes. After a failed append `failed` is set and stays. */
struct program_writer {
    unsigned char *bytes;
    size_t used, room;
    int failed;
};

/* Room for `bytes` more, zeroed, aligned to 8; its offset. */
uint64_t program_reserve(struct program_writer *writer, size_t bytes);

/* Append a copy; its offset. */
uint64_t program_append(struct program_writer *writer, const void *bytes, size_t count);
uint64_t program_append_string(struct program_writer *writer, const char *text);

void program_writer_release(struct program_writer *writer);

#endif
