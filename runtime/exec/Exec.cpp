#include "runtime/exec/Exec.h"
#include "runtime/abi/HostMemory.h"
#include "runtime/launch/File.h"
#include "runtime/launch/Npz.h"
#include <chrono>
#include <cstring>
#include <fmt/format.h>

namespace attune::exec {

namespace {

struct Contents {
  Bytes bytes;
  std::optional<DType> dtype;
  Shape shape;
};

/// A .npy's elements, or all bytes of any other file.
Result<Contents> readContents(const std::string &path) {
  auto bytes = readFile(path);
  if (!bytes)
    return bytes.error();
  if (!path.ends_with(".npy"))
    return Contents{std::move(*bytes), {}, {}};
  auto tensor = parseNpy(*bytes, path);
  if (!tensor)
    return tensor.error();
  return Contents{std::move(tensor->storage), tensor->dtype, tensor->shape};
}

void fillPattern(uint8_t *to, uint64_t bytes, const std::vector<uint8_t> &pattern) {
  if (pattern.size() == 1) {
    std::memset(to, pattern[0], bytes);
    return;
  }
  for (uint64_t at = 0; at < bytes; at += pattern.size())
    std::memcpy(to + at, pattern.data(), pattern.size());
}

/// Bytes that an output takes; nothing if that number does not fit.
std::optional<uint64_t> outputBytes(const OutputSpec &out, const Pointer &p) {
  DType dtype = out.dtype.value_or(p.dtype.value_or(DType::U8));
  const Shape &shape = out.shape ? *out.shape : p.shape;
  if (!out.dtype && !p.dtype)
    return p.bytes;
  uint64_t bytes = sizeOf(dtype);
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, uint64_t(extent), &bytes))
      return std::nullopt;
  return bytes;
}

/// Arguments that the kernel says it has and the file leaves at 0: more often forgotten than meant.
std::vector<std::string> notGiven(const sim::KernelInfo &kernel, const LaunchFile &file) {
  std::vector<std::string> notes;
  for (size_t i = 0; i < kernel.args.size(); ++i) {
    const sim::KernelArgInfo &wanted = kernel.args[i];
    bool given = wanted.size == 0;
    for (const Arg &arg : file.args)
      given |=
          arg.offset < wanted.offset + wanted.size && wanted.offset < arg.offset + arg.value.size();
    if (!given)
      notes.push_back(
          fmt::format("argument {} of the kernel ({} bytes at {}) is not in {}: it is 0", i,
                      wanted.size, wanted.offset, file.path));
  }
  return notes;
}

class Preparation {
public:
  Preparation(sim::Memory &memory, const LaunchFile &file) : memory_(memory), file_(file) {}

  Result<Prepared> make() {
    out_.pointers.resize(file_.args.size());
    for (bool placed :
         {true, false}) // those that may lie anywhere make room for those that may not
      for (size_t i = 0; i < file_.args.size(); ++i)
        if (const BufferSpec &b = file_.args[i].buffer;
            file_.args[i].kind == ArgKind::Buffer && !b.sameAs && b.base.has_value() == placed)
          if (auto ok = allocate(i); !ok)
            return ok.error();
    owners_ = out_.pointers;
    for (size_t i = 0; i < file_.args.size(); ++i)
      if (file_.args[i].kind == ArgKind::Buffer)
        if (auto ok = point(i); !ok)
          return ok.error();
    pack();
    return std::move(out_);
  }

private:
  Result<void> allocate(size_t i) {
    const Arg &arg = file_.args[i];
    const BufferSpec &b = arg.buffer;
    Contents contents;
    if (!b.file.empty()) {
      auto read = readContents(file_.resolved(b.file));
      if (!read)
        return file_.error(i, "file", read.error().message, read.error().code);
      contents = std::move(*read);
    }
    uint64_t bytes = b.bytes ? b.bytes : contents.bytes.size();
    if (bytes < contents.bytes.size())
      return file_.error(i, "claim",
                         fmt::format("{} bytes are claimed, {} has {}; claim at least those", bytes,
                                     b.file, contents.bytes.size()));
    if (const uint64_t most = hostMemoryBytes(); !b.fill.empty() && bytes > most)
      return file_.error(i, "size",
                         fmt::format("{} bytes to fill, this machine has {}; a buffer without fill "
                                     "(claim) costs only the pages that are touched",
                                     bytes, most));
    std::string name = fmt::format("args[{}]{}{}", i, arg.name.empty() ? "" : " ", arg.name);
    auto address = b.base ? memory_.allocAt(*b.base, bytes, name) : memory_.alloc(bytes, name);
    if (!address)
      return file_.error(i,
                         b.base    ? "base"
                         : b.bytes ? "size"
                                   : "file",
                         address.error().message, address.error().code);
    if (!b.fill.empty()) {
      fillPattern(static_cast<uint8_t *>(sim::Memory::host(*address)), bytes, b.fill);
      memory_.define(*address, bytes);
    }
    if (auto ok = memory_.copyIn(*address, contents.bytes.data(), contents.bytes.size()); !ok)
      return ok.error();
    out_.pointers[i] = {*address, bytes, contents.dtype, std::move(contents.shape)};
    return {};
  }

  /// Moves a pointer to where the kernel gets it, and checks that its output lies behind it.
  Result<void> point(size_t i) {
    const BufferSpec &b = file_.args[i].buffer;
    Pointer p = owners_[b.sameAs.value_or(i)];
    if (b.at > p.bytes)
      return file_.error(
          i, "at",
          fmt::format("{} is past the end of the buffer; it may be 0 to {}", b.at, p.bytes));
    p.address += b.at;
    p.bytes -= b.at;
    if (b.sameAs || b.at)
      p.dtype.reset(); // the file's shape is that of the whole buffer
    out_.pointers[i] = p;
    return b.out ? checkOutput(i, p) : Result<void>();
  }

