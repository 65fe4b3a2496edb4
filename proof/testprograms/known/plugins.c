/* Loads each plugin, has two threads run it, and unloads it before the next: WAY FILE FILE... With `outside`, the plugin's lock
   is waited for by code of this program alone. Ends with 3 if a plugin did not come to the place of the one before it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void (*run)(void);
static pthread_mutex_t *lock;

static void *inside(void *nothing) {
    run();
    return nothing;
}

static void *outside(void *nothing) {
    struct timespec ms4 = {0, 4000000};
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(lock);
        nanosleep(&ms4, 0);
        pthread_mutex_unlock(lock);
    }
    return nothing;
}

int main(int n_words, char **words) {
    void *first = 0;
    for (int i = 2; i < n_words; i++) {
        void *library = dlopen(words[i], RTLD_NOW);
        if (!library) return puts(dlerror()), 2;
        *(void **)&run = dlsym(library, "plugin_run");
        lock = ((pthread_mutex_t * (*)(void)) dlsym(library, "plugin_lock"))();
        if (!first) first = (void *)run;
        if (first != (void *)run) return 3;
        pthread_t threads[2];
        for (int j = 0; j < 2; j++) pthread_create(&threads[j], 0, strcmp(words[1], "outside") ? inside : outside, 0);
        for (int j = 0; j < 2; j++) pthread_join(threads[j], 0);
        dlclose(library);
    }
    return 0;
}
