#include "runtime/device/HipDevice.h"
#include "runtime/device/HipApi.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

namespace attune {
namespace {

enum CopyKind : int { HostToDevice = 1, DeviceToHost = 2 };

/// Marks in the `extra` list of hipModuleLaunchKernel: the argument bytes, their number, the end.
void *mark(uintptr_t value) { return reinterpret_cast<void *>(value); }
constexpr uintptr_t bufferPointer = 1, bufferSize = 2, listEnd = 3;

void *pointer(DevicePtr p) { return reinterpret_cast<void *>(p); }

class HipDevice final : public Device {
public:
  HipDevice(std::shared_ptr<const HipApi> api, int ordinal, TargetId target)
      : hip_(std::move(api)), ordinal_(ordinal), target_(std::move(target)),
        name_(fmt::format("hip:{}", ordinal)) {}
  ~HipDevice() override;

  std::string name() const override { return name_; }
  std::string arch() const override { return target_.processor; }
  Result<DevicePtr> alloc(uint64_t bytes) override;
  void free(DevicePtr) override;
  Result<void> copyIn(DevicePtr to, const void *from, uint64_t bytes) override;
  Result<void> copyOut(void *to, DevicePtr from, uint64_t bytes) override;
  Result<ModuleHandle> load(std::span<const uint8_t> codeObject) override;
  void unload(ModuleHandle) override;
  Result<KernelHandle> kernel(ModuleHandle, const std::string &name) override;
  Result<void> launch(KernelHandle, const LaunchDims &, std::span<const uint8_t> kernarg,
                      void *stream) override;
  Result<void> synchronize(void *stream) override;

private:
  class Current;
  struct Module {
    void *handle = nullptr;
    std::vector<uint8_t> code; ///< HIP may read on in what it was given
  };
  struct Kernel {
    void *function = nullptr;
    ModuleHandle module = 0;
    std::string name;
  };

  /// Makes one HIP call with this device current. `what` names it, for an error.
  template <class What, class Body> Result<void> call(const What &what, const Body &body);
  Result<void> copy(const char *what, void *to, const void *from, uint64_t bytes, CopyKind);
  Error memoryError(int code, uint64_t bytes) const;

  const std::shared_ptr<const HipApi> hip_;
  const int ordinal_;
  const TargetId target_;
  const std::string name_;

