// An allocator that locks, in threads that are older than libraries with thread-locals: a thread's table of thread-locals
// grows when it next asks for one that is not at a fixed place, and that is allocated. A lock that has such thread-locals
// enters the allocator that has called it.
#include "check.h"
#include <dlfcn.h>
#include <fcntl.h>

// A table has room for some more at first.
#define N_LIBRARIES 40
#define ARENA (32UL << 20)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char arena[ARENA] __attribute__((aligned(16)));
static size_t used;
// At a fixed place, as all of a program.
static __thread const char *inside;

#define WITHIN(call)                                                                                                   \
    ({                                                                                                                 \
        inside = #call;                                                                                                \
        int within_code = (call);                                                                                      \
        inside = NULL;                                                                                                 \
        within_code;                                                                                                   \
    })

// The size stands before each block. Nothing is ever freed.
__attribute__((noinline)) static void *allocate(size_t alignment, size_t size)
{
    if (inside)
        FAIL("%s allocates", inside);
    OK(WITHIN(pthread_mutex_lock(&mutex)));
    size_t begin = (used + 16 + alignment - 1) & ~(alignment - 1);
    if (size > ARENA || begin + size > ARENA)
        FAIL("the arena is full");
    used = begin + size;
    memcpy(arena + begin - sizeof size, &size, sizeof size);
    OK(WITHIN(pthread_mutex_unlock(&mutex)));
    return arena + begin;
}

void *malloc(size_t size)
{
    return allocate(16, size);
}

void free(void *memory)
{
    (void)memory;
    if (inside)
        FAIL("%s frees", inside);
}

void *calloc(size_t n, size_t size)
{
    // Never used before, so zeros.
    return allocate(16, n * size);
}

void *realloc(void *memory, size_t size)
{
    void *next = allocate(16, size);
    if (memory) {
        size_t room;
        memcpy(&room, (char *)memory - sizeof room, sizeof room);
        memcpy(next, memory, room < size ? room : size);
    }
    return next;
}

void *memalign(size_t alignment, size_t size)
{
    return allocate(alignment < 16 ? 16 : alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = memalign(alignment, size);
    return 0;
}

// A library of its own for the dynamic linker each time: the same bytes in another file.
static void open_copies(int n)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 30);
    CHECK(length > 0);
    path[length] = 0;
    strcpy(strrchr(path, '/'), "/tls_in_malloc_lib.so");
    int original = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(original >= 0);
    for (int i = 0; i < n; i++) {
        int copy = memfd_create("tls_in_malloc", MFD_CLOEXEC);
        CHECK(copy >= 0);
        char bytes[4096];
        ssize_t n_read;
        for (off_t at = 0; (n_read = pread(original, bytes, sizeof bytes, at)) > 0; at += n_read)
            CHECK(write(copy, bytes, (size_t)n_read) == n_read);
        snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
        if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
            FAIL("%s", dlerror());
        // Stays open: its number is the name by which the linker would know the library again.
    }
    close(original);
}

// Has locked and waited before, or has not.
struct one {
    int id, has_waited, may_go, id_at_lock;
};

static void wait_shortly(void)
{
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec end = in_ns(CLOCK_MONOTONIC, MS);
    OK(WITHIN(pthread_mutex_lock(&mutex)));
    GIVES(WITHIN(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &end)), ETIMEDOUT);
    OK(WITHIN(pthread_cond_signal(&cond)));
    OK(WITHIN(pthread_mutex_unlock(&mutex)));
    OK(pthread_cond_destroy(&cond));
}

static void *allocate_later(void *argument)
{
    struct one *one = argument;
    if (one->has_waited)
        wait_shortly();
    __atomic_store_n(&one->id, thread_id(), __ATOMIC_RELEASE);
    while (!__atomic_load_n(&one->may_go, __ATOMIC_ACQUIRE))
        sleep_ns(MS / 10);
    __atomic_store_n(&one->id_at_lock, thread_id(), __ATOMIC_RELEASE);
    // Held by another thread now.
    CHECK(malloc(10));
    wait_shortly();
    return NULL;
}

int main(void)
{
    watchdog();
    doing = "an allocator that locks, in threads older than thread-locals";
    static struct one ones[2] = {{.has_waited = 0}, {.has_waited = 1}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        threads[i] = start(allocate_later, &ones[i]);
        while (!__atomic_load_n(&ones[i].id, __ATOMIC_ACQUIRE))
            sleep_ns(MS / 10);
    }
    open_copies(N_LIBRARIES);
    OK(WITHIN(pthread_mutex_lock(&mutex)));
    for (int i = 0; i < 2; i++)
        __atomic_store_n(&ones[i].may_go, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        until_asleep(&ones[i].id_at_lock);
    OK(WITHIN(pthread_mutex_unlock(&mutex)));
    for (int i = 0; i < 2; i++)
        join_soon(threads[i], doing);
    return 0;
}
