// What the tests in C++ have in common.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <cstdlib>
#include <iostream>

// Ends the process unless the condition holds.
#define EXPECT(condition)                                                                       \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            std::cerr << __FILE__ << ':' << __LINE__ << ": " << #condition << " is false\n";    \
            std::exit(1);                                                                       \
        }                                                                                       \
    } while (false)

#endif
