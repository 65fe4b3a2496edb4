/* Opens the library that the first argument names, and uses it before and after the second takes its place. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *work(void *hold)
{
    for (int i = 0; i < 40; i++)
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
    void *library = dlopen(argv[1], RTLD_NOW);
    if (library == NULL)
        return 1;
    both(dlsym(library, "hold"));
    sleep(1);
    if (argc > 2 && rename(argv[2], argv[1]) != 0)
        return 1;
    both(dlsym(library, "hold"));
    return 0;
}
