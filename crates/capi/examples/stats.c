/* A thread waits for a mutex, and the statistics tell how often: the text is what a handler of GET /metrics sends.
 *
 * Prints: ondeck_lock_waits_total{lock="cache"} 1
 */
#include <ondeck.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ondeck_mutex_t cache = ONDECK_MUTEX_INIT;

static void *look_up(void *unused) {
    (void)unused;
    ondeck_mutex_lock(&cache);
    ondeck_mutex_unlock(&cache);
    return NULL;
}

/* The whole text, to be freed; NULL without memory. */
static char *metrics(void) {
    size_t room = 0;
    char *text = NULL;
    for (;;) {
        int length = ondeck_stats_prometheus(text, room);
        if (length >= 0 && (size_t)length < room)
            return text;
        free(text);
        room = length < 0 ? 0 : (size_t)length + 4096;
        text = room == 0 ? NULL : malloc(room);
        if (text == NULL)
            return NULL;
    }
}

int main(void) {
    if (ondeck_stats_start() != 0)
        return 1;
    ondeck_name(&cache, "cache");
    ondeck_mutex_lock(&cache);
    pthread_t thread;
    pthread_create(&thread, NULL, look_up, NULL);
    /* Until the other thread sleeps in its wait. */
    char *text = metrics();
    while (text != NULL && strstr(text, "ondeck_lock_waiting_threads{lock=\"cache\"} 1\n") == NULL) {
        free(text);
        text = metrics();
    }
    free(text);
    ondeck_mutex_unlock(&cache);
    pthread_join(thread, NULL);

    text = metrics();
    const char *found = text == NULL ? NULL : strstr(text, "ondeck_lock_waits_total{");
    if (found == NULL)
        return 1;
    printf("%.*s\n", (int)strcspn(found, "\n"), found);
    free(text);
    return 0;
}
