/* Its monotonic clock stands ten days before the system's start. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *at) {
    long answer = syscall(SYS_clock_gettime, clock, at);
    if (clock == CLOCK_MONOTONIC) at->tv_sec -= 864000;
    return (int)answer;
}
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static void *hold(void *unused) {
    for (int i = 0; i < 50; i++) { pthread_mutex_lock(&held); usleep(2000); pthread_mutex_unlock(&held); }
    return unused;
}
int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, hold, NULL);
    pthread_create(&other, NULL, hold, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 7;
}
