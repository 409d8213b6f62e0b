// attune.hpp: attune.h for C++17. Handles free themselves, errors are exceptions, shapes are lists;
// nothing else. What a function means is said in attune.h.
//
//   attune::Context context("sim");
//   attune::Kernel kernel(context, attune::Spec::file("causal_gqa.attn"));
//   attune::Shapes shapes;
//   shapes.q = attune::packed(ATTUNE_BF16, {tokens, 32, 128});
//   ...
//   attune::Plan plan(kernel, shapes);
//   attune::Pointers pointers;
//   pointers.q = ...;
//   plan.run(pointers, stream);
#ifndef ATTUNE_ATTUNE_HPP
#define ATTUNE_ATTUNE_HPP

#include <attune/attune.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune {

/// What a function of attune.h returned, with its error text.
class Error : public std::runtime_error {
public:
  Error(attune_status status, const char *text) : std::runtime_error(text), status_(status) {}
  attune_status status() const noexcept { return status_; }

private:
  attune_status status_;
};

/// Throws what is not ATTUNE_OK.
inline void check(attune_status status) {
  if (status != ATTUNE_OK)
    throw Error(status, attune_last_error());
}

namespace detail {

template <auto destroy> struct Destroy {
  template <class T> void operator()(T *handle) const noexcept { destroy(handle); }
};
template <class T, auto destroy> using Handle = std::unique_ptr<T, Destroy<destroy>>;

/// A struct of attune.h whose size is set.
template <class T> struct Sized : T {
  Sized() : T{} { T::size = sizeof(T); }
};

} // namespace detail

/// Structs of attune.h, all zero but their size.
using ContextOptions = detail::Sized<attune_context_options>;
using KernelInfo = detail::Sized<attune_kernel_info>;
using PlanInfo = detail::Sized<attune_plan_info>;
using Pointers = detail::Sized<attune_pointers>;
/// `tensors` and `scalars` point to arrays of the caller's, which must live until the plan is made.
using Shapes = detail::Sized<attune_shapes>;

/// Names and values: parameters of a spec, knobs of a schedule.
using Settings = std::vector<std::pair<std::string, std::string>>;

namespace detail {

/// attune_setting[] of a list, which must outlive it.
inline std::vector<attune_setting> settingsOf(const Settings &given) {
  std::vector<attune_setting> made;
  for (const auto &[name, value] : given)
    made.push_back({name.c_str(), value.c_str()});
  return made;
}

} // namespace detail

/// A tensor whose elements lie one after another.
inline attune_tensor packed(attune_dtype dtype, std::initializer_list<int64_t> shape) {
  return attune_packed(dtype, static_cast<int32_t>(shape.size()), shape.begin());
}

/// A tensor with strides, in elements.
inline attune_tensor strided(attune_dtype dtype, std::initializer_list<int64_t> shape,
                             std::initializer_list<int64_t> strides) {
  attune_tensor made = packed(dtype, shape);
  if (shape.size() != strides.size() || shape.size() > ATTUNE_MAX_RANK)
    throw Error(ATTUNE_INVALID_ARGUMENT, "strided: there must be one stride for each dimension");
  size_t d = 0;
  for (int64_t stride : strides)
    made.strides[d++] = stride;
  return made;
}

/// A device, its caches and its memory.
class Context {
public:
  explicit Context(const char *device = nullptr) {
    ContextOptions options;
    options.device = device;
    create(options);
  }
  explicit Context(const attune_context_options &options) { create(options); }

  attune_context *get() const noexcept { return handle_.get(); }
  std::string device() const { return attune_context_device(get()); }
  std::string arch() const { return attune_context_arch(get()); }
  void addBundle(const std::string &path) { check(attune_context_add_bundle(get(), path.c_str())); }
  void addBundle(const void *bytes, size_t size) {
    check(attune_context_add_bundle_memory(get(), bytes, size));
  }
  std::string counters() const {
    const char *text = nullptr;
    check(attune_context_counters(get(), &text));
    return text;
  }
  void synchronize(void *stream = nullptr) const { check(attune_synchronize(get(), stream)); }

private:
  void create(const attune_context_options &options) {
    attune_context *made = nullptr;
    check(attune_context_create(&options, &made));
    handle_.reset(made);
  }
  detail::Handle<attune_context, attune_context_destroy> handle_;
};

/// Bytes on a device. The context must outlive them.
class Memory {
public:
  Memory(const Context &context, uint64_t bytes) : context_(context.get()), bytes_(bytes) {
    check(attune_alloc(context_, bytes, &address_));
  }
  /// With a copy of `values`.
  template <class T>
  Memory(const Context &context, const std::vector<T> &values)
      : Memory(context, values.size() * sizeof(T)) {
    check(attune_copy_in(context_, address_, values.data(), bytes_));
  }
  Memory(Memory &&from) noexcept { swap(from); }
  Memory &operator=(Memory &&from) noexcept {
    swap(from);
    return *this;
  }
  ~Memory() {
    if (context_)
      attune_free(context_, address_);
  }

