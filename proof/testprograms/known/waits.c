/* Threads that wait for each other for as many ms as the argument says; a second half of them starts later. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, later = PTHREAD_MUTEX_INITIALIZER;
static int ms = 60;
static void *hold(void *mutex)
{
    for (int i = 0; i < ms / 4; i++) {
        pthread_mutex_lock(mutex);
        usleep(2000);
        pthread_mutex_unlock(mutex);
    }
    return 0;
}
int main(int argc, char **argv)
{
    pthread_t threads[4];
    if (argc > 1)
        ms = atoi(argv[1]);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, hold, &held);
    usleep(argc > 1 ? 700000 : 1000);
    for (int i = 2; i < 4; i++)
        pthread_create(&threads[i], NULL, hold, &later);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    puts("all is done");
    return 7;
}
