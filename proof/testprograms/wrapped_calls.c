// A program may define functions of the C library itself, as tracers of files, wrappers of the heap and faked clocks do, and lock
// a mutex in them. Whoever stands in for its mutexes must not call them while it prepares itself or is in the middle of a lock.
#include "check.h"
#include <dlfcn.h>
#include <link.h>

static pthread_mutex_t wrapper = PTHREAD_MUTEX_INITIALIZER;
static int n_calls;

// Inside each function: what it answers is computed while the mutex is held.
#define WRAPPED(answer)                                                                                                \
    OK(pthread_mutex_lock(&wrapper));                                                                                  \
    n_calls++;                                                                                                         \
    long result = (long)(answer);                                                                                      \
    OK(pthread_mutex_unlock(&wrapper))

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int mode = va_arg(list, int);
    va_end(list);
    WRAPPED(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
    return (int)result;
}

int open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int mode = va_arg(list, int);
    va_end(list);
    return open(path, flags, mode);
}

int close(int file)
{
    WRAPPED(syscall(SYS_close, file));
    return (int)result;
}

ssize_t readlink(const char *path, char *text, size_t length)
{
    WRAPPED(syscall(SYS_readlink, path, text, length));
    return result;
}

void *mmap(void *place, size_t length, int protection, int flags, int file, off_t offset)
{
    WRAPPED(syscall(SYS_mmap, place, length, protection, flags, file, offset));
    return (void *)result;
}

void *mmap64(void *place, size_t length, int protection, int flags, int file, off_t offset)
{
    return mmap(place, length, protection, flags, file, offset);
}

int munmap(void *place, size_t length)
{
    WRAPPED(syscall(SYS_munmap, place, length));
    return (int)result;
}

int madvise(void *place, size_t length, int advice)
{
    WRAPPED(syscall(SYS_madvise, place, length, advice));
    return (int)result;
}

int ftruncate(int file, off_t length)
{
    WRAPPED(syscall(SYS_ftruncate, file, length));
    return (int)result;
}

int unlink(const char *path)
{
    WRAPPED(syscall(SYS_unlink, path));
    return (int)result;
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
    WRAPPED(syscall(SYS_clock_gettime, clock, at));
    return (int)result;
}

int sched_yield(void)
{
    WRAPPED(syscall(SYS_sched_yield));
    return (int)result;
}

pid_t gettid(void)
{
    WRAPPED(syscall(SYS_gettid));
    return (pid_t)result;
}

pid_t getpid(void)
{
    WRAPPED(syscall(SYS_getpid));
    return (pid_t)result;
}

int sched_getcpu(void)
{
    unsigned cpu = 0;
    WRAPPED(syscall(SYS_getcpu, &cpu, NULL, NULL));
    return result == 0 ? (int)cpu : -1;
}

// The loader is asked for what is loaded, and calls back.
int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *data)
{
    static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    if (!real)
        real = (int (*)(int (*)(struct dl_phdr_info *, size_t, void *), void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
    WRAPPED(real(each, data));
    return (int)result;
}

extern char **environ;

char *getenv(const char *name)
{
    size_t length = strlen(name);
    char *found = NULL;
    for (char **at = environ; at && *at && !found; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            found = *at + length + 1;
    WRAPPED(found);
    return (char *)result;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long counter;

static void *work(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        OK(pthread_mutex_lock(&mutex));
        long before = counter;
        if (i % 64 == 0)
            sched_yield();
        counter = before + 1;
        if (i % 128 == 0)
            OK(pthread_cond_broadcast(&changed));
        if (i % 512 == 0) {
            struct timespec soon = in_ns(CLOCK_REALTIME, MS / 10);
            int code = pthread_cond_timedwait(&changed, &mutex, &soon);
            CHECK(code == 0 || code == ETIMEDOUT);
        }
        OK(pthread_mutex_unlock(&mutex));
    }
    return unused;
}

static void work_in_threads(void)
{
    pthread_t threads[4];
    counter = 0;
    for (int i = 0; i < 4; i++)
        threads[i] = start(work, NULL);
    for (int i = 0; i < 4; i++)
        join(threads[i]);
    CHECK(counter == 4 * 20000);
}

int main(void)
{
    watchdog();
    doing = "threads";
    work_in_threads();
    doing = "a child";
    pid_t child = fork();
    if (child == 0) {
        watchdog();
        work_in_threads();
        _exit(0);
    }
    child_is_well(child, "a child with threads");
    doing = "the mutex of the wrappers";
    OK(pthread_mutex_trylock(&wrapper));
    CHECK(n_calls > 0);
    return 0;
}