  std::mutex memoryMutex_;
  std::set<DevicePtr> buffers_;
  std::shared_mutex modulesMutex_; ///< shared by launches
  std::map<ModuleHandle, Module> modules_;
  std::map<KernelHandle, Kernel> kernels_;
  uint64_t next_ = 1; ///< handles are never used twice: a stale one is found out
};

/// While it lives, this thread's current device is ours.
class HipDevice::Current {
public:
  explicit Current(const HipDevice &device) : hip_(*device.hip_) {
    code_ = hip_.hipGetDevice(&before_);
    if (code_ == 0 && before_ != device.ordinal_) {
      code_ = hip_.hipSetDevice(device.ordinal_);
      changed_ = code_ == 0;
    }
  }
  ~Current() {
    if (changed_)
      hip_.hipSetDevice(before_);
  }
  Current(const Current &) = delete;
  int code() const { return code_; }

private:
  const HipApi &hip_;
  int before_ = 0, code_ = 0;
  bool changed_ = false;
};

template <class What, class Body> Result<void> HipDevice::call(const What &what, const Body &body) {
  Current current(*this);
  if (current.code())
    return hip_->failure(current.code(), name_ + ": hipSetDevice");
  if (int code = body())
    return hip_->failure(code, name_ + ": " + what());
  return {};
}

HipDevice::~HipDevice() {
  Current current(*this);
  for (auto &[id, module] : modules_)
    hip_->hipModuleUnload(module.handle);
  for (DevicePtr p : buffers_)
    hip_->hipFree(pointer(p));
}

Error HipDevice::memoryError(int code, uint64_t bytes) const {
  size_t available = 0, total = 0;
  std::string what = fmt::format("{}: hipMalloc of {} bytes", name_, bytes);
  if (hip_->hipMemGetInfo(&available, &total) == 0)
    what += fmt::format(" ({} of {} are free)", available, total);
  return hip_->failure(code, what);
}

Result<DevicePtr> HipDevice::alloc(uint64_t bytes) {
  Current current(*this);
  if (current.code())
    return hip_->failure(current.code(), name_ + ": hipSetDevice");
  void *p = nullptr;
  if (int code = hip_->hipMalloc(&p, std::max<uint64_t>(bytes, 1)))
    return memoryError(code, bytes);
  std::lock_guard lock(memoryMutex_);
  buffers_.insert(reinterpret_cast<DevicePtr>(p));
  return reinterpret_cast<DevicePtr>(p);
}

void HipDevice::free(DevicePtr p) {
  {
    std::lock_guard lock(memoryMutex_);
    if (!buffers_.erase(p))
      return;
  }
  Current current(*this);
  if (hip_->hipFree(pointer(p)))
    hip_->hipGetLastError();
}

Result<void> HipDevice::copy(const char *what, void *to, const void *from, uint64_t bytes,
                             CopyKind kind) {
  return call([&] { return fmt::format("hipMemcpy {} ({} bytes)", what, bytes); },
              [&] { return hip_->hipMemcpy(to, from, bytes, kind); });
}

Result<void> HipDevice::copyIn(DevicePtr to, const void *from, uint64_t bytes) {
  return copy("to the device", pointer(to), from, bytes, HostToDevice);
}

Result<void> HipDevice::copyOut(void *to, DevicePtr from, uint64_t bytes) {
  return copy("from the device", to, pointer(from), bytes, DeviceToHost);
}

Result<ModuleHandle> HipDevice::load(std::span<const uint8_t> codeObject) {
  if (auto fits = checkCodeObject(codeObject, target_, name_); !fits)
    return fits.error();
  Module module{.code = {codeObject.begin(), codeObject.end()}};
  auto loaded =
      call([&] { return fmt::format("hipModuleLoadData of {} bytes", module.code.size()); },
           [&] { return hip_->hipModuleLoadData(&module.handle, module.code.data()); });
  if (!loaded)
    return loaded.error();
  std::unique_lock lock(modulesMutex_);
  modules_[next_] = std::move(module);
  return next_++;
}

void HipDevice::unload(ModuleHandle id) {
  std::unique_lock lock(modulesMutex_);
  auto at = modules_.find(id);
  if (at == modules_.end())
    return;
  std::erase_if(kernels_, [&](const auto &entry) { return entry.second.module == id; });
  Current current(*this);
  if (hip_->hipModuleUnload(at->second.handle))
    hip_->hipGetLastError();
  modules_.erase(at);
}

Result<KernelHandle> HipDevice::kernel(ModuleHandle id, const std::string &name) {
  std::unique_lock lock(modulesMutex_);
  auto at = modules_.find(id);
  if (at == modules_.end())
    return Error{ErrorCode::InvalidArgument, name_ + ": no module is loaded under this handle"};
  std::vector<std::string> known = kernelNames(at->second.code);
  if (!std::ranges::binary_search(known, name))
    return Error{ErrorCode::NotFound,
                 fmt::format("{}: the code object has no kernel \"{}\"; it has: {}", name_, name,
                             known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")))};
  Kernel kernel{.module = id, .name = name};
  auto found =
      call([&] { return fmt::format("hipModuleGetFunction of \"{}\"", name); },
           [&] {
             return hip_->hipModuleGetFunction(&kernel.function, at->second.handle, name.c_str());
           });
  if (!found)
    return found.error();
  kernels_[next_] = std::move(kernel);
  return next_++;
}

Result<void> HipDevice::launch(KernelHandle handle, const LaunchDims &dims,
                               std::span<const uint8_t> kernarg, void *stream) {
  std::shared_lock lock(modulesMutex_);
  auto at = kernels_.find(handle);
  if (at == kernels_.end())
    return Error{ErrorCode::InvalidArgument,
                 name_ + ": a launch of a kernel whose module is not loaded"};
  const Kernel &kernel = at->second;
  size_t bytes = kernarg.size();
  void *extra[] = {mark(bufferPointer), const_cast<uint8_t *>(kernarg.data()), mark(bufferSize),
                   &bytes, mark(listEnd)};
  return call(
      [&] {
        return fmt::format(
            "hipModuleLaunchKernel of {} (grid {}, block {}, {} bytes of dynamic LDS)", kernel.name,
            fmt::join(dims.grid, "x"), fmt::join(dims.block, "x"), dims.dynamicLdsBytes);
      },
      [&] {
        return hip_->hipModuleLaunchKernel(kernel.function, dims.grid[0], dims.grid[1],
                                           dims.grid[2], dims.block[0], dims.block[1],
                                           dims.block[2], dims.dynamicLdsBytes, stream, nullptr,
                                           kernarg.empty() ? nullptr : extra);
      });
}

Result<void> HipDevice::synchronize(void *stream) {
  return call([] { return std::string("hipStreamSynchronize"); },
              [&] { return hip_->hipStreamSynchronize(stream); });
}

} // namespace

Result<std::unique_ptr<Device>> makeHipDevice(int ordinal, const std::string &library) {
  auto hip = openHip(library);
  if (!hip)
    return hip.error();
  auto count = (*hip)->deviceCount();
  if (!count)
    return count.error();
  if (ordinal < 0 || ordinal >= *count)
    return Error{ErrorCode::InvalidArgument,
                 *count == 1 ? fmt::format("hip:{}: there is one device, hip:0", ordinal)
                             : fmt::format("hip:{}: there are {} devices, hip:0 to hip:{}", ordinal,
                                           *count, *count - 1)};
  auto target = (*hip)->target(ordinal);
  if (!target)
    return target.error();
  return std::unique_ptr<Device>(std::make_unique<HipDevice>(*hip, ordinal, *target));
}

Result<std::vector<DeviceInfo>> listHipDevices(const std::string &library) {
  auto hip = openHip(library);
  if (!hip)
    return hip.error();
  auto count = (*hip)->deviceCount();
  if (!count)
    return count.error();
  std::vector<DeviceInfo> devices;
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    auto target = (*hip)->target(ordinal);
    if (!target)
      return target.error();
    devices.push_back(
        {.name = fmt::format("hip:{}", ordinal),
         .target = *target,
         .product = fmt::format("{}, {}", (*hip)->productName(ordinal), (*hip)->name())});
  }
  return devices;
}

} // namespace attune
