/* One mutex that nobody else wants, locked and unlocked through the PLT: uncontended OTHERS SECONDS
 *
 * OTHERS threads sleep meanwhile. With none the process has one thread, which the C library knows, and does without atomic
 * operations. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t count;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *sleep_on(void *argument) {
    for (;;) pause();
    return argument;
}

int main(int argc, char **argv) {
    enum { BATCH = 10000, OTHERS_MOST = 1024 };
    int others = argc == 3 ? atoi(argv[1]) : -1;
    if (others < 0 || others > OTHERS_MOST) {
        fprintf(stderr, "usage: uncontended OTHERS SECONDS\n");
        return 2;
    }
    for (int i = 0; i < others; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleep_on, NULL) != 0) return 1;
    }
    double start = now(), end = start + atof(argv[2]);
    uint64_t done = 0;
    while (now() < end) {
        for (int i = 0; i < BATCH; i++) {
            pthread_mutex_lock(&mutex);
            count++;
            pthread_mutex_unlock(&mutex);
        }
        done += BATCH;
    }
    printf("ops %llu\nseconds %f\nwrong %llu\n", (unsigned long long)done, now() - start, (unsigned long long)(done - count));
    return done != count;
}
