// A program under a filter of system calls. `rebuild` sleeps for 2 ms with `table`, and `look_up` waits for it, until the program is
// told to end. sandbox WHEN HOW NUMBER...
//   WHEN   before  the filter is there when the program begins, as a container's
//          after   the program sets it itself, for all its threads, before it says that it has begun
//          one     the same, for one of its threads only
//          told    when it is told to, and says so
// Another lock, `calm`, is waited for only when the filter is there.
//   HOW    kill    other calls than these numbers end the process; errno: they fail
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER, calm = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_over, is_closed;
static char **words;

static void nap(long ns)
{
    struct timespec length = {0, ns};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
}

static void close_the_box(unsigned flags)
{
    static struct sock_filter steps[128];
    unsigned short n = 0;
    unsigned refusal = strcmp(words[2], "errno") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | 1;
    steps[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (char **word = words + 3; *word; word++) {
        steps[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(*word), 0, 1);
        steps[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    steps[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refusal);
    struct sock_fprog program = {n, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program))
        _exit(77);
    is_closed = 1;
}

__attribute__((noinline)) static void rebuild(void)
{
    pthread_mutex_lock(&table);
    nap(2000000);
    pthread_mutex_unlock(&table);
    if (is_closed) {
        pthread_mutex_lock(&calm);
        nap(1000000);
        pthread_mutex_unlock(&calm);
    } else {
        nap(1000000);
    }
}

__attribute__((noinline)) static void look_up(void)
{
    pthread_mutex_lock(&table);
    pthread_mutex_unlock(&table);
    if (is_closed) {
        pthread_mutex_lock(&calm);
        pthread_mutex_unlock(&calm);
    }
}

static void *build(void *unused)
{
    while (!is_over)
        rebuild();
    return unused;
}

static void *look(void *is_boxed)
{
    if (is_boxed)
        close_the_box(0);
    while (!is_over) {
        look_up();
        nap(200000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    (void)argc;
    words = argv;
    int is_before = !strcmp(argv[1], "before"), is_after = !strcmp(argv[1], "after"), is_one = !strcmp(argv[1], "one");
    if (is_before && !getenv("BOXED")) {
        setenv("BOXED", "1", 1);
        close_the_box(0);
        execv("/proc/self/exe", argv);
        return 78;
    }
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, build, NULL);
    pthread_create(&threads[1], NULL, look, is_one ? &table : NULL);
    pthread_create(&threads[2], NULL, look, NULL);
    for (int i = 0; i < 5000; i++) {
        pthread_mutex_lock(&calm);
        pthread_mutex_unlock(&calm);
    }
    nap(20000000);
    if (is_after)
        close_the_box(SECCOMP_FILTER_FLAG_TSYNC);
    char byte;
    if (write(1, "begun\n", 6) != 6 || read(0, &byte, 1) != 1)
        return 79;
    if (byte == 'c') {
        close_the_box(SECCOMP_FILTER_FLAG_TSYNC);
        if (write(1, "closed\n", 7) != 7 || read(0, &byte, 1) != 1)
            return 79;
    }
    is_over = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    if (write(1, "ended\n", 6) != 6)
        return 79;
    return 0;
}
