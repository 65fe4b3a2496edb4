// A child that may not write long files: whatever an interposer writes down must not end it.
#include "check.h"
#include <sys/resource.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void work(void)
{
    for (int i = 0; i < 5000; i++) {
        OK(pthread_mutex_lock(&mutex));
        OK(pthread_mutex_unlock(&mutex));
    }
}

int main(void)
{
    watchdog();
    work();
    struct rlimit limit = {1 << 16, 1 << 16};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    doing = "a child with a limit";
    pid_t child = fork();
    if (child == 0) {
        work();
        _exit(0);
    }
    child_is_well(child, doing);
    return 0;
}
