/* SPDX-License-Identifier: PostgreSQL */
/*
 * Definitions of functions by what lane i of the result is: the intrinsics that CBMC is told of, immintrin.h and arm_neon.h.
 * a and b are the operands as lanes, n is an immediate.
 */
#ifndef PGQUERN_LANES_H
#define PGQUERN_LANES_H

#include <stddef.h>
#include <stdint.h>

/* type: of the result, whose lanes are `lanes`. */
#define EACH_LANE(type, lanes, value)                                                                        \
    lanes r = {0};                                                                                           \
                                                                                                             \
    for (size_t i = 0; i < sizeof r / sizeof r[0]; i++)                                                      \
        r[i] = (value);                                                                                      \
    return (type)r
#define UNARY_TO(name, type, lanes, from, fromlanes, value)                                                  \
    static inline type name(from a_)                                                                         \
    {                                                                                                        \
        fromlanes a = (fromlanes)a_;                                                                         \
        EACH_LANE(type, lanes, value);                                                                       \
    }
#define COUNTED_TO(name, type, lanes, from, fromlanes, value)                                                \
    static inline type name(from a_, int n)                                                                  \
    {                                                                                                        \
        fromlanes a = (fromlanes)a_;                                                                         \
        EACH_LANE(type, lanes, value);                                                                       \
    }
#define BINARY_TO(name, type, lanes, from, fromlanes, value)                                                 \
    static inline type name(from a_, from b_)                                                                \
    {                                                                                                        \
        fromlanes a = (fromlanes)a_, b = (fromlanes)b_;                                                      \
        EACH_LANE(type, lanes, value);                                                                       \
    }
#define COUNTED(name, type, lanes, value) COUNTED_TO(name, type, lanes, type, lanes, value)
#define BINARY(name, type, lanes, value)  BINARY_TO(name, type, lanes, type, lanes, value)
#define BINARY_COUNTED(name, type, lanes, value)                                                             \
    static inline type name(type a_, type b_, int n)                                                         \
    {                                                                                                        \
        lanes a = (lanes)a_, b = (lanes)b_;                                                                  \
        EACH_LANE(type, lanes, value);                                                                       \
    }
#define WHOLE(name, type, value)                                                                             \
    static inline type name(type a, type b)                                                                  \
    {                                                                                                        \
        return value;                                                                                        \
    }
#define ALL_LANES(name, type, lanes, number)                                                                 \
    static inline type name(number a)                                                                        \
    {                                                                                                        \
        EACH_LANE(type, lanes, a);                                                                           \
    }

#endif
