/* SPDX-License-Identifier: MIT */
/*
 * How a patched site's vector registers are kept, chosen once: the compiler of
 * an inline system call relies on all of them. For C and assembler.
 */
#ifndef AU_INTERCEPT_ARCH_X86_64_VECTORS_H
#define AU_INTERCEPT_ARCH_X86_64_VECTORS_H

#define AU_VECTORS_SSE    0 /* xmm0-15 */
#define AU_VECTORS_AVX    1 /* ymm0-15, the upper halves where in use */
#define AU_VECTORS_AVX512 2 /* of zmm0-31 what is in use, and the masks */
#define AU_VECTORS_XSAVEC 3 /* AVX-512 where it does not say what is in use */

/* Bytes of stack: 16 ymm; 32 zmm and 8 masks. */
#define AU_VECTORS_SIZE        512
#define AU_VECTORS_SIZE_AVX512 (AU_VECTORS_MASKS + 8 * 8)
#define AU_VECTORS_MASKS       (32 * 64) /* where those lie */
/* Legacy area and header, then each with room for its alignment. */
#define AU_VECTORS_SIZE_XSAVEC (576 + 256 + 64 + 512 + 1024 + 4 * 64)

/* State components, as in XCR0 and XINUSE; x87 and AMX go untouched. */
#define AU_XCR0_SSE       0x02
#define AU_XCR0_AVX       0x04
#define AU_XCR0_ZMM_HI256 0x40 /* upper halves of zmm0-15 */
#define AU_XCR0_HI16_ZMM  0x80 /* zmm16-31 */
#define AU_XCR0_AVX512    0xe0 /* with the masks */
#define AU_XCR0_ALL       (AU_XCR0_SSE | AU_XCR0_AVX | AU_XCR0_AVX512)

#endif
