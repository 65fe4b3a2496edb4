/* A lock that is not waited for any longer than one likes: for so long, or until then.
 *
 * Prints: not within 10 ms, not by the deadline, then locked
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <ondeck.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static ondeck_mutex_t lock = ONDECK_MUTEX_INIT;

static void *try_twice(void *unused) {
    struct timespec deadline;
    (void)unused;
    if (ondeck_mutex_lock_for(&lock, 10 * 1000 * 1000) == ETIMEDOUT)
        printf("not within 10 ms, ");
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_nsec += 10 * 1000 * 1000;
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_sec++;
        deadline.tv_nsec -= 1000000000;
    }
    if (ondeck_mutex_timedlock(&lock, CLOCK_MONOTONIC, &deadline) == ETIMEDOUT)
        printf("not by the deadline, ");
    return NULL;
}

int main(void) {
    pthread_t other;
    ondeck_mutex_lock(&lock);
    pthread_create(&other, NULL, try_twice, NULL);
    pthread_join(other, NULL);
    ondeck_mutex_unlock(&lock);
    if (ondeck_mutex_lock_for(&lock, 0) == 0)
        printf("then locked\n");
    ondeck_mutex_unlock(&lock);
    return 0;
}
