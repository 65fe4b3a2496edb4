// What the test programs share: checks that end the program, a watchdog, clocks, threads.
//
// Nothing here uses a mutex or a condition variable: those are what is tested. Barriers and semaphores of glibc have state
// of their own and never reach an interposer of mutexes.
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000LL
#define SECOND (1000 * MS)

// Later than this after its deadline a wait is taken for hung. Machines are busy: lateness itself is no fault.
#define LATEST (40 * SECOND)

#define UNUSED __attribute__((unused))

// What the program is at; a failure and a watchdog that bites say it.
static const char *volatile doing = "start";

// One line, by write alone: stdio and malloc may be what the failing program breaks.
UNUSED __attribute__((noreturn, format(printf, 3, 4))) static void fail(const char *file, int line, const char *text, ...)
{
    char out[400];
    const char *slash = strrchr(file, '/');
    int length = snprintf(out, sizeof out, "%s:%d: ", slash ? slash + 1 : file, line);
    va_list list;
    va_start(list, text);
    length += vsnprintf(out + length, sizeof out - (size_t)length - 1, text, list);
    va_end(list);
    if (length < (int)sizeof out)
        length += snprintf(out + length, sizeof out - (size_t)length, " (at: %s)", doing);
    if (length > (int)sizeof out - 2)
        length = (int)sizeof out - 2;
    out[length++] = '\n';
    if (write(2, out, (size_t)length) < 0)
        _exit(3);
    _exit(1);
}

#define FAIL(...) fail(__FILE__, __LINE__, __VA_ARGS__)

// CHECK(condition): the text of the failure is the condition.
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            FAIL("not so: %s", #condition);                                                                            \
    } while (0)

UNUSED static const char *code_name(int code)
{
    const char *name = code ? strerrorname_np(code) : "0";
    return name ? name : "no error code";
}

// GIVES(call, code): the call returns exactly this code.
#define GIVES(call, code)                                                                                              \
    do {                                                                                                               \
        int gives_got = (call), gives_want = (code);                                                                   \
        if (gives_got != gives_want)                                                                                   \
            FAIL("%s gave %s and not %s", #call, code_name(gives_got), code_name(gives_want));                         \
    } while (0)

#define OK(call) GIVES(call, 0)

// ---- the watchdog

UNUSED static void watchdog_bites(int signal_number)
{
    (void)signal_number;
    char out[200];
    int length = snprintf(out, sizeof out, "hung, at: %s\n", doing);
    if (write(2, out, (size_t)length) < 0)
        _exit(3);
    _exit(2);
}

// Each process needs its own: alarms are not inherited by the child of a fork. CHECK_SECONDS shortens the wait where
// hanging is what is expected.
UNUSED static void watchdog(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = watchdog_bites;
    sigaction(SIGALRM, &action, NULL);
    const char *seconds = getenv("CHECK_SECONDS");
    alarm(seconds ? (unsigned)atoi(seconds) : 120);
}

// Whether a library stands in for glibc: some promises are asked of one that glibc itself does not keep.
UNUSED static int is_preloaded(void)
{
    const char *libraries = getenv("LD_PRELOAD");
    return libraries && *libraries;
}

// ---- clocks

UNUSED static int64_t now_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

UNUSED static struct timespec to_timespec(int64_t ns)
{
    struct timespec time;
    time.tv_sec = (time_t)(ns / SECOND);
    time.tv_nsec = (long)(ns % SECOND);
    return time;
}

// The point in time `ns` from now.
UNUSED static struct timespec in_ns(clockid_t clock, int64_t ns)
{
    return to_timespec(now_ns(clock) + ns);
}

UNUSED static int64_t ns_of(const struct timespec *time)
{
    return time->tv_sec * SECOND + time->tv_nsec;
}

UNUSED static void sleep_ns(int64_t ns)
{
    struct timespec end = in_ns(CLOCK_MONOTONIC, ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
    }
}

// The CPU time that a thread has used.
UNUSED static int64_t cpu_ns(pthread_t thread)
{
    clockid_t clock;
    if (pthread_getcpuclockid(thread, &clock) != 0)
        FAIL("a thread has no clock");
    return now_ns(clock);
}

// Uses so much CPU time of the calling thread, however long that takes.
UNUSED static void burn_ns(int64_t ns)
{
    int64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
}

// Lets others run, wherever they are. A yield would hand the CPU to whatever else keeps a busy machine, for its whole slice.
UNUSED static void give_way(void)
{
    sleep_ns(20000);
}

// A few instructions that the compiler leaves alone.
UNUSED static void dally(int turns)
{
    for (int i = 0; i < turns; i++)
        __asm__ volatile("" ::: "memory");
}

// ---- threads

// Small stacks, so that programs with many threads fit anywhere.
UNUSED static pthread_t start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    int code = pthread_create(&thread, &attr, run, argument);
    if (code != 0)
        FAIL("no thread: %s", code_name(code));
    pthread_attr_destroy(&attr);
    return thread;
}

UNUSED static void *join(pthread_t thread)
{
    void *result = NULL;
    OK(pthread_join(thread, &result));
    return result;
}

// Joins a thread that must end by itself soon; `what` it is that hangs otherwise.
UNUSED static void *join_soon(pthread_t thread, const char *what)
{
    void *result = NULL;
    struct timespec end = in_ns(CLOCK_REALTIME, LATEST);
    doing = what;
    if (pthread_timedjoin_np(thread, &result, &end) != 0)
        FAIL("hung: %s", what);
    return result;
}

UNUSED static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        if (errno != EINTR)
            FAIL("a semaphore: %s", code_name(errno));
}

UNUSED static pid_t thread_id(void)
{
    return (pid_t)syscall(SYS_gettid);
}

// Whether the thread with this id, of any process, sleeps in the kernel. Without stdio, which allocates.
UNUSED static int is_asleep(pid_t id)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)id);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (length < 0)
        return 0;
    text[length] = 0;
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'S';
}

// Until that thread was seen asleep some times in a row: it is in a wait for good, or a nap of one. The id is written by
// the thread itself, and 0 until then.
UNUSED static void until_asleep(const int *id)
{
    int64_t end = now_ns(CLOCK_MONOTONIC) + LATEST;
    for (int in_a_row = 0; in_a_row < 5;) {
        int found = __atomic_load_n(id, __ATOMIC_ACQUIRE);
        in_a_row = found != 0 && is_asleep(found) ? in_a_row + 1 : 0;
        if (now_ns(CLOCK_MONOTONIC) > end)
            FAIL("a waiter does not go to sleep");
        sleep_ns(MS / 2);
    }
}

// Waits for a child that must end well.
UNUSED static void child_is_well(pid_t child, const char *what)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            FAIL("%s: no child", what);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        FAIL("%s: the child ended with status %#x", what, (unsigned)status);
}

// ---- chance, with a seed

UNUSED static uint32_t chance(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

#endif
