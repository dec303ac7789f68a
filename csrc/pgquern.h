/* SPDX-License-Identifier: PostgreSQL */
/*
 * pgquern: verified kernels for PostgreSQL's recovery, vacuum and logical decoding, and for the file I/O under them. The
 * public C API.
 *
 * This is the umbrella: one public header a stem, csrc/S/S.h. All names of stem S start with pgq_S_ or PGQ_S_; what all
 * stems share, and no more, is in csrc/common/common.h. The Python binding is generated from these headers. A first use:
 *
 *     #include "pgquern.h"
 *     static bool compact(unsigned char page[8192])
 *     {
 *         pgq_status status = pgq_compaction_repair_fragmentation(page, true);
 *         if (status.code != PGQ_OK)
 *             fprintf(stderr, "line pointer %u: %s\n", (unsigned)status.index, pgq_strerror(status.code));
 *         return status.code == PGQ_OK;
 *     }
 *
 * Each *kind* of kernel has one contract, one table of variants and one dispatched entry point. The contract is the
 * comment above the kind's function type. A table runs from upstream's algorithms to the fastest; the entry point takes
 * the last one that this CPU supports. Two environment variables change that. Each is read once, at the first call, and
 * an empty one counts as unset:
 *
 * - PGQUERN_VARIANT is a list, separated by commas, of `variant` and `kind=variant`. A kind is named as its table is:
 *   pgq_<kind>_variants. `scalar` chooses that variant in every kind that has it; `snapbuild_purge=avx2` in this kind
 *   alone. If several items name a variant of one kind, the last one counts. A kind that no item applies to runs as if
 *   the variable were unset. If an item names a kind or a variant that does not exist, all dispatched calls return
 *   PGQ_VARIANT. If the CPU cannot run that variant, dispatched calls of that kind return PGQ_VARIANT.
 * - PGQUERN_CPU hides what the CPU has above a level, and never adds anything: `none` (no variant beyond plain C),
 *   `avx2`, `avx512` (F, BW, DQ, VL, but not VBMI2: as Skylake's and Cascade Lake's servers), `avx512vbmi2`;
 *   on 64-bit ARM `none` and `neon`, which each CPU has. With any other word, the other machine's words among them, all
 *   dispatched calls return PGQ_VARIANT, and only variants in plain C say that they are supported.
 *
 * Two groups of stems. Neither throws anything or calls back, but for what the caller hands over for that.
 *
 * - Kernels (compaction, datfrozenxid, snapbuild; of tornpage the checksum and the check of pages) are functions of their
 *   arguments. They keep no pointer after they return, and may run in several threads at once on different data. They
 *   allocate no memory, but for the upstream variants of two kinds, whose contracts say PGQ_MEMORY.
 * - Components (ioshares, prefetch, rangelock, tiercache, tornpage's store) are things that live from one call to another.
 *   They keep the pointers that their headers name: memory, files, requests of the caller. Some allocate when they are
 *   made; the headers say which calls may come from several threads.
 */
#ifndef PGQUERN_H
#define PGQUERN_H

#include "common/common.h"
#include "compaction/compaction.h"
#include "datfrozenxid/datfrozenxid.h"
#include "ioshares/ioshares.h"
#include "prefetch/prefetch.h"
#include "rangelock/rangelock.h"
#include "snapbuild/snapbuild.h"
#include "tiercache/tiercache.h"
#include "tornpage/tornpage.h"

#endif
