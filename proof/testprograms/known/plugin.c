/* A plugin: NAME_section holds NAME_lock asleep. All have the same size, so that one comes to the place of another. */
#include <pthread.h>
#include <time.h>
#define GLUE2(a, b) a##b
#define GLUE(a, b) GLUE2(a, b)

pthread_mutex_t GLUE(NAME, _lock) = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void GLUE(NAME, _section)(void) {
    struct timespec ms4 = {0, 4000000};
    pthread_mutex_lock(&GLUE(NAME, _lock));
    nanosleep(&ms4, 0);
    pthread_mutex_unlock(&GLUE(NAME, _lock));
}

void plugin_run(void) {
    for (int i = 0; i < TURNS; i++) GLUE(NAME, _section)();
    __asm__ volatile("");
}

pthread_mutex_t *plugin_lock(void) { return &GLUE(NAME, _lock); }
