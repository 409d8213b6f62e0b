/* attune.h: attention kernels for gfx950 (AMD Instinct MI355X), compiled on first use.
 *
 * The way through this file is the way of a kernel:
 *
 *   attune_context   a device, the caches, and the compiler that is loaded when nothing else helps
 *   attune_spec      what to compute, from text (docs/spec-language.md)
 *   attune_kernel    the spec compiled and loaded on the context's device
 *   attune_plan      how to launch it on tensors of given shapes
 *   attune_run       the launch: pointers, a stream, nothing else
 *
 * A program without error handling:
 *
 *   attune_context *context;  attune_spec *spec;  attune_kernel *kernel;  attune_plan *plan;
 *   attune_context_create(NULL, &context);
 *   attune_spec_parse_file("causal_gqa.attn", NULL, &spec);
 *   attune_kernel_get(context, spec, NULL, &kernel);         // memory, disk, bundle, or compiled
 *   attune_plan_create(kernel, &shapes, &plan);              // once for each set of shapes
 *   attune_run(plan, &pointers, stream);                     // as often as you like
 *
 * Rules that hold for every function:
 *   - It returns ATTUNE_OK or what went wrong; attune_last_error() then has the text for a person:
 *     the field or line, the limit, the nearest legal choice. Nothing is printed, nothing aborts,
 *     no exception leaves.
 *   - All functions may be called from any thread; one object may be used by many threads.
 *   - A handle that a function gives is destroyed by the function that its type names; destroying
 *     NULL does nothing. What an object was made from may be destroyed before it.
 *   - Strings and arrays that are passed in are copied. Strings that come back live as long as
 *     their object.
 *   - Structs begin with `size`: set it to sizeof of the struct. Fields that a later version adds
 *     at the end read as zero for older callers, and zero always means "as before".
 *   - Device addresses are 64-bit numbers. On the simulator they are host addresses too.
 */
#ifndef ATTUNE_ATTUNE_H
#define ATTUNE_ATTUNE_H

#include <stddef.h>
#include <stdint.h>

#define ATTUNE_VERSION_MAJOR 0
#define ATTUNE_VERSION_MINOR 1
/* Grows when a function or field is added; programs built against a smaller one keep running. */
#define ATTUNE_ABI_VERSION 1

#if defined(_WIN32)
#error "attune runs on Linux"
#endif
#define ATTUNE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- outcome ------------------------------------------------------------------------------ */

typedef enum attune_status {
  ATTUNE_OK = 0,
  ATTUNE_INVALID_SPEC = 1,     /* the spec text is wrong; the error text shows lines and carets */
  ATTUNE_UNSUPPORTED = 2,      /* legal, but this version or chip cannot do it */
  ATTUNE_INVALID_ARGUMENT = 3, /* a tensor, length, option or pointer of the call is wrong */
  ATTUNE_NOT_FOUND = 4,        /* a file, kernel or device does not exist, or may not be compiled */
  ATTUNE_IO = 5,               /* reading or writing failed */
  ATTUNE_DEVICE = 6,           /* the device refused or failed */
  ATTUNE_SIM_FAULT = 7,        /* the simulator stopped a kernel */
  ATTUNE_INTERNAL = 8,         /* a bug of Attune */
  ATTUNE_PENDING = 9,          /* not an error: the kernel is still being compiled */
  ATTUNE_STATUS_ANY = -0x7fffffff - 1 /* never returned: makes every int a value of the type */
} attune_status;

/* Of the last call in this thread that did not return ATTUNE_OK; "" before the first. Valid until
 * the thread's next call. Never NULL. */
ATTUNE_API const char *attune_last_error(void);

/* "invalid argument" and so on; "unknown status" for other numbers. */
ATTUNE_API const char *attune_status_name(attune_status status);

/* ATTUNE_ABI_VERSION of the library that is loaded. */
ATTUNE_API uint32_t attune_abi_version(void);

/* ---- context ------------------------------------------------------------------------------ */

typedef struct attune_context attune_context;

typedef struct attune_context_options {
  size_t size;
  /* "sim": the embedded simulator; "hip", "hip:1": a GPU; "auto": a gfx950 GPU if there is one,
   * else the simulator. NULL: the variable ATTUNE_DEVICE, else "auto". */
  const char *device;
  /* Where kernels are kept; NULL: the environment's (docs/cache.md). */
  const char *cache_directory;
  /* 1: never compile; a kernel that no cache and no bundle has is ATTUNE_NOT_FOUND, with its key
   * and the command that builds it. 0: as the variable ATTUNE_NO_JIT says. */
  int32_t no_jit;
  /* Host threads of the simulator; 0: all. Results do not depend on it. */
  int32_t sim_threads;
  /* Told, once each, what a person should know (a full disk, a damaged cache entry). May be called
   * from any thread; must not call back into attune. NULL: nobody is told. */
  void (*warn)(void *warn_data, const char *text);
  void *warn_data;
  /* 1: compile in a child process, so that a crash of the compiler is an error of one call. 0: as
   * the variable ATTUNE_COMPILE says. */
  int32_t compile_in_child;
  /* Seconds that a child may take for one kernel; then it is killed and the call is
   * ATTUNE_INTERNAL. 0: as the variable ATTUNE_COMPILE_TIMEOUT says, else 600. */
  int32_t compile_timeout;
} attune_context_options;

