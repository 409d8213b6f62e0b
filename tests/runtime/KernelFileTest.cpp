// Kernels on disk.
#include "runtime/launch/KernelFile.h"
#include "runtime/launch/File.h"
#include "tests/runtime/Kernels.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <unistd.h>

using namespace attune;

TEST_CASE("A kernel is saved and loaded by either of its names") {
  auto folder =
      std::filesystem::temp_directory_path() / ("attune-kernel-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::string stem = (folder / "causal.gqa").string(); // a dot in the name is not an ending
  KernelImage image{{1, 2, 3}, testing::sidecar(Storage::Varlen)};
  REQUIRE(saveKernel(stem + ".hsaco", image));
  for (std::string name : {stem, stem + ".hsaco", stem + ".json"}) {
    auto back = loadKernel(name);
    REQUIRE(back);
    CHECK(back->codeObject == image.codeObject);
    CHECK(toJson(back->sidecar) == toJson(image.sidecar));
  }
  std::string broken = "{";
  REQUIRE(
      writeFile(stem + ".json", {reinterpret_cast<const uint8_t *>(broken.data()), broken.size()}));
  CHECK_THAT(loadKernel(stem).error().message, Catch::Contains("causal.gqa.json"));
  CHECK(loadKernel((folder / "none").string()).error().code == ErrorCode::NotFound);
  std::filesystem::remove_all(folder);
}
