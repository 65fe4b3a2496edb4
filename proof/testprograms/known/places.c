/* Writes addresses of its code and data. Given a library, it loads that late. */
#include <dlfcn.h>
#include <stdio.h>

struct guard {
    int word[4];
    int more[6];
};

static struct guard guards[3];
int shared = 1;

__attribute__((noinline)) void *where(void) { return __builtin_return_address(0); }

static inline __attribute__((always_inline)) void *inner(void) {
    return where(); /* mark: inner */
}

static inline __attribute__((always_inline)) void *middle(void) {
    return inner(); /* mark: middle */
}

__attribute__((noinline)) void *outer(void) {
    void *address = middle(); /* mark: outer */
    __asm__ volatile("" ::: "memory");
    return address;
}

static __attribute__((noinline)) void *hidden(void) {
    void *address = where(); /* mark: hidden */
    __asm__ volatile("nop" ::: "memory"); /* or gcc finds that it is the same as outer */
    return address;
}

static void *caller;

static __attribute__((noinline)) void *jumped_to(void) {
    caller = __builtin_return_address(0);
    void *address = where();
    __asm__ volatile("nop; nop" ::: "memory");
    return address;
}

__attribute__((noinline)) void *jumping(void) {
    __asm__ volatile("" ::: "memory");
    return jumped_to(); /* a jump, if it is optimised */
}

int main(int n, char **arguments) {
    static struct guard local;
    __asm__ volatile("" ::"r"(&guards), "r"(&local) : "memory");
    printf("outer %p\nhidden %p\n", outer(), hidden());
    printf("guards %p\nmore %p\nbehind %p\n", (void *)guards, (void *)guards[1].more, (void *)(guards + 3));
    printf("shared %p\nlocal %p\n", (void *)&shared, (void *)&local);
    void *jumped = jumping();
    printf("jumped %p\njumper %p\n", jumped, caller);
    void *called = jumped_to();
    printf("called %p\ncaller %p\n", called, caller);
    int on_stack;
    printf("on_stack %p\n", (void *)&on_stack);
    if (n > 1) {
        void *library = dlopen(arguments[1], RTLD_NOW);
        void *(*late)(void) = (void *(*)(void))dlsym(library, "late");
        printf("late %p\nlate_guard %p\n", late(), dlsym(library, "late_guard"));
    }
    FILE *maps = fopen("/proc/self/maps", "r");
    for (int byte; (byte = fgetc(maps)) != EOF;)
        putchar(byte);
    return 0;
}