/* `options` may be NULL. Loads no compiler. */
ATTUNE_API attune_status attune_context_create(const attune_context_options *options,
                                               attune_context **context);
ATTUNE_API void attune_context_destroy(attune_context *context);

ATTUNE_API const char *attune_context_device(const attune_context *context); /* "sim", "hip:0" */
ATTUNE_API const char *attune_context_arch(const attune_context *context);   /* "gfx950" */

/* A bundle that `attune aot` wrote: its kernels are found before the compiler is asked. The file is
 * mapped, not read. Bundles are searched in the order in which they were added: all of them for the
 * kernel of this very compiler, then all for one of the same key by another. */
ATTUNE_API attune_status attune_context_add_bundle(attune_context *context, const char *path);

/* The same from memory, which must outlive the context: for bundles that are linked into a program
 * (`attune aot --emit c|object`). */
ATTUNE_API attune_status attune_context_add_bundle_memory(attune_context *context,
                                                          const void *bytes, size_t size);

/* Counters of this context's cache, "name value" in each line (docs/cache.md). The text lives until
 * the next call of this function on this context in any thread. */
ATTUNE_API attune_status attune_context_counters(attune_context *context, const char **text);

/* ---- device memory ------------------------------------------------------------------------ */

/* For programs that have no allocator of their own for the device. Fresh memory is undefined. */
ATTUNE_API attune_status attune_alloc(attune_context *context, uint64_t bytes, uint64_t *address);
ATTUNE_API void attune_free(attune_context *context, uint64_t address);
ATTUNE_API attune_status attune_copy_in(attune_context *context, uint64_t to, const void *from,
                                        uint64_t bytes);
ATTUNE_API attune_status attune_copy_out(attune_context *context, void *to, uint64_t from,
                                         uint64_t bytes);
/* Waits for all work on `stream` (a hipStream_t; NULL: the default stream). */
ATTUNE_API attune_status attune_synchronize(attune_context *context, void *stream);

/* ---- spec --------------------------------------------------------------------------------- */

typedef struct attune_spec attune_spec;

typedef struct attune_setting {
  const char *name, *value;
} attune_setting;

typedef struct attune_spec_options {
  size_t size;
  const char *file_name;            /* for messages and for imports beside the file */
  const char *attention;            /* which attention of the text; NULL: the first */
  const attune_setting *parameters; /* values of the spec's parameters */
  size_t num_parameters;
} attune_spec_options;

/* `length` bytes of text; SIZE_MAX: up to the terminating zero. `options` may be NULL. */
ATTUNE_API attune_status attune_spec_parse(const char *text, size_t length,
                                           const attune_spec_options *options, attune_spec **spec);
ATTUNE_API attune_status attune_spec_parse_file(const char *path,
                                                const attune_spec_options *options,
                                                attune_spec **spec);
ATTUNE_API void attune_spec_destroy(attune_spec *spec);

ATTUNE_API const char *attune_spec_name(const attune_spec *spec);
/* SHA-256 of the spec's canonical form, in hex: equal for two spellings of one meaning. */
ATTUNE_API const char *attune_spec_digest(const attune_spec *spec);

/* ---- kernel ------------------------------------------------------------------------------- */

typedef struct attune_kernel attune_kernel;

typedef struct attune_kernel_options {
  size_t size;
  const attune_setting *knobs; /* of the schedule; they override the spec's own */
  size_t num_knobs;
} attune_kernel_options;

/* The kernel of a spec on the context's device: from memory, the cache's directories, a bundle, the
 * shared tier, or the compiler, in this order. Blocks while it is compiled; of many threads and
 * processes that want one kernel, one compiles. `options` may be NULL. */
ATTUNE_API attune_status attune_kernel_get(attune_context *context, const attune_spec *spec,
                                           const attune_kernel_options *options,
                                           attune_kernel **kernel);

/* The same without waiting for the compiler:
 *   ATTUNE_OK       *kernel is the kernel.
 *   ATTUNE_PENDING  it is being compiled in the background; ask again later. *kernel is one of the
 *                   same spec with another schedule that a bundle has and that may run meanwhile,
 *                   or NULL.
 *   an error        of the last try to compile it; the next call tries again. */
ATTUNE_API attune_status attune_kernel_get_async(attune_context *context, const attune_spec *spec,
                                                 const attune_kernel_options *options,
                                                 attune_kernel **kernel);
ATTUNE_API void attune_kernel_destroy(attune_kernel *kernel);

typedef struct attune_kernel_info {
  size_t size;
  const char *name;    /* symbol in the code object */
  const char *digest;  /* of its key: the name of its cache entry */
  const char *sidecar; /* all that is known of it, as JSON */
  int32_t vgprs, agprs, sgprs;
  int32_t lds_bytes, scratch_bytes;
  int32_t occupancy;   /* waves per SIMD */
  int32_t num_tensors; /* tensors that score and mask read, in the order of attune_shapes.tensors */
  int32_t num_scalars; /* run-time scalars, in the order of attune_shapes.scalars */
} attune_kernel_info;

