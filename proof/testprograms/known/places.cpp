// As places.c, with what C++ adds to names.
#include <cstdio>
#include <mutex>
#include <vector>

__attribute__((noinline)) void *where() { return __builtin_return_address(0); }

namespace space {

std::mutex guard;

template <typename T> struct Box {
    static std::mutex lock;

    [[gnu::always_inline]] inline void *enter(T) {
        return where(); // mark: enter
    }

    [[gnu::noinline]] void *visit(T value) {
        void *address = enter(value); // mark: visit
        asm volatile("" ::: "memory");
        return address;
    }
};

template <typename T> std::mutex Box<T>::lock;

namespace {

std::mutex own;

[[gnu::noinline]] void *secret(int) {
    void *address = where(); // mark: secret
    asm volatile("" ::: "memory");
    return address;
}

} // namespace
} // namespace space

int main() {
    asm volatile("" ::"r"(&space::own), "r"(&space::guard) : "memory");
    space::Box<std::vector<int>> box;
    std::printf("visit %p\nsecret %p\n", box.visit({}), space::secret(1));
    auto lambda = [](int) __attribute__((noinline)) {
        void *address = where(); // mark: lambda
        asm volatile("" ::: "memory");
        return address;
    };
    std::printf("lambda %p\n", lambda(1));
    std::printf("guard %p\nlock %p\nown %p\n", (void *)&space::guard, (void *)&space::Box<int>::lock, (void *)&space::own);
    std::FILE *maps = std::fopen("/proc/self/maps", "r");
    for (int byte; (byte = std::fgetc(maps)) != EOF;)
        std::putchar(byte);
}
