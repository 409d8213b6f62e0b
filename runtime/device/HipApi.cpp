#include "runtime/device/HipApi.h"
#include "runtime/abi/SharedLibrary.h"
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace attune {
namespace {

const std::string candidates[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                  "libamdhip64.so"};
constexpr auto driverFile = "/dev/kfd";
constexpr int oldestMajor = 5, newestMajor = 7;
constexpr int errorNoDevice = 100;

/// hipDeviceProp_t in either layout: the name comes first, the target id at one of these offsets.
/// HIP writes the whole struct, which is smaller than this buffer in every version.
using Properties = std::array<char, 8192>;
constexpr size_t nameBytes = 256, archBytes = 256;
constexpr size_t archOffsetR0000 = 396, archOffsetR0600 = 1160;

std::string textAt(const Properties &p, size_t offset, size_t bytes) {
  return std::string(p.data() + offset, strnlen(p.data() + offset, bytes));
}

/// The properties, and the offset of the target id in them.
Result<size_t> readProperties(const HipApi &hip, int ordinal, Properties &out) {
  out.fill(0);
  bool renewed = hip.hipGetDevicePropertiesR0600;
  auto read = renewed ? hip.hipGetDevicePropertiesR0600 : hip.hipGetDeviceProperties;
  if (int code = read(out.data(), ordinal))
    return hip.failure(code, fmt::format("hip:{}: hipGetDeviceProperties", ordinal));
  return renewed ? archOffsetR0600 : archOffsetR0000;
}

/// Why a machine may have no GPU for HIP to see.
std::string hintsOfNoDevice() {
  for (Variable variable : {Variable::HIP_VISIBLE_DEVICES, Variable::ROCR_VISIBLE_DEVICES})
    if (auto value = environmentOrEmpty(variable))
      return fmt::format("{} is \"{}\"", nameOf(variable), *value);
  if (access(driverFile, F_OK) != 0)
    return "there is no /dev/kfd, so the amdgpu driver is not loaded or, in a container, its "
           "devices are not passed in";
  if (access(driverFile, R_OK | W_OK) != 0)
    return "this user may not open /dev/kfd, which the groups render and video may";
  return "rocminfo lists what the driver has";
}

Result<void> resolve(HipApi &hip, const SharedLibrary &library) {
  std::string missing;
#define HIP_FUNCTION(NAME, RESULT, PARAMETERS)                                                     \
  hip.NAME = library.function<RESULT(*) PARAMETERS>(#NAME);                                        \
  if (!hip.NAME)                                                                                   \
    missing += " " #NAME;
#define HIP_OPTIONAL(NAME, RESULT, PARAMETERS)                                                     \
  hip.NAME = library.function<RESULT(*) PARAMETERS>(#NAME);
#include "runtime/device/HipApi.def"
  if (!hip.hipGetDeviceProperties && !hip.hipGetDevicePropertiesR0600)
    missing += " hipGetDeviceProperties";
  if (missing.empty())
    return {};
  return Error{ErrorCode::Unsupported,
               fmt::format("{} is no HIP runtime of version {} to {}: it lacks{}", library.path(),
                           oldestMajor, newestMajor, missing)};
}

} // namespace

std::string HipApi::name() const { return fmt::format("HIP {}.{} ({})", major, minor, library); }

Error HipApi::failure(int code, const std::string &what) const {
  hipGetLastError();
  const char *text = hipGetErrorString(code), *number = hipGetErrorName(code);
  return {ErrorCode::Device, fmt::format("{}: {} ({})", what, text ? text : "unknown error",
                                         number ? number : fmt::format("{}", code).c_str())};
}

Result<int> HipApi::deviceCount() const {
  int count = 0;
  int code = hipGetDeviceCount(&count);
  if (code == 0 && count > 0)
    return count;
  if (code != 0 && code != errorNoDevice)
    return failure(code, "hipGetDeviceCount");
  hipGetLastError();
  return Error{ErrorCode::Device,
               fmt::format("no device: {} sees none; {}", name(), hintsOfNoDevice())};
}

Result<TargetId> HipApi::target(int ordinal) const {
  Properties properties;
  auto offset = readProperties(*this, ordinal, properties);
  if (!offset)
    return offset.error();
  auto id = parseTargetId(textAt(properties, *offset, archBytes));
  if (!id)
    return Error{ErrorCode::Unsupported,
                 fmt::format("hip:{}: {} lays out its device properties in a way that Attune does "
                             "not know: {}",
                             ordinal, name(), id.error().message)};
  return id;
}

std::string HipApi::productName(int ordinal) const {
  Properties properties;
  return readProperties(*this, ordinal, properties) ? textAt(properties, 0, nameBytes) : "";
}

bool hipIsPlausible() {
  return environment(Variable::ATTUNE_HIP_LIBRARY) || access(driverFile, F_OK) == 0 ||
         isLoaded(candidates);
}

Result<std::shared_ptr<const HipApi>> openHip(const std::string &file) {
  auto library = SharedLibrary::openRocm(file, Variable::ATTUNE_HIP_LIBRARY, candidates);
  if (!library)
    return library.error();
  auto hip = std::make_shared<HipApi>();
  hip->library = library->path();
  if (auto resolved = resolve(*hip, *library); !resolved)
    return resolved.error();
  int version = 0;
  if (int code = hip->hipRuntimeGetVersion(&version); code == errorNoDevice)
    return Error{ErrorCode::Device,
                 fmt::format("no device: {} sees none; {}", hip->library, hintsOfNoDevice())};
  else if (code)
    return hip->failure(code, hip->library + ": hipRuntimeGetVersion");
  hip->major = version / 10'000'000; // as HIP_VERSION is made
  hip->minor = version / 100'000 % 100;
  if (hip->major < oldestMajor || hip->major > newestMajor)
    return Error{ErrorCode::Unsupported,
                 fmt::format("{} is of version {} ({}); HIP {} to {} are known", hip->library,
                             hip->major, version, oldestMajor, newestMajor)};
  return std::shared_ptr<const HipApi>(std::move(hip));
}

} // namespace attune
