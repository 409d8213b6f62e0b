// One source, several host instruction sets, the same bits from each.
//
// The simulator's inner loops run over the 64 lanes of a wave and want the widest vectors the host
// has, but a result may not depend on the host. So a loop is written once in plain C++, fused
// operations are spelled std::fma, the files are compiled with -ffp-contract=off and without
// fast-math, and ATTUNE_SIM_CLONES asks the compiler for one copy per x86-64 level, chosen when the
// program is loaded. On other hosts, and with ATTUNE_SIM_ONE_ISA, there is one copy: tests/sim/isa
// builds the whole simulator so for plain x86-64 and compares.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && !defined(ATTUNE_SIM_ONE_ISA)
#define ATTUNE_SIM_CLONES                                                                          \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ATTUNE_SIM_CLONES
#endif

/// For helpers called from a clone: they must be inlined to be compiled for its instruction set.
#define ATTUNE_SIM_INLINE [[gnu::always_inline]] inline
/// The same for a lambda, after its parameters.
#define ATTUNE_SIM_INLINE_LAMBDA __attribute__((always_inline))

/// Before a loop over lanes: its iterations are independent, whatever rows its pointers may share.
#if defined(__clang__)
#define SIM_LANE_LOOP _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define SIM_LANE_LOOP _Pragma("GCC ivdep")
#endif