  Result<void> checkOutput(size_t i, const Pointer &p) const {
    const OutputSpec &out = *file_.args[i].buffer.out;
    if (auto ok = checkWritable(file_.resolved(out.path)); !ok)
      return file_.error(i, "out", ok.error().message, ok.error().code);
    if (out.path.ends_with(".npy") && !out.dtype && !p.dtype)
      return file_.error(i, "out",
                         "a .npy needs dtype and shape; files of other endings get the "
                         "buffer's bytes as they are");
    auto bytes = outputBytes(out, p);
    if (!bytes || *bytes > p.bytes)
      return file_.error(
          i, out.shape ? "shape" : "out",
          fmt::format("{} takes {} bytes, from the pointer to the end of the buffer there are {}",
                      describe(out.dtype.value_or(DType::U8), out.shape.value_or(p.shape)),
                      bytes ? std::to_string(*bytes) : "more than 2^64", p.bytes));
    return {};
  }

  void pack() {
    for (size_t i = 0; i < file_.args.size(); ++i) {
      const Arg &arg = file_.args[i];
      std::vector<uint8_t> &to = out_.kernarg;
      to.resize(std::max(to.size(), arg.offset + arg.value.size()));
      const void *from = arg.value.data();
      if (arg.kind == ArgKind::Buffer)
        from = &out_.pointers[i].address;
      std::memcpy(to.data() + arg.offset, from, arg.value.size());
    }
  }

  sim::Memory &memory_;
  const LaunchFile &file_;
  Prepared out_;
  std::vector<Pointer> owners_;
};

} // namespace

Result<Prepared> prepare(sim::Memory &memory, const LaunchFile &file) {
  return Preparation(memory, file).make();
}

Result<sim::KernelInfo> chooseKernel(const sim::Simulator &simulator, sim::ModuleId module,
                                     const LaunchFile &file) {
  auto kernels = simulator.kernels(module);
  if (!kernels)
    return kernels.error();
  if (file.kernel.empty() && kernels->size() == 1)
    return (*kernels)[0];
  std::vector<std::string> names;
  for (const sim::KernelInfo &k : *kernels) {
    if (k.name == file.kernel || k.name + ".kd" == file.kernel)
      return k;
    names.push_back(k.name);
  }
  std::string known = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
  if (file.kernel.empty())
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: kernel: name one of the code object's {} kernels: {}", file.path,
                             names.size(), known)};
  return Error{ErrorCode::NotFound,
               fmt::format("{}: kernel: the code object has no \"{}\"; it has: {}", file.path,
                           file.kernel, known)};
}

sim::Launch launchOf(const LaunchFile &file, const std::string &kernel, const Prepared &prepared,
                     const sim::RunOptions &options) {
  return {.kernel = kernel,
          .grid = file.grid,
          .block = file.block,
          .dynamicLdsBytes = file.dynamicLds,
          .kernarg = prepared.kernarg,
          .options = options};
}

Result<std::vector<Written>> writeOutputs(const sim::Memory &memory, const LaunchFile &file,
                                          const Prepared &prepared) {
  std::vector<Written> written;
  for (size_t i = 0; i < file.args.size(); ++i) {
    if (!file.args[i].buffer.out)
      continue;
    const OutputSpec &out = *file.args[i].buffer.out;
    const Pointer &p = prepared.pointers[i];
    Bytes bytes(*outputBytes(out, p));
    if (auto ok = memory.copyOut(bytes.data(), p.address, bytes.size()); !ok)
      return file.error(i, "out", ok.error().message, ok.error().code);
    std::string contents = fmt::format("{} bytes", bytes.size());
    if (out.path.ends_with(".npy")) {
      HostTensor tensor{out.dtype.value_or(p.dtype.value_or(DType::U8)),
                        out.shape.value_or(p.shape),
                        {},
                        0,
                        std::move(bytes)};
      tensor.strides = packedStrides(tensor.shape);
      contents = describe(tensor.dtype, tensor.shape);
      bytes = formatNpy(tensor);
    }
    std::string path = file.resolved(out.path);
    if (auto ok = writeFile(path, bytes); !ok)
      return file.error(i, "out", ok.error().message, ok.error().code);
    written.push_back({path, contents});
  }
  return written;
}

Result<Report> run(std::span<const uint8_t> codeObject, const LaunchFile &file,
                   const sim::RunOptions &options) {
  sim::Simulator simulator;
  auto module = simulator.load(codeObject);
  if (!module)
    return module.error();
  auto kernel = chooseKernel(simulator, *module, file);
  if (!kernel)
    return kernel.error();
  auto prepared = prepare(simulator.memory(), file);
  if (!prepared)
    return prepared.error();
  auto start = std::chrono::steady_clock::now();
  auto stats = simulator.launch(*module, launchOf(file, kernel->name, *prepared, options));
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  if (!stats)
    return stats.error();
  auto outputs = writeOutputs(simulator.memory(), file, *prepared);
  if (!outputs)
    return outputs.error();
  auto notes = notGiven(*kernel, file);
  return Report{std::move(*kernel),
                std::move(*stats),
                std::move(*outputs),
                std::move(notes),
                uint32_t(prepared->kernarg.size()),
                took.count()};
}

} // namespace attune::exec
