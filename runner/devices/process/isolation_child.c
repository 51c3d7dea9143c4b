/* The loop of a kernel process, and what it notes of its own death. */
#include "runner/devices/process/isolation_child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

/* --- the last words of a dying process ----------------------------------------------------- */

/* A signal handler gets no argument of ours, so it finds the header here. Only this process,
 * which does nothing else, ever sets it. */
static struct space_header *dying_header;

/* Private memory in use, from the kernel's account of this process; 0 when it cannot be told.
 * Uses only what a signal handler may call. */
static uint64_t private_bytes(void)
{
    char text[128];
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t got = read(file, text, sizeof text - 1);
    (void)close(file);
    if (got <= 0) return 0;
    uint64_t pages = 0;
    int field = 0;
    for (ssize_t i = 0; i < got && field < 6; i++) {
        if (text[i] == ' ') field++;
        else if (field == 5 && text[i] >= '0' && text[i] <= '9')
            pages = pages * 10 + (uint64_t)(text[i] - '0');
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A record beside the registers: magic, size in bytes with this head, contents. */
struct record {
    uint32_t magic, bytes;
    uint64_t syndrome; /* of a record of that magic */
};

int isolation_fault_is_write(const unsigned char *records, size_t bytes)
{
    enum {
        SYNDROME_MAGIC = 0x45535201,
        HEAD = 8,
        DATA_ABORT = 0x24,
        CLASS_BIT = 26,
        WRITE_BIT = 6
    };
    struct record record;

    for (size_t at = 0; bytes - at >= sizeof record; at += record.bytes) {
        memcpy(&record, records + at, sizeof record);
        if (record.magic == SYNDROME_MAGIC) {
            bool is_data_abort = (record.syndrome >> CLASS_BIT & 0x3f) == DATA_ABORT;
            return is_data_abort ? (int)(record.syndrome >> WRITE_BIT & 1) : -1;
        }
        if (!record.magic || record.bytes < HEAD || record.bytes > bytes - at) break;
    }
    return -1;
}

static void last_words(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *machine = context;
    struct space_header *header = dying_header;

    header->fault_is_write = -1;
#if defined(__x86_64__)
    header->fault_stack_pointer = (uint64_t)machine->uc_mcontext.gregs[REG_RSP];
    if (signal == SIGSEGV && machine->uc_mcontext.gregs[REG_TRAPNO] == 14)
        header->fault_is_write = (machine->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#elif defined(__aarch64__)
    header->fault_stack_pointer = machine->uc_mcontext.sp;
    if (signal == SIGSEGV)
        header->fault_is_write = isolation_fault_is_write(machine->uc_mcontext.__reserved,
                                                          sizeof machine->uc_mcontext.__reserved);
#endif
    header->fault_address = (uint64_t)(uintptr_t)info->si_addr;
    header->private_bytes = private_bytes();
    header->fault_signal = signal;
    /* SA_RESETHAND put the default action back: let it end the process, so that the wait
     * status tells the same story. */
    (void)raise(signal);
}

/* Handlers run on a stack of their own: the usual one may be what overflowed. */
static void install_last_words(struct space_header *header)
{
    static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };
    enum { STACK = 64 * 1024 };
    stack_t stack = { .ss_size = STACK };

    dying_header = header;
    stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp == MAP_FAILED) return;
    (void)sigaltstack(&stack, NULL);
    struct sigaction action = { .sa_sigaction = last_words,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND };
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        (void)sigaction(fatal[i], &action, NULL);
}

/* The program may have changed what signals do before the zygote was forked. */
static void default_signals(void)
{
    static const int ours[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
                                SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2 };
    sigset_t none;
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) (void)signal(ours[i], SIG_DFL);
}

/* A stack of known depth: with an unlimited one a runaway recursion would eat the machine. */
static void limit_stack(struct space_header *header)
{
    enum { STACK_BYTES = 8 << 20 };
    struct rlimit limit;
    pthread_attr_t attributes;
    void *low;
    size_t bytes;

    if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur > STACK_BYTES) {
        limit.rlim_cur = STACK_BYTES;
        (void)setrlimit(RLIMIT_STACK, &limit);
    }
    if (pthread_getattr_np(pthread_self(), &attributes)) return;
    if (!pthread_attr_getstack(&attributes, &low, &bytes))
        header->fault_stack_low = (uint64_t)(uintptr_t)low;
    (void)pthread_attr_destroy(&attributes);
}

/* RLIMIT_DATA counts private writable memory and nothing else, so shared tensors and the address
 * space that GPU drivers reserve are free. */
static void limit_memory(struct space_header *header, uint64_t limit)
{
    struct rlimit data = { 0, 0 }, core = { 0, 0 };
    header->private_start = private_bytes();
    (void)setrlimit(RLIMIT_CORE, &core);
    /* What it has already counts too: where that cannot be told, a limit might leave it nothing. */
    if (!limit || !header->private_start) return;
    data.rlim_cur = data.rlim_max = header->private_start + limit;
    (void)setrlimit(RLIMIT_DATA, &data);
}

/* --- the loop ------------------------------------------------------------------------------- */

static ssize_t receive(int socket, struct isolation_message *message)
{
    ssize_t got;
    do got = recv(socket, message, sizeof *message, 0);
    while (got < 0 && errno == EINTR);
    return got;
}

void isolation_child(const int *descriptors, size_t count)
{
    struct space_view view;
    struct isolation_message message = { 0 };
    cpu_set_t processors;
    int socket = descriptors[CHILD_SOCKET];

    bool may_choose = !sched_getaffinity(0, sizeof processors, &processors);
    if (count != CHILD_DESCRIPTORS) return;
    (void)dup2(descriptors[CHILD_LOG], 1);
    (void)dup2(descriptors[CHILD_LOG], 2);
    (void)close(descriptors[CHILD_LOG]);
    struct status st = space_view_open(&view, descriptors[CHILD_MEMORY]);
    if (st.code) { /* there is no header to say it in; the program reads what a process prints */
        (void)dprintf(2, "%s\n", st.text);
        return;
    }
    (void)close(descriptors[CHILD_MEMORY]);

    struct isolated isolated = { .base = view.base,
                                 .header = (struct space_header *)(void *)view.base };
    default_signals();
    limit_stack(isolated.header);
    install_last_words(isolated.header);
    while (receive(socket, &message) == (ssize_t)sizeof message) {
        if (message.starting) {
            isolated.header->fault_space = (uint64_t)(uintptr_t)view.base;
            limit_memory(isolated.header, message.memory_limit);
        }
        /* The program brought us to its processor (isolation.c); a kernel may use all. */
        if (may_choose) (void)sched_setaffinity(0, sizeof processors, &processors);
        if (space_view_fence(&view))
            isolated_handle(&isolated, message.handler, view.base + message.offset, message.bytes,
                            message.starting);
        else
            isolated_answer(&isolated,
                            status_error(STATUS_IO, "cannot protect the tensors of a call"));
        (void)fflush(NULL);
        if (send(socket, &message, sizeof message, MSG_NOSIGNAL) < 0) return;
    }
    if (message.finish) message.finish(isolated.state);
}