  uint64_t address() const noexcept { return address_; }
  uint64_t bytes() const noexcept { return bytes_; }
  /// All of it, on the host.
  template <class T> std::vector<T> read() const {
    std::vector<T> values(bytes_ / sizeof(T));
    check(attune_copy_out(context_, values.data(), address_, values.size() * sizeof(T)));
    return values;
  }

private:
  void swap(Memory &other) noexcept {
    std::swap(context_, other.context_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  attune_context *context_ = nullptr;
  uint64_t address_ = 0, bytes_ = 0;
};

/// What to compute. `attention` names one of the text; empty: the first.
class Spec {
public:
  static Spec text(std::string_view text, const std::string &attention = "",
                   const Settings &parameters = {}) {
    return Spec(attention, parameters, [&](const attune_spec_options *options, attune_spec **made) {
      return attune_spec_parse(text.data(), text.size(), options, made);
    });
  }
  static Spec file(const std::string &path, const std::string &attention = "",
                   const Settings &parameters = {}) {
    return Spec(attention, parameters, [&](const attune_spec_options *options, attune_spec **made) {
      return attune_spec_parse_file(path.c_str(), options, made);
    });
  }

  attune_spec *get() const noexcept { return handle_.get(); }
  std::string name() const { return attune_spec_name(get()); }
  std::string digest() const { return attune_spec_digest(get()); }

private:
  template <class Parse>
  Spec(const std::string &attention, const Settings &parameters, Parse parse) {
    const auto settings = detail::settingsOf(parameters);
    detail::Sized<attune_spec_options> options;
    options.attention = attention.empty() ? nullptr : attention.c_str();
    options.parameters = settings.data();
    options.num_parameters = settings.size();
    attune_spec *made = nullptr;
    check(parse(&options, &made));
    handle_.reset(made);
  }
  detail::Handle<attune_spec, attune_spec_destroy> handle_;
};

/// A spec compiled and loaded.
class Kernel {
public:
  Kernel(const Context &context, const Spec &spec, const Settings &knobs = {}) {
    attune_kernel *made = nullptr;
    check(ask(attune_kernel_get, context, spec, knobs, &made));
    handle_.reset(made);
  }
  /// Without waiting for the compiler: the kernel, or while it is compiled one that may stand in
  /// for it, or one that is `!kernel`. `pending` says whether to ask again.
  static Kernel soon(const Context &context, const Spec &spec, bool &pending,
                     const Settings &knobs = {}) {
    Kernel kernel;
    attune_kernel *made = nullptr;
    const attune_status status = ask(attune_kernel_get_async, context, spec, knobs, &made);
    pending = status == ATTUNE_PENDING;
    if (!pending)
      check(status);
    kernel.handle_.reset(made);
    return kernel;
  }

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  attune_kernel *get() const noexcept { return handle_.get(); }
  KernelInfo info() const {
    KernelInfo made;
    check(attune_kernel_get_info(get(), &made));
    return made;
  }
  /// Names in the order of Shapes.tensors and Shapes.scalars.
  std::vector<std::string> tensorNames() const { return names(attune_kernel_tensor_name); }
  std::vector<std::string> scalarNames() const { return names(attune_kernel_scalar_name); }
  /// The code object. Lives as long as the kernel.
  std::string_view code() const {
    const void *bytes = nullptr;
    size_t size = 0;
    check(attune_kernel_code(get(), &bytes, &size));
    return {static_cast<const char *>(bytes), size};
  }

private:
  Kernel() = default;
  template <class Get>
  static attune_status ask(Get get, const Context &context, const Spec &spec, const Settings &knobs,
                           attune_kernel **made) {
    const auto settings = detail::settingsOf(knobs);
    detail::Sized<attune_kernel_options> options;
    options.knobs = settings.data();
    options.num_knobs = settings.size();
    return get(context.get(), spec.get(), &options, made);
  }
  template <class NameOf> std::vector<std::string> names(NameOf nameOf) const {
    std::vector<std::string> found;
    for (int32_t i = 0; const char *name = nameOf(get(), i); ++i)
      found.emplace_back(name);
    return found;
  }
  detail::Handle<attune_kernel, attune_kernel_destroy> handle_;
};

/// How to launch a kernel on tensors of given shapes.
class Plan {
public:
  Plan(const Kernel &kernel, const attune_shapes &shapes) {
    attune_plan *made = nullptr;
    check(attune_plan_create(kernel.get(), &shapes, &made));
    handle_.reset(made);
  }
  attune_plan *get() const noexcept { return handle_.get(); }
  PlanInfo info() const {
    PlanInfo made;
    check(attune_plan_get_info(get(), &made));
    return made;
  }
  void run(const attune_pointers &pointers, void *stream = nullptr) const {
    check(attune_run(get(), &pointers, stream));
  }

private:
  detail::Handle<attune_plan, attune_plan_destroy> handle_;
};

} // namespace attune
#endif
