// Runs until it is told to end: `rebuild` sleeps for 2 ms with `table`, and `look_up` waits for it. Another lock is always free.
// With `forks`, each thread forks meanwhile, and the children lock too. With `sleeps` nobody locks, with `seldom` somebody each
// second. With `child` all this is in a child that has not locked yet when it is told to end. With `leaves` the first thread ends
// before the others. With `becomes` it becomes the same program, without arguments, when it is told to end for the first time. With
// `workers` two children do all this, and their parent waits for them. With `long`, `rebuild` sleeps for 400 ms.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER, free_lock = PTHREAD_MUTEX_INITIALIZER;
static long n_entries;
static int forks, sleeps, seldom, lasts_us = 2000;

__attribute__((noinline)) static void rebuild(void)
{
    pthread_mutex_lock(&table);
    usleep(lasts_us);
    n_entries++;
    pthread_mutex_unlock(&table);
}

__attribute__((noinline)) static void look_up(void)
{
    pthread_mutex_lock(&table);
    n_entries++;
    pthread_mutex_unlock(&table);
}

static void child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 1000; i++) {
            pthread_mutex_lock(&free_lock);
            pthread_mutex_unlock(&free_lock);
        }
        _exit(0);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0)
        _exit(9);
}

static void *sleeper(void *nothing)
{
    for (;;) {
        look_up();
        sleep(1);
    }
    return nothing;
}

static void *builder(void *nothing)
{
    for (;;) {
        rebuild();
        usleep(1000);
    }
    return nothing;
}

static void *reader(void *nothing)
{
    for (;;) {
        look_up();
        for (int i = 0; i < 10; i++) {
            pthread_mutex_lock(&free_lock);
            pthread_mutex_unlock(&free_lock);
        }
        if (forks)
            child();
        usleep(100);
    }
    return nothing;
}

static void *finish(void *nothing)
{
    puts("begun");
    fflush(stdout);
    getchar();
    pthread_mutex_lock(&table);
    printf("%s\n", n_entries > 0 || sleeps ? "ended" : "nothing done");
    exit(0);
    return nothing;
}

// Two that live until their parent has told them to end.
static int parent_of_workers(void)
{
    int ends[2], status = 0;
    pid_t pids[2];
    if (pipe(ends) != 0)
        return 8;
    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            pthread_t thread;
            char byte;
            close(ends[1]);
            for (int j = 0; j < 3; j++)
                pthread_create(&thread, NULL, j == 0 ? builder : reader, NULL);
            _exit(read(ends[0], &byte, 1) != 0);
        }
    }
    printf("begun\n");
    fflush(stdout);
    getchar();
    close(ends[1]);
    for (int i = 0; i < 2; i++)
        if (waitpid(pids[i], &status, 0) != pids[i] || status != 0)
            return 9;
    puts("ended");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "workers") == 0)
        return parent_of_workers();
    forks = argc > 1 && strcmp(argv[1], "forks") == 0;
    sleeps = argc > 1 && strcmp(argv[1], "sleeps") == 0;
    if (argc > 1 && strcmp(argv[1], "long") == 0)
        lasts_us = 400000;
    seldom = argc > 1 && strcmp(argv[1], "seldom") == 0;
    int status = 0;
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        pthread_mutex_lock(&table);
        pthread_mutex_unlock(&table);
        pid_t pid = fork();
        if (pid != 0)
            return waitpid(pid, &status, 0) != pid || status != 0;
        sleeps = 1;
    }
    pthread_t thread;
    if (seldom)
        pthread_create(&thread, NULL, sleeper, NULL);
    for (int i = 0; i < 3 && !sleeps && !seldom; i++)
        pthread_create(&thread, NULL, i == 0 ? builder : reader, NULL);
    if (argc > 1 && strcmp(argv[1], "leaves") == 0) {
        pthread_create(&thread, NULL, finish, NULL);
        pthread_exit(NULL);
    }
    if (argc > 1 && strcmp(argv[1], "becomes") == 0) {
        puts("begun");
        fflush(stdout);
        getchar();
        execl(argv[0], argv[0], (char *)0);
        return 7;
    }
    finish(NULL);
}
