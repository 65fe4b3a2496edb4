// A process that has put itself into a sandbox after its start goes on as with the C library's locks: threads that wait make no
// system calls that these would not make, but for two that docs/pthread.md names: sched_yield, and clock_gettime of the process's
// CPU time, which nobody asks for if spinning is switched off. Here whoever makes one of the others dies.
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

static const unsigned refused[] = {SYS_gettid, SYS_sched_getaffinity, SYS_getcpu, SYS_openat, SYS_readlinkat,
                                   SYS_prlimit64, SYS_getpid, SYS_membarrier, SYS_fstatfs, SYS_ftruncate, SYS_getrusage};

enum { N_REFUSED = sizeof refused / sizeof *refused };

static int close_the_box(void)
{
    struct sock_filter steps[N_REFUSED + 8];
    unsigned n = 0;
    steps[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    // Of the clocks, that one.
    unsigned clock = getenv("ONDECK_SPIN") ? ~0u : CLOCK_PROCESS_CPUTIME_ID;
    steps[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 4);
    steps[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
    steps[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, clock, 0, 1);
    steps[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    steps[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    for (unsigned i = 0; i < N_REFUSED; i++)
        steps[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], (unsigned char)(N_REFUSED - i), 0);
    steps[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    steps[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {(unsigned short)n, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int is_over;
static sem_t is_closed;
static long n_turns;

static void *work(void *unused)
{
    wait_for(&is_closed);
    while (!is_over) {
        OK(pthread_mutex_lock(&mutex));
        n_turns++;
        dally(3000);
        if (n_turns % 256 == 0)
            OK(pthread_cond_broadcast(&changed));
        if (n_turns % 1024 == 0 && !is_over)
            OK(pthread_cond_wait(&changed, &mutex));
        OK(pthread_mutex_unlock(&mutex));
        OK(pthread_mutex_lock(&checked));
        OK(pthread_mutex_unlock(&checked));
    }
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_cond_broadcast(&changed));
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

int main(void)
{
    watchdog();
    pthread_t threads[4];
    OK(sem_init(&is_closed, 0, 0));
    for (int i = 0; i < 4; i++)
        threads[i] = start(work, NULL);
    if (close_the_box() != 0) {
        puts("left out: no filter can be set here");
        _exit(0);
    }
    for (int i = 0; i < 4; i++)
        sem_post(&is_closed);
    // Longer than what is asked once a second is remembered.
    struct timespec length = {1, 300000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
    is_over = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK(n_turns > 0);
    return 0;
}
