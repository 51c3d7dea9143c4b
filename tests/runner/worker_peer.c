/* The worker that test_worker.c talks to: it echoes, and misbehaves on request. The API's name says
 * what to do; the first word of the command line how to greet. */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static const char *const greetings[][2] = {
    { "well", "{\"protocol\":1,\"name\":\"peer\"}" },
    { "ahead", "{\"protocol\":1,\"capabilities\":[\"backward\",\"ahead\"]}" },
    { "forward", "{\"protocol\":1,\"capabilities\":[]}" },
    { "late", "{\"protocol\":1,\"name\":\"peer\"}" },
    { "too_late", "{\"error\":\"no such device: 7\"}" },
    { "wavering", "{\"protocol\":1,\"name\":\"peer\"}" },
    { "old", "{\"protocol\":0}" },
    { "mumbling", "hello there" },
    { "unwilling", "{\"error\":\"no such device: 7\"}" },
};

/* Replies that are the same for every call; %d is the number of the request. */
/* clang-format off */
static const char *const replies[][2] = {
    { "skip", "{\"run\":%d,\"skip\":\"not for me\"}" },
    { "error", "{\"run\":%d,\"error\":\"bad things\"}" },
    { "poisoned", "{\"run\":%d,\"error\":\"context lost\",\"restart\":true}" },
    { "garbage", "{\"run\":%d,\"outputs\":[" },
    { "another", "{\"run\":9999%d,\"outputs\":[]}" },
    { "nothing", "{\"run\":%d}" },
    { "no_list", "{\"run\":%d,\"outputs\":3}" },
    { "no_gradients", "{\"run\":%d,\"outputs\":[1]}" },
    { "no_backward", "{\"run\":%d,\"outputs\":[1],\"backward\":{\"skip\":\"forward only\"}}" },
    { "values", "{\"run\":%d,\"outputs\":[null,true,7,{\"float\":\"7.0\"},{\"float\":\"nan\"},"
                "{\"int\":\"9007199254740993\"},\"text\",{\"dtype\":\"torch.float16\"}],"
                "\"backward\":{\"skip\":\"\"}}" },
    { "outside", "{\"run\":%d,\"outputs\":[{\"tensor\":{\"dtype\":\"torch.float32\",\"shape\":[4],"
                 "\"offset\":9007199254740000}}]}" },
    { "overflow", "{\"run\":%d,\"outputs\":[{\"tensor\":{\"dtype\":\"torch.float32\",\"shape\":["
                  "4294967296,4294967296],\"offset\":0}}]}" },
    { "negative", "{\"run\":%d,\"outputs\":[{\"tensor\":{\"dtype\":\"torch.float32\",\"shape\":[-1],"
                  "\"offset\":0}}]}" },
    { "fraction", "{\"run\":%d,\"outputs\":[{\"tensor\":{\"dtype\":\"torch.float32\",\"shape\":[1],"
                  "\"offset\":0.5}}]}" },
    { "no_dtype", "{\"run\":%d,\"outputs\":[{\"tensor\":{\"dtype\":\"torch.quint4x2\",\"shape\":[1],"
                  "\"offset\":0}}]}" },
    { "two_keys", "{\"run\":%d,\"outputs\":[{\"a\":1,\"b\":2}]}" },
};
/* clang-format on */

static void act(const char *deed)
{
    volatile int *address = NULL;
    if (!strcmp(deed, "crash")) {
        fprintf(stderr, "about to crash\n");
        signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would end the process with a status */
        *address = 1;
    }
    if (!strcmp(deed, "exit")) {
        fprintf(stderr, "Traceback\nValueError: 3 is not a dtype\n");
        exit(5);
    }
    while (!strcmp(deed, "hang")) sleep(1);
    if (!strcmp(deed, "close")) {
        close(1);
        for (;;) sleep(1);
    }
    if (!strcmp(deed, "killed")) raise(SIGKILL);
    if (!strcmp(deed, "dies_later")) {
        const struct itimerval soon = { .it_value = { .tv_usec = 20000 } };
        setitimer(ITIMER_REAL, &soon, NULL);
    }
    if (!strcmp(deed, "parricide")) {
        kill(getppid(), SIGKILL);
        for (;;) pause();
    }
    if (!strcmp(deed, "hog")) {
        volatile char *block;
        while ((block = malloc(1 << 20))) *block = 1;
        fprintf(stderr, "no memory left\n");
        exit(6);
    }
    if (!strcmp(deed, "endless"))
        for (;;) fputs("0123456789", stdout);
    if (!strcmp(deed, "chatty"))
        for (int i = 0; i < 100000; i++) fprintf(stderr, "log line %d\n", i);
    if (!strcmp(deed, "shrink") && (ftruncate(3, 0) == 0)) exit(77);
}