ATTUNE_API attune_status attune_kernel_get_info(const attune_kernel *kernel,
                                                attune_kernel_info *info);
/* Names of tensors and scalars by index; NULL beyond the last. */
ATTUNE_API const char *attune_kernel_tensor_name(const attune_kernel *kernel, int32_t index);
ATTUNE_API const char *attune_kernel_scalar_name(const attune_kernel *kernel, int32_t index);
/* The code object, for tools. Lives as long as the kernel. */
ATTUNE_API attune_status attune_kernel_code(const attune_kernel *kernel, const void **bytes,
                                            size_t *size);

/* ---- plan --------------------------------------------------------------------------------- */

typedef enum attune_dtype {
  ATTUNE_BF16 = 1,
  ATTUNE_FP16 = 2,
  ATTUNE_F32 = 3,
  ATTUNE_I32 = 4,
  ATTUNE_I64 = 5,
  ATTUNE_I16 = 6,
  ATTUNE_I8 = 7,
  ATTUNE_U8 = 8,
  ATTUNE_BOOL = 9,                   /* a byte, 0 or 1 */
  ATTUNE_DTYPE_ANY = -0x7fffffff - 1 /* no dtype: makes every int a value of the type */
} attune_dtype;

#define ATTUNE_MAX_RANK 8

/* A tensor without its address. Strides are in elements; of q, k, v and out the last one is 1. */
typedef struct attune_tensor {
  int32_t dtype; /* attune_dtype */
  int32_t rank;
  int64_t shape[ATTUNE_MAX_RANK];
  int64_t strides[ATTUNE_MAX_RANK];
} attune_tensor;

/* A tensor whose elements lie one after another. */
ATTUNE_API attune_tensor attune_packed(attune_dtype dtype, int32_t rank, const int64_t *shape);

/* Shapes, dense and varlen:
 *   q    [batch, q_len, num_q_heads, head_dim]      [q tokens, num_q_heads, head_dim]
 *   k    [batch, kv_len, num_kv_heads, head_dim]    [kv tokens, num_kv_heads, head_dim]
 *   v    [batch, kv_len, num_kv_heads, v_head_dim]  [kv tokens, num_kv_heads, v_head_dim]
 *   out  [batch, q_len, num_q_heads, v_head_dim]    [q tokens, num_q_heads, v_head_dim]
 *   lse  f32 [batch, num_q_heads, q_len]            f32 [num_q_heads, q tokens]
 *   sink f32 [num_q_heads]
 * `lse` and `sink` have rank 0 where the spec has none. */
typedef struct attune_shapes {
  size_t size;
  attune_tensor q, k, v, out, lse, sink;
  int64_t batch;     /* varlen: number of sequences */
  int64_t max_q_len; /* varlen: the longest q length that a run may have; lengths themselves stay on
                        the device, in cu_seqlens */
  const attune_tensor *tensors; /* num_tensors of them */
  const double *scalars;        /* num_scalars of them */
} attune_shapes;

typedef struct attune_plan attune_plan;

/* Checks every tensor against the kernel and works out the grid and the kernel's arguments. */
ATTUNE_API attune_status attune_plan_create(const attune_kernel *kernel,
                                            const attune_shapes *shapes, attune_plan **plan);
ATTUNE_API void attune_plan_destroy(attune_plan *plan);

typedef struct attune_plan_info {
  size_t size;
  uint32_t grid[3], block[3];
  uint64_t workspace_bytes; /* that a run needs; 0: none */
  int32_t empty;            /* 1: there is nothing to launch */
  int32_t num_splits;       /* parts that the keys of a row are divided into */
  const char *valid_while;  /* the rule, as text */
  int64_t batch, max_q_len; /* what it was made for; dense: from the shapes */
  int64_t q_tokens, kv_tokens;
} attune_plan_info;

ATTUNE_API attune_status attune_plan_get_info(const attune_plan *plan, attune_plan_info *info);

/* ---- run ---------------------------------------------------------------------------------- */

/* Device addresses. Those of tensors with no elements are ignored. */
typedef struct attune_pointers {
  size_t size;
  uint64_t q, k, v, out, lse, sink;
  uint64_t cu_seqlens_q, cu_seqlens_k; /* varlen: i32[batch + 1] */
  const uint64_t *tensors;             /* num_tensors of them */
  uint64_t workspace;                  /* attune_plan_info.workspace_bytes, 256-byte aligned */
  /* What the caller knows of this run; 0: as the plan. A run outside its plan is refused. */
  int64_t batch, max_q_len, q_tokens, kv_tokens;
} attune_pointers;

/* Launches on `stream` (a hipStream_t; NULL: the default stream). Allocates nothing, waits for
 * nothing and reads nothing back, so it may be captured into a graph. On the simulator it returns
 * when the kernel has run. */
ATTUNE_API attune_status attune_run(const attune_plan *plan, const attune_pointers *pointers,
                                    void *stream);

#ifdef __cplusplus
}
#endif
#endif
