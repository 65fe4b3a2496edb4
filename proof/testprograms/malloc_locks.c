// A program with an allocator of its own that is protected by a pthread mutex: an interposer that allocates while it locks,
// or on its way to its first lock, never comes back.
#include "check.h"

#define ARENA (64UL << 20)
#define N_CLASSES 28
#define N_THREADS 4

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char arena[ARENA] __attribute__((aligned(16)));
static size_t used;
static long n_calls;
static __thread int depth;

// Freed blocks by the power of two of their size, which stands in the 16 bytes before each block.
struct block {
    struct block *next;
};

static struct block *free_blocks[N_CLASSES];

static void take(void)
{
    if (depth++ > 0)
        FAIL("the allocator was entered by itself: a lock allocates");
    OK(pthread_mutex_lock(&mutex));
    n_calls++;
}

static void give(void)
{
    OK(pthread_mutex_unlock(&mutex));
    depth--;
}

static int class_of(size_t size)
{
    int class = 5;
    while (((size_t)1 << class) < size + 16)
        class++;
    return class;
}

// Not by the names of the standard: compilers make one of those out of others, as calloc of malloc and memset.
__attribute__((noinline)) static void *allocate(size_t size)
{
    if (size > ARENA / 4)
        return NULL;
    int class = class_of(size);
    take();
    char *found = (char *)free_blocks[class];
    if (found) {
        free_blocks[class] = free_blocks[class]->next;
    } else if (used + ((size_t)1 << class) <= ARENA) {
        found = arena + used + 16;
        used += (size_t)1 << class;
        *(long *)(void *)(found - 16) = class;
    }
    give();
    if (!found)
        errno = ENOMEM;
    return found;
}

__attribute__((noinline)) static void give_back(void *memory)
{
    if (!memory)
        return;
    long class = *(long *)(void *)((char *)memory - 16);
    take();
    struct block *block = memory;
    block->next = free_blocks[class];
    free_blocks[class] = block;
    give();
}

void *malloc(size_t size)
{
    return allocate(size);
}

void free(void *memory)
{
    give_back(memory);
}

void *calloc(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    void *memory = allocate(bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void *realloc(void *memory, size_t size)
{
    void *next = allocate(size);
    if (memory && next) {
        size_t room = ((size_t)1 << *(long *)(void *)((char *)memory - 16)) - 16;
        memcpy(next, memory, room < size ? room : size);
        give_back(memory);
    }
    return next;
}

void *memalign(size_t alignment, size_t size)
{
    if (alignment <= 16)
        return allocate(size);
    // Never freed to the right class: the number before it says the smallest one.
    char *memory = allocate(size + alignment + 16);
    if (!memory)
        return NULL;
    char *aligned = (char *)(((uintptr_t)memory + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1));
    *(long *)(void *)(aligned - 16) = 5;
    return aligned;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}

static void *churn(void *argument)
{
    uint64_t seed = 1 + (uint64_t)(long)argument;
    unsigned char *kept[32] = {0};
    for (int round = 0; round < 20000; round++) {
        unsigned which = chance(&seed) % 32;
        unsigned char mark = (unsigned char)(which + 32 * (unsigned)(long)argument);
        if (kept[which])
            CHECK(kept[which][0] == mark && kept[which][23] == mark);
        free(kept[which]);
        kept[which] = malloc(24 + chance(&seed) % 500);
        CHECK(kept[which]);
        kept[which][0] = kept[which][23] = mark;
    }
    for (int i = 0; i < 32; i++)
        free(kept[i]);
    return NULL;
}

static int waiter_id;
static sem_t is_held;

static void *allocate_once(void *argument)
{
    wait_for(&is_held);
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    free(malloc(24));
    return argument;
}

int main(void)
{
    watchdog();
    doing = "an allocator whose lock is held";
    pthread_t waiter = start(allocate_once, NULL);
    take();
    sem_post(&is_held);
    until_asleep(&waiter_id);
    give();
    join_soon(waiter, doing);
    doing = "an allocator that locks";
    for (int round = 0; round < 3; round++) {
        pthread_t threads[N_THREADS];
        for (long i = 0; i < N_THREADS; i++)
            threads[i] = start(churn, (void *)i);
        for (int i = 0; i < N_THREADS; i++)
            join_soon(threads[i], doing);
    }
    // stdio, getenv's kin and the like use it too.
    char text[64];
    FILE *file = fmemopen(text, sizeof text, "w");
    CHECK(file && fprintf(file, "%ld", n_calls) > 0 && fclose(file) == 0);
    CHECK(n_calls > 3L * N_THREADS * 20000);
    return 0;
}
