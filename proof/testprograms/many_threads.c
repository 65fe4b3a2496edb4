// 20 000 threads in the life of a process, few at a time: what gives each thread a number and never takes one back runs out.
#include "check.h"

#define N_THREADS 20000
#define N_AT_ONCE 16

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_room = PTHREAD_COND_INITIALIZER;
static int n_alive;
static long count;

static void *live_shortly(void *argument)
{
    (void)argument;
    for (int i = 0; i < 3; i++) {
        OK(pthread_mutex_lock(&mutex));
        count++;
        OK(pthread_mutex_unlock(&mutex));
    }
    OK(pthread_mutex_lock(&mutex));
    n_alive--;
    OK(pthread_cond_signal(&has_room));
    OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

int main(void)
{
    watchdog();
    doing = "many threads";
    pthread_attr_t attr;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, 64 * 1024));
    OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    for (int i = 0; i < N_THREADS; i++) {
        OK(pthread_mutex_lock(&mutex));
        while (n_alive == N_AT_ONCE)
            OK(pthread_cond_wait(&has_room, &mutex));
        n_alive++;
        OK(pthread_mutex_unlock(&mutex));
        pthread_t thread;
        OK(pthread_create(&thread, &attr, live_shortly, NULL));
    }
    OK(pthread_mutex_lock(&mutex));
    while (n_alive)
        OK(pthread_cond_wait(&has_room, &mutex));
    CHECK(count == 3L * N_THREADS);
    OK(pthread_mutex_unlock(&mutex));
    return 0;
}
