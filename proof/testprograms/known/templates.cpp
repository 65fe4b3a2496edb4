// Locks taken in templates, in functions that the compiler puts into their callers, and in a lambda: all of them are in the
// stacks, with their whole names.
#include "known.h"

namespace shop {

template <class T> struct Guarded {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct known *known = nullptr;
    const char *name = nullptr;
    T value{};

    __attribute__((always_inline)) void put_inside(T more)
    {
        TAKE_AS(known, name, pthread_mutex_lock(&mutex));
        value += more;
        GIVE(known, pthread_mutex_unlock(&mutex));
    }

    APART void put(T more)
    {
        put_inside(more);
        __asm__ volatile("");
    }
};

Guarded<int> whole;
Guarded<double> broken;

template <class Call> APART void call_it(Call call)
{
    call();
    __asm__ volatile("");
}

APART void *waits_for_the_whole(void *id)
{
    comes(static_cast<int *>(id));
    whole.put(1);
    __asm__ volatile("");
    return nullptr;
}

APART void *waits_for_the_broken(void *id)
{
    call_it([id] {
        comes(static_cast<int *>(id));
        broken.put(0.5);
    });
    __asm__ volatile("");
    return nullptr;
}

template <class T> APART void holds(Guarded<T> &guarded, const char *name, void *(*waits)(void *))
{
    pthread_t thread;
    int id;
    TAKE_AS(guarded.known, name, pthread_mutex_lock(&guarded.mutex));
    start_waiters(&thread, &id, 1, waits);
    sleep_ns(20 * MS);
    GIVE(guarded.known, pthread_mutex_unlock(&guarded.mutex));
    join_all(&thread, 1);
}

} // namespace shop

using namespace shop;

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    whole.known = KNOWN_MUTEX("shop::whole.mutex", &whole.mutex);
    whole.name = "Guarded<int>::put_inside";
    broken.known = KNOWN_MUTEX("shop::broken.mutex", &broken.mutex);
    broken.name = "Guarded<double>::put_inside";
    for (int round = 0; round < 3; round++) {
        holds(whole, "holds<int>", waits_for_the_whole);
        holds(broken, "holds<double>", waits_for_the_broken);
    }
    known_write(arguments[1], "exit");
    return 0;
}
