/* A program that waits for another time with the library than without, so that it is known which is faster. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int main(int argc, char **argv)
{
    const char *preloaded = getenv("LD_PRELOAD");
    int has_ondeck = preloaded && strstr(preloaded, "ondeck");
    pthread_mutex_lock(&mutex);
    usleep(1000 * atoi(argv[1 + has_ondeck * (argc > 2)]));
    pthread_mutex_unlock(&mutex);
    puts("done");
    return 0;
}
