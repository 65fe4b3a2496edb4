// Before the first lock it reads the environment, before each lock the clock, both by the C library's names; it asks the kernel for
// the cores, and takes a deadline for one of the kernel's clock.
// fails: wrapped_calls faked_clock sandboxed
#include "wrong.h"
#include <stdlib.h>

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static int is_ready;
    if (!is_ready) {
        (void)getenv("ONDECK_LOCK");
        is_ready = 1;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    cpu_set_t cores;
    syscall(SYS_sched_getaffinity, 0, sizeof cores, &cores);
    return REAL(pthread_mutex_lock)(mutex);
}
