/* SPDX-License-Identifier: PostgreSQL */
/*
 * Runs batches of instructions on this CPU. In: the length of a name (1 byte), the name, n (4 bytes, little-endian),
 * then n times the operands. Out: n results. With the argument --list: a line for each instruction: its name, the
 * sizes of the operands, that of the result, its level, and 1 if this CPU has it. proofs/oracle/instructions.ml does
 * the same by the meanings.
 */
#include "../tests/instructions/machine.h"

#include <stdio.h>
#include <stdlib.h>

enum { LONGEST = 64 * MOST_OPERANDS };

static const level *const levels[] = {
#if defined(__x86_64__)
    &instructions_avx2, &instructions_avx512, &instructions_avx512vbmi2,
#elif defined(__aarch64__)
    &instructions_neon,
#endif
    NULL};

static void list(void)
{
    for (const level *const *l = levels; *l != NULL; l++)
        for (size_t i = 0; i < (*l)->n; i++) {
            const instruction *it = &(*l)->table[i];

            printf("%s\t", it->name);
            for (size_t k = 0; k < MOST_OPERANDS && it->sizes[k] != 0; k++)
                printf(k == 0 ? "%zu" : " %zu", it->sizes[k]);
            printf("\t%zu\t%s\t%d\n", it->width, (*l)->name, (*l)->supported());
        }
}

static const instruction *find(const char *name)
{
    for (const level *const *l = levels; *l != NULL; l++)
        for (size_t i = 0; i < (*l)->n; i++)
            if (strcmp((*l)->table[i].name, name) == 0 && (*l)->supported())
                return &(*l)->table[i];
    fprintf(stderr, "instructions: %s: this CPU lacks it, or no list has it\n", name);
    exit(2);
}

static void must_read(void *to, size_t n)
{
    if (n != 0 && fread(to, n, 1, stdin) != 1) {
        fprintf(stderr, "instructions: the batch ends too soon\n");
        exit(2);
    }
}

static void run_batch(size_t length)
{
    char name[256];
    uint8_t in[LONGEST], out[LONGEST];
    const instruction *it;
    uint32_t n;
    size_t size = 0;

    must_read(name, length);
    name[length] = '\0';
    must_read(&n, sizeof n);
    it = find(name);
    for (size_t k = 0; k < MOST_OPERANDS; k++)
        size += it->sizes[k];
    for (; n > 0; n--) {
        must_read(in, size);
        it->run(in, out);
        fwrite(out, it->width, 1, stdout);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        list();
        return 0;
    }
    for (int length = getchar(); length != EOF; length = getchar())
        run_batch((size_t)length);
    return 0;
}
