int late_guard[4] = {1};

static __attribute__((noinline)) void *where(void) { return __builtin_return_address(0); }

static inline __attribute__((always_inline)) void *inlined(void) {
    return where(); /* mark: inlined */
}

void *late(void) {
    void *address = inlined(); /* mark: late */
    __asm__ volatile("" ::: "memory");
    return address;
}
