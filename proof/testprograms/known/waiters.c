/* Three threads that wait for each other for as many ms as the argument says. With a second one, the first thread ends at once; a
   third one is the file that takes the program's place. With -DOTHER it is another build. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static int ms;
#ifdef OTHER
__attribute__((used)) static void innocent(void) { __asm__ volatile(".skip 65536, 0x90"); }
#endif
static void *hold(void *unused)
{
    for (int i = 0; i < ms / 6; i++) {
        pthread_mutex_lock(&held);
        usleep(2000);
        pthread_mutex_unlock(&held);
    }
    sem_post(&done);
    return unused;
}
int main(int argc, char **argv)
{
    pthread_t threads[3];
    ms = argc > 1 ? atoi(argv[1]) : 60;
    if (argc > 3 && rename(argv[3], argv[0]) != 0)
        return 1;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, hold, NULL);
    if (argc == 3)
        pthread_exit(NULL);
    sem_wait(&done);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 7;
}
