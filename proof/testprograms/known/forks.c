// A signal handler makes copies of the process by _Fork, as POSIX allows, and each copy goes on where the handler came: often
// inside of the recorder. Says how many copies came to their own end. With an argument there is a second thread, which sleeps.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_COPIES = 100 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int n_forked, is_copy;

static void fork_here(int unused)
{
    (void)unused;
    pid_t pid = _Fork();
    if (pid == 0)
        is_copy = 1;
    else if (pid > 0)
        n_forked++;
}

__attribute__((noinline)) static void count(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static int came_to_its_end(void)
{
    int status;
    return wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

int main(int argc, char **argv)
{
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_t other;
    (void)argv;
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    if (argc > 1)
        pthread_create(&other, NULL, sleep_on, NULL);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    int n_ended = 0;
    for (int n = 0; n < N_COPIES; n++) {
        struct itimerval soon = {{0, 0}, {0, 50 + rand() % 400}};
        setitimer(ITIMER_REAL, &soon, NULL);
        while (n_forked == n && !is_copy)
            count();
        if (is_copy) {
            for (int i = 0; i < 100; i++)
                count();
            _exit(7);
        }
        n_ended += came_to_its_end();
    }
    printf("%d of %d\n", n_ended, N_COPIES);
    return 0;
}
