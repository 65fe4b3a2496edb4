/* A server that uses a lock, and its workers. All live for 4 s. One worker uses no lock. Another one uses a lock after it has lost the
   right to open files; with an argument it is the child of a third one, which uses a lock and has its rights. */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void use(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
int main(int argc, char **argv)
{
    struct rlimit none = {0, 0};
    int status, bad = 0;
    (void)argv;
    use();
    if (fork()) {
        int is_between = argc > 1 && !fork();
        if (is_between)
            use();
        if ((argc == 1 || is_between) && !fork()) {
            if (setrlimit(RLIMIT_NOFILE, &none))
                _exit(1);
            use();
        }
    }
    sleep(4);
    while (wait(&status) > 0)
        bad |= status;
    _exit(bad != 0);
}
