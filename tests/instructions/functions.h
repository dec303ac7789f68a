/* SPDX-License-Identifier: PostgreSQL */
/* The lines of a list as functions. */
#define FUNCTION static void HERE(const uint8_t *in, uint8_t *out)
#define TAKE(type, name)                                                                                     \
    type name;                                                                                               \
    memcpy(&name, in, sizeof name);                                                                          \
    in += sizeof name
#define GIVE(type, ...)                                                                                      \
    type result = __VA_ARGS__;                                                                               \
    memcpy(out, &result, sizeof result)

#define NONE(R, f)                                                                                           \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        (void)in;                                                                                            \
        GIVE(R, f());                                                                                        \
    }
#define ONE(R, A, f)                                                                                         \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        TAKE(A, a);                                                                                          \
        GIVE(R, f(a));                                                                                       \
    }
#define ONE_OF(R, A, f, immediate)                                                                           \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        TAKE(A, a);                                                                                          \
        GIVE(R, f(a, immediate));                                                                            \
    }
#define ONE_BY(R, A, f, g)                                                                                   \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        TAKE(A, a);                                                                                          \
        GIVE(R, g(f, a));                                                                                    \
    }
#define TWO(R, A, B, f)                                                                                      \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        TAKE(A, a);                                                                                          \
        TAKE(B, b);                                                                                          \
        GIVE(R, f(a, b));                                                                                    \
    }
#define TWO_OF(R, A, B, f, immediate)                                                                        \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        TAKE(A, a);                                                                                          \
        TAKE(B, b);                                                                                          \
        GIVE(R, f(a, b, immediate));                                                                         \
    }
#define THREE(R, A, B, C, f)                                                                                 \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        TAKE(A, a);                                                                                          \
        TAKE(B, b);                                                                                          \
        TAKE(C, c);                                                                                          \
        GIVE(R, f(a, b, c));                                                                                 \
    }
#define THREE_OF(R, A, B, C, f, immediate)                                                                   \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        TAKE(A, a);                                                                                          \
        TAKE(B, b);                                                                                          \
        TAKE(C, c);                                                                                          \
        GIVE(R, f(a, b, c, immediate));                                                                      \
    }
#define FOUR(R, A, B, C, D, f)                                                                               \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        TAKE(A, a);                                                                                          \
        TAKE(B, b);                                                                                          \
        TAKE(C, c);                                                                                          \
        TAKE(D, d);                                                                                          \
        GIVE(R, f(a, b, c, d));                                                                              \
    }
#define FOUR_OF(R, A, B, C, D, f, immediate)                                                                 \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        TAKE(A, a);                                                                                          \
        TAKE(B, b);                                                                                          \
        TAKE(C, c);                                                                                          \
        TAKE(D, d);                                                                                          \
        GIVE(R, f(a, b, c, d, immediate));                                                                   \
    }

/* The edge comes first, then the memory. The result is 0 if a cell was touched that is not there. */
#define IN_WINDOW(n, width)                                                                                  \
    uint8_t edge = in[0], *p = window_open(edge, in + 1, n);                                                 \
    in += 1 + (n);                                                                                           \
    memset(out, 0, 1 + (width))
#define TOUCH(type, ...)                                                                                     \
    if (sigsetjmp(window_fault, 0) != 0)                                                                     \
        return;                                                                                              \
    type result = __VA_ARGS__;                                                                               \
    memcpy(out + 1, &result, sizeof result);                                                                 \
    out[0] = 1
#define CHANGE(n, ...)                                                                                       \
    if (sigsetjmp(window_fault, 0) != 0)                                                                     \
        return;                                                                                              \
    __VA_ARGS__;                                                                                             \
    window_read(edge, out + 1, n);                                                                           \
    out[0] = 1

#define LOADS(R, n, f, ...)                                                                                  \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        IN_WINDOW(n, sizeof(R));                                                                             \
        TOUCH(R, __VA_ARGS__);                                                                               \
    }
#define LOADS_MASKED(R, K, f, ...)                                                                           \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        IN_WINDOW(sizeof(R), sizeof(R));                                                                     \
        TAKE(K, k);                                                                                          \
        TOUCH(R, __VA_ARGS__);                                                                               \
    }
#define STORES(A, f, ...)                                                                                    \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        IN_WINDOW(sizeof(A), sizeof(A));                                                                     \
        TAKE(A, a);                                                                                          \
        CHANGE(sizeof(A), __VA_ARGS__);                                                                      \
    }
#define STORES_MASKED(A, K, f, ...)                                                                          \
    FUNCTION                                                                                                 \
    {                                                                                                        \
        IN_WINDOW(sizeof(A), sizeof(A));                                                                     \
        TAKE(K, k);                                                                                          \
        TAKE(A, a);                                                                                          \
        CHANGE(sizeof(A), __VA_ARGS__);                                                                      \
    }
