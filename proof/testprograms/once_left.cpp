// An initialisation that is left by an exception has not been done: the next caller does it, be it a thread that waits already or
// one that comes later. By std::call_once, which is pthread_once, by pthread_once itself, and by C11's name. A thread that has left
// one so may end by pthread_exit, which runs the clean-up handlers that are left.
#include "check.h"
#include <mutex>
#include <stdexcept>
#include <threads.h>

namespace {

pthread_once_t plain;
once_flag of_c;
int n_begun, n_done, n_thrown;
int waiter_id;

// The first calls throw, the very first while another thread waits for its end, or none does.
int n_throw;
bool has_waiter;

void initialise()
{
    CHECK(n_done == 0);
    int n_before = __atomic_fetch_add(&n_begun, 1, __ATOMIC_RELAXED);
    if (n_before < n_throw) {
        if (has_waiter && n_before == 0)
            until_asleep(&waiter_id);
        throw std::runtime_error("not yet");
    }
    n_done++;
}

void by_pthread() { pthread_once(&plain, initialise); }
void by_c() { call_once(&of_c, initialise); }

std::once_flag *of_cpp;
void by_cpp() { std::call_once(*of_cpp, initialise); }

void (*const ways[])() = {by_pthread, by_c, by_cpp};

// Writes over what a call that was left may have left on this part of the stack.
__attribute__((noinline)) void scribble()
{
    volatile unsigned char room[16384];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0xa5;
}

void *call(void *way)
{
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    for (bool is_over = false; !is_over;) {
        try {
            ways[(long)way]();
            is_over = true;
        } catch (const std::runtime_error &) {
            __atomic_fetch_add(&n_thrown, 1, __ATOMIC_RELAXED);
        }
    }
    CHECK(n_done == 1);
    scribble();
    pthread_exit(nullptr);
}

void *call_second(void *way)
{
    // The first one is at it.
    while (__atomic_load_n(&n_begun, __ATOMIC_RELAXED) == 0)
        give_way();
    return call(way);
}

} // namespace

int main()
{
    watchdog();
    // Which of two threads does it next is for chance to say.
    for (int round = 0; round < 20; round++) {
        for (long way = 0; way < 3; way++) {
            for (n_throw = 0; n_throw < 3; n_throw++) {
                for (int n_waiters = 0; n_waiters < 2; n_waiters++) {
                    std::once_flag flag;
                    of_cpp = &flag;
                    plain = PTHREAD_ONCE_INIT;
                    of_c = ONCE_FLAG_INIT;
                    n_begun = n_done = n_thrown = waiter_id = 0;
                    has_waiter = n_waiters > 0 && n_throw > 0;
                    pthread_t first = start(call, (void *)way);
                    pthread_t second = n_waiters > 0 ? start(call_second, (void *)way) : first;
                    join_soon(first, "an initialisation that is left");
                    if (n_waiters > 0)
                        join_soon(second, "a wait for an initialisation that is left");
                    CHECK(n_begun == n_throw + 1);
                    CHECK(n_thrown == n_throw);
                }
            }
        }
    }
    return 0;
}
