/* SPDX-License-Identifier: PostgreSQL */
/*
 * What WP of Frama-C 25 does not know of conversions: its to_uint32 is the identity in range, and any value of its range
 * elsewhere. C11, 6.3.1.3, says that a conversion to an unsigned type wraps around; gcc says the same of a signed type. Each
 * line is one turn around the ring, which is all that a sum or a difference of two numbers needs. tests/proofs/test_contracts.py
 * tries them with gcc.
 */
/*@ axiomatic Conversions {
      axiom u32_below: \forall integer x; -0x100000000 <= x < 0 ==> (uint32_t)x == x + 0x100000000;
      axiom u32_above: \forall integer x; 0x100000000 <= x < 0x200000000 ==> (uint32_t)x == x - 0x100000000;
      axiom i32_below: \forall integer x; -0x100000000 <= x < -0x80000000 ==> (int32_t)x == x + 0x100000000;
      axiom i32_above: \forall integer x; 0x80000000 <= x < 0x100000000 ==> (int32_t)x == x - 0x100000000;
    } */
