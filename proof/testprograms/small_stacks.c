// Waits on small stacks: a thread of PTHREAD_STACK_MIN, a signal handler on a stack of its own; and how much of a stack each
// wait takes at most. Buffers, and files that are read, in the way of a contended lock are what needs more.
#include "check.h"

// The C library's own take 3 KiB the first time, nearly all of it for the dynamic linker that finds the function.
#define MOST 8192
#define STACK (64 * 1024)
#define LATE (20 * MS)
#define PAINT 0xa5

// The last one is not notified, and its time is over while the mutex is locked.
enum call { LOCK, TIMEDLOCK, CLOCKLOCK, WAIT, TIMEDWAIT, CLOCKWAIT, LATE_WAIT, N_CALLS };

static const char *const names[] = {"lock", "timedlock", "clocklock", "cond_wait", "cond_timedwait", "cond_clockwait", "cond_timedwait in vain"};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiter_id;
// What the waiter waits with next.
static enum call next;
static volatile int is_set;
static struct timespec end;

__attribute__((noinline)) static void call_next(void)
{
    int code = 0;
    switch (next) {
    case LOCK: code = pthread_mutex_lock(&mutex); break;
    case TIMEDLOCK: code = pthread_mutex_timedlock(&mutex, &end); break;
    case CLOCKLOCK: code = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &end); break;
    case WAIT: code = pthread_cond_wait(&cond, &mutex); break;
    case TIMEDWAIT: code = pthread_cond_timedwait(&cond, &mutex, &end); break;
    case CLOCKWAIT: code = pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &end); break;
    default:
        code = pthread_cond_timedwait(&cond, &mutex, &end);
        if (code == ETIMEDOUT) {
            is_set = 1;
            code = 0;
        }
    }
    OK(code);
}

// One wait, and the unlock after it.
static void wait_once(void)
{
    if (next >= WAIT)
        OK(pthread_mutex_lock(&mutex));
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    do
        call_next();
    while (next >= WAIT && !is_set);
    OK(pthread_mutex_unlock(&mutex));
}

static void prepare(enum call call)
{
    doing = names[call];
    next = call;
    is_set = 0;
    waiter_id = 0;
    end = in_ns(call == CLOCKLOCK || call == CLOCKWAIT ? CLOCK_MONOTONIC : CLOCK_REALTIME, call == LATE_WAIT ? LATE : LATEST);
    if (call < WAIT)
        OK(pthread_mutex_lock(&mutex));
}

static void end_late_wait(void)
{
    while (__atomic_load_n(&waiter_id, __ATOMIC_ACQUIRE) == 0)
        sleep_ns(MS / 10);
    // Free once the other one waits.
    OK(pthread_mutex_lock(&mutex));
    sleep_ns(2 * LATE);
    OK(pthread_mutex_unlock(&mutex));
}

static void end_wait(void)
{
    if (next == LATE_WAIT) {
        end_late_wait();
        return;
    }
    until_asleep(&waiter_id);
    if (next >= WAIT) {
        OK(pthread_mutex_lock(&mutex));
        is_set = 1;
        OK(pthread_cond_signal(&cond));
        // It has to wait for the mutex too.
        sleep_ns(MS);
    }
    OK(pthread_mutex_unlock(&mutex));
}

static void *wait_once_in_thread(void *argument)
{
    (void)argument;
    wait_once();
    return NULL;
}

static void thread_of_least_stack(enum call call)
{
    pthread_attr_t attr;
    pthread_t thread;
    prepare(call);
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN));
    OK(pthread_create(&thread, &attr, wait_once_in_thread, NULL));
    OK(pthread_attr_destroy(&attr));
    end_wait();
    join_soon(thread, doing);
}

// -- On a stack for signals --------------------------------------------------------------------------------------------

static void handle(int signal_number)
{
    (void)signal_number;
    wait_once();
}

// Room for the frame that the kernel makes, which depends on the machine, and for what a wait may take; below, nothing.
static void *wait_in_handler(void *argument)
{
    (void)argument;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + MOST;
    size = (size + page - 1) / page * page;
    char *memory = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory, page, PROT_NONE) == 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = size}, none = {.ss_flags = SS_DISABLE};
    CHECK(sigaltstack(&stack, NULL) == 0);
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
    CHECK(sigaltstack(&none, NULL) == 0);
    munmap(memory, page + size);
    return NULL;
}

static void handler(enum call call)
{
    prepare(call);
    pthread_t thread = start(wait_in_handler, NULL);
    end_wait();
    join_soon(thread, doing);
}

// -- How much ----------------------------------------------------------------------------------------------------------

static unsigned char *stack;
static size_t used;

// Paints what is below its own frame, and looks afterwards how far down the paint is gone.
static void *wait_on_paint(void *argument)
{
    (void)argument;
    unsigned char here;
    unsigned char *volatile top = &here;
    memset(stack, PAINT, (size_t)(top - stack) - 512);
    wait_once();
    size_t i = 0;
    while (stack[i] == PAINT)
        i++;
    used = (size_t)(top - stack) - i;
    return NULL;
}

static void takes_little(enum call call)
{
    pthread_attr_t attr;
    pthread_t thread;
    prepare(call);
    stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstack(&attr, stack, STACK));
    OK(pthread_create(&thread, &attr, wait_on_paint, NULL));
    OK(pthread_attr_destroy(&attr));
    end_wait();
    join_soon(thread, doing);
    if (used >= MOST)
        FAIL("%s takes %zu bytes of the stack", names[call], used);
    munmap(stack, STACK);
}

int main(void)
{
    watchdog();
    // First of all, since the first use may take more.
    for (enum call call = LOCK; call < N_CALLS; call++)
        takes_little(call);
    for (enum call call = LOCK; call < N_CALLS; call++) {
        thread_of_least_stack(call);
        handler(call);
    }
    return 0;
}
