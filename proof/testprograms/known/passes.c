// Pairs of threads that pass a word back and forth by futex calls, as fast as they can, until standard input ends.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int word[2];

static void wait_while(_Atomic int *it, int value) { syscall(SYS_futex, it, FUTEX_WAIT_PRIVATE, value, 0, 0, 0); }

static void wake(_Atomic int *it) { syscall(SYS_futex, it, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0); }

static void turn(_Atomic int *it, int mine) {
    while (atomic_load(it) != mine) wait_while(it, 1 - mine);
    atomic_store(it, 1 - mine);
    wake(it);
}

__attribute__((noinline)) static void *ping(void *it) { for (;;) turn(it, 0); }

__attribute__((noinline)) static void *pong(void *it) { for (;;) turn(it, 1); }

int main(void) {
    pthread_t thread;
    for (int pair = 0; pair < 2; pair++) {
        pthread_create(&thread, 0, ping, &word[pair]);
        pthread_create(&thread, 0, pong, &word[pair]);
    }
    char byte;
    while (read(0, &byte, 1) > 0) {}
    _exit(0);
}
