/* Two threads sleep as often as the first argument says, in turn, in the library that the second names; then once more, after the
   third has taken the library's place. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int n;
static void *work(void *hold)
{
    for (int i = 0; i < n; i++)
        ((void (*)(void))hold)();
    return hold;
}
static void both(void *hold)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, hold);
    work(hold);
    pthread_join(thread, NULL);
}
int main(int argc, char **argv)
{
    void *library = dlopen(argv[2], RTLD_NOW);
    n = atoi(argv[1]);
    if (library == NULL)
        return 1;
    both(dlsym(library, "hold"));
    sleep(1);
    if (argc > 3 && rename(argv[3], argv[2]) != 0)
        return 1;
    both(dlsym(library, "hold"));
    return 0;
}
