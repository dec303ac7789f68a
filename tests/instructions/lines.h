/* SPDX-License-Identifier: PostgreSQL */
/* The lines of a list as those of a table: in place of functions.h. */
#undef NONE
#undef ONE
#undef ONE_OF
#undef ONE_BY
#undef TWO
#undef TWO_OF
#undef THREE
#undef THREE_OF
#undef FOUR
#undef FOUR_OF
#undef LOADS
#undef LOADS_MASKED
#undef STORES
#undef STORES_MASKED

#define NONE(R, f)                    {#f, {0}, sizeof(R), HERE},
#define ONE(R, A, f)                  {#f, {sizeof(A)}, sizeof(R), HERE},
#define ONE_OF(R, A, f, immediate)    {#f " " #immediate, {sizeof(A)}, sizeof(R), HERE},
#define ONE_BY(R, A, f, g)            ONE(R, A, f)
#define TWO(R, A, B, f)               {#f, {sizeof(A), sizeof(B)}, sizeof(R), HERE},
#define TWO_OF(R, A, B, f, immediate) {#f " " #immediate, {sizeof(A), sizeof(B)}, sizeof(R), HERE},
#define THREE(R, A, B, C, f)          {#f, {sizeof(A), sizeof(B), sizeof(C)}, sizeof(R), HERE},
#define THREE_OF(R, A, B, C, f, immediate)                                                                   \
    {#f " " #immediate, {sizeof(A), sizeof(B), sizeof(C)}, sizeof(R), HERE},
#define FOUR(R, A, B, C, D, f) {#f, {sizeof(A), sizeof(B), sizeof(C), sizeof(D)}, sizeof(R), HERE},
#define FOUR_OF(R, A, B, C, D, f, immediate)                                                                 \
    {#f " " #immediate, {sizeof(A), sizeof(B), sizeof(C), sizeof(D)}, sizeof(R), HERE},
#define LOADS(R, n, f, ...)         {#f, {1, n}, 1 + sizeof(R), HERE},
#define LOADS_MASKED(R, K, f, ...)  {#f, {1, sizeof(R), sizeof(K)}, 1 + sizeof(R), HERE},
#define STORES(A, f, ...)           {#f, {1, sizeof(A), sizeof(A)}, 1 + sizeof(A), HERE},
#define STORES_MASKED(A, K, f, ...) {#f, {1, sizeof(A), sizeof(K), sizeof(A)}, 1 + sizeof(A), HERE},
