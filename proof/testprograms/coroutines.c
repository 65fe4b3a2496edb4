// Locks on stacks of coroutines: small ones, some close to each other with closed pages between them, on the first thread
// and on others, one where a larger one was; and in the child of a thread whose own stack is small.
#include "check.h"
#include <ucontext.h>

#define PAGE 4096
#define SMALL (4 * PAGE)
#define LARGE (256 * PAGE)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread ucontext_t back, coroutine;

static void work(void)
{
    for (int i = 0; i < 10000; i++) {
        OK(pthread_mutex_lock(&mutex));
        OK(pthread_mutex_unlock(&mutex));
    }
}

static void work_on(char *stack, size_t size)
{
    CHECK(getcontext(&coroutine) == 0);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = size;
    coroutine.uc_link = &back;
    makecontext(&coroutine, work, 0);
    CHECK(swapcontext(&back, &coroutine) == 0);
}

static char *map(size_t size)
{
    char *place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(place != MAP_FAILED);
    return place;
}

static void *all(void *argument)
{
    doing = "a pool of small stacks";
    enum { N = 16 };
    char *pool = map(N * (PAGE + SMALL));
    for (int i = 0; i < N; i++)
        CHECK(mprotect(pool + i * (PAGE + SMALL), PAGE, PROT_NONE) == 0);
    for (int i = 0; i < N; i++)
        work_on(pool + i * (PAGE + SMALL) + PAGE, SMALL);
    doing = "a small stack where a large one was";
    char *large = map(LARGE);
    work_on(large, LARGE);
    CHECK(mprotect(large, LARGE - SMALL, PROT_NONE) == 0);
    work_on(large + LARGE - SMALL, SMALL);
    return argument;
}

static void *fork_here(void *argument)
{
    doing = "the child of a thread with a small stack";
    pid_t child = fork();
    if (child == 0) {
        work();
        _exit(0);
    }
    child_is_well(child, doing);
    return argument;
}

int main(void)
{
    watchdog();
    all(NULL);
    join(start(all, NULL));
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    OK(pthread_attr_setstacksize(&attr, SMALL));
    pthread_t thread;
    OK(pthread_create(&thread, &attr, fork_here, NULL));
    join(thread);
    return 0;
}
