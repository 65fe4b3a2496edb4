/* What the tests in C have in common. */
#ifndef CHECK_H
#define CHECK_H

#include <ondeck.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ends the process unless `answer` is `expected`. */
#define EXPECT(answer, expected)                                                                                    \
    do {                                                                                                            \
        long long found_ = (long long)(answer), wanted_ = (long long)(expected);                                    \
        if (found_ != wanted_) {                                                                                    \
            fprintf(stderr, "%s:%d: %s is %lld and not %lld\n", __FILE__, __LINE__, #answer, found_, wanted_);      \
            exit(1);                                                                                                \
        }                                                                                                           \
    } while (0)

#define MS ((uint64_t)1000000)

static inline uint64_t now_ns(int clock) {
    struct timespec now;
    clock_gettime((clockid_t)clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline struct timespec in_ns(int clock, uint64_t ns) {
    uint64_t then = now_ns(clock) + ns;
    struct timespec deadline = { (time_t)(then / 1000000000u), (long)(then % 1000000000u) };
    return deadline;
}

static inline void sleep_ns(uint64_t ns) {
    struct timespec length = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
    nanosleep(&length, NULL);
}

#endif