/* All arguments back as outputs: tensors stay where they are. */
static void echo(const cJSON *request)
{
    cJSON *reply = cJSON_CreateObject();
    cJSON_AddNumberToObject(reply, "run", cJSON_GetObjectItem(request, "run")->valuedouble);
    cJSON_AddItemToObject(reply, "outputs",
                          cJSON_Duplicate(cJSON_GetObjectItem(request, "args"), 1));
    if (cJSON_IsTrue(cJSON_GetObjectItem(request, "gradients")))
        cJSON_AddItemToObject(reply, "gradients",
                              cJSON_Duplicate(cJSON_GetObjectItem(request, "cotangents"), 1));
    char *text = cJSON_PrintUnformatted(reply);
    puts(text);
    free(text);
    cJSON_Delete(reply);
}

/* Every second clone is another, by the last bit of its first element. */
static void waver(const cJSON *request)
{
    static int clones;
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(request, "args"), 0),
                *offset = cJSON_GetObjectItem(cJSON_GetObjectItem(first, "tensor"), "offset");
    unsigned char byte;
    if (strcmp(cJSON_GetObjectItem(request, "name")->valuestring, "clone") != 0 || ++clones % 2)
        return;
    if (!offset || pread(3, &byte, 1, (off_t)offset->valuedouble) != 1) exit(7);
    byte ^= 1;
    if (pwrite(3, &byte, 1, (off_t)offset->valuedouble) != 1) exit(7);
}

/* A line of /proc/PID/status. */
static long status_number(long process, const char *key)
{
    char path[64], line[256];
    long number = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", process);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key))) number = atol(line + strlen(key));
    if (file) fclose(file);
    return number;
}

/* Until the program, of which the one that forked this is a child, has so many threads. */
static void wait_for_threads(int least)
{
    long program = status_number(getppid(), "PPid:");
    for (int i = 0; i < 2000 && status_number(program, "Threads:") < least; i++) usleep(10000);
    if (status_number(program, "Threads:") >= least) return;
    fprintf(stderr, "nobody goes ahead of this worker\n");
    exit(8);
}

int main(int count, char **arguments)
{
    const char *greeting = count > 1 ? arguments[1] : "well";
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        cJSON *request = cJSON_Parse(line);
        const cJSON *number = cJSON_GetObjectItem(request, "run");
        if (!number) {
            if (!strcmp(greeting, "dying")) exit(4);
            while (!strcmp(greeting, "never")) pause();
            if (strstr(greeting, "late")) wait_for_threads(atoi(arguments[2]));
            if (!strcmp(greeting, "proud")) /* of what it was told */
                fprintf(stderr, "%s", line), exit(4);
            for (size_t i = 0; i < sizeof greetings / sizeof *greetings; i++)
                if (!strcmp(greetings[i][0], greeting)) puts(greetings[i][1]);
        } else {
            const char *deed = cJSON_GetObjectItem(request, "name")->valuestring;
            int fixed = 0;
            act(deed);
            for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
                if (strcmp(replies[i][0], deed)) continue;
                printf(replies[i][1], number->valueint);
                putchar('\n');
                fixed = 1;
            }
            if (!strcmp(greeting, "wavering")) waver(request);
            if (!fixed) echo(request);
        }
        fflush(stdout);
        cJSON_Delete(request);
    }
    return 0;
}
