// As released.rs, with the locks of C++.

#include <cstdio>
#include <execinfo.h>
#include <mutex>
#include <pthread.h>
#include <thread>

static thread_local const char *name;
static volatile int n;

// In the place of the C library's.
extern "C" int pthread_mutex_lock(pthread_mutex_t *) noexcept { return 0; }

extern "C" int pthread_mutex_unlock(pthread_mutex_t *) noexcept {
    const char *of = name;
    if (of == nullptr)
        return 0;
    name = nullptr;
    void *stack[40];
    int n_frames = backtrace(stack, 40);
    for (int at = 0; at < n_frames; at++)
        printf("%s.%02d %p\n", of, at, stack[at]);
    return 0;
}

namespace space {

std::mutex one;

class Lock {
public:
    explicit Lock(std::mutex &mutex) : mutex(mutex) { mutex.lock(); }
    ~Lock() { mutex.unlock(); }

private:
    std::mutex &mutex;
};

__attribute__((always_inline)) inline void in_inlined() {
    name = "inlined";
    std::lock_guard<std::mutex> guard(one);
    n = 1;
}

__attribute__((noinline)) void outer_of_inlined() {
    in_inlined();
    n = 1;
}

__attribute__((noinline)) void outer_of_closure() {
    auto in_closure = [](int to) {
        name = "closure";
        std::unique_lock<std::mutex> guard(one);
        n = to;
        guard.unlock();
        n = 1;
    };
    in_closure(n);
    n = 1;
}

template <class T> struct Store {
    T value;

    __attribute__((noinline)) void in_generic(T to) {
        name = "generic";
        {
            std::scoped_lock guard(one);
            value = to;
        }
        n = 1;
    }
};

struct Visit {
    virtual ~Visit() = default;
    virtual void in_trait() = 0;
};

struct Place : Visit {
    __attribute__((noinline)) void in_trait() override {
        name = "trait";
        {
            Lock guard(one);
            n = 2;
        }
        n = 1;
    }
};

} // namespace space

int main() {
    space::outer_of_inlined();
    space::outer_of_closure();
    space::Store<int>().in_generic(4);
    space::Visit *visit = new space::Place;
    visit->in_trait();
    std::thread([] {
        name = "thread";
        {
            std::lock_guard<std::mutex> guard(space::one);
            n = 2;
        }
        n = 1;
    }).join();
    fflush(stdout);
    FILE *maps = fopen("/proc/self/maps", "r");
    for (int c = getc(maps); c != EOF; c = getc(maps))
        putchar(c);
}
