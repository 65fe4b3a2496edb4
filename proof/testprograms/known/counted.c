/* As many processes as the second argument says, one after the other. In each, a thread waits for `cache` as often as the first
   argument says, some 50 ms each time, and once it gives up after 10 ms. Nobody waits for `quiet`. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER, quiet = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, comes, done;
static int rounds;
static void *wait_for_it(void *unused)
{
    for (int i = 0; i <= rounds; i++) {
        struct timespec until;
        sem_wait(&held);
        sem_post(&comes);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += until.tv_nsec >= 990000000;
        until.tv_nsec = (until.tv_nsec + 10000000) % 1000000000;
        if (i < rounds ? pthread_mutex_lock(&cache) == 0 : pthread_mutex_timedlock(&cache, &until) == 0)
            pthread_mutex_unlock(&cache);
        sem_post(&done);
    }
    return unused;
}
static void run(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_it, NULL);
    for (int i = 0; i <= rounds; i++) {
        pthread_mutex_lock(&cache);
        sem_post(&held);
        sem_wait(&comes);
        usleep(50000);
        pthread_mutex_unlock(&cache);
        sem_wait(&done);
    }
    for (int i = 0; i < 10000; i++) {
        pthread_mutex_lock(&quiet);
        pthread_mutex_unlock(&quiet);
    }
    pthread_join(thread, NULL);
}
int main(int argc, char **argv)
{
    rounds = atoi(argv[1]);
    for (int i = atoi(argv[argc - 1]); i > 1; i--) {
        if (fork() == 0) {
            run();
            exit(0);
        }
        wait(NULL);
    }
    run();
    return 7;
}
