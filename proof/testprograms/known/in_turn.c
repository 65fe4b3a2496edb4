/* Two threads sleep in turn with a mutex, as often as the argument says. With a second one, the first thread ends at once; a
   third one is the file that takes the program's place. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static int n;
#ifdef OTHER
__attribute__((used)) static void innocent(void) { __asm__ volatile(".skip 65536, 0x90"); }
#endif
__attribute__((noinline)) static void hold(void)
{
    pthread_mutex_lock(&held);
    usleep(2000);
    pthread_mutex_unlock(&held);
}
static void *work(void *unused)
{
    for (int i = 0; i < n; i++)
        hold();
    sem_post(&done);
    return unused;
}
int main(int argc, char **argv)
{
    pthread_t threads[2];
    n = atoi(argv[1]);
    if (argc > 3 && rename(argv[3], argv[0]) != 0)
        return 1;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    if (argc == 3)
        pthread_exit(NULL);
    sem_wait(&done);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
