// Code generation as a library: bytes that depend on the input alone, resources as the code object
// states them, and errors instead of a process that ends.
#include "compiler/codegen/Codegen.h"
#include "compiler/codegen/FatalGuard.h"
#include "compiler/codegen/LeanPasses.h"
#include "compiler/codegen/Machines.h"
#include "fmt/format.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Target/TargetMachine.h"
#include <catch2/catch.hpp>
#include <thread>

using namespace attune;

namespace {

using Bytes = std::vector<uint8_t>;

/// MLIR text to optimised LLVM IR.
Result<codegen::LlvmKernel> optimized(const std::string &text, std::string_view cpu = "gfx950") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::LLVM::LLVMDialect, mlir::ROCDL::ROCDLDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  Result<codegen::LlvmKernel> kernel = codegen::translate(*module, cpu);
  if (!kernel)
    return kernel.error();
  if (Result<void> done = codegen::optimize(*kernel); !done)
    return done.error();
  return kernel;
}

/// Everything from MLIR text to a code object.
Result<Bytes> compile(const std::string &text, std::string_view cpu = "gfx950") {
  Result<codegen::LlvmKernel> kernel = optimized(text, cpu);
  if (!kernel)
    return kernel.error();
  Result<std::string> object = codegen::emitObject(*kernel);
  if (!object)
    return object.error();
  return codegen::link(*object, kernel->name());
}

/// A kernel that copies one float per thread; `extra` is put before the copy.
std::string copyKernel(const std::string &extra = "", const std::string &name = "copy",
                       int wavesPerEu = 1) {
  return fmt::format(R"(
llvm.func amdgpu_kernelcc @{}(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>, %scale: f32, %rows: i64)
    attributes {{rocdl.kernel, rocdl.flat_work_group_size = "256,256",
                rocdl.waves_per_eu = {} : i32}} {{
  %tid = rocdl.workitem.id.x : i32
  %src = llvm.getelementptr %from[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %dst = llvm.getelementptr %to[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  {}
  %x = llvm.load %src : !llvm.ptr<1> -> f32
  llvm.store %x, %dst : f32, !llvm.ptr<1>
  llvm.return
}}
)",
                     name, wavesPerEu, extra);
}

/// A kernel that keeps `count` floats alive over a barrier, in registers for `wavesPerEu` waves.
std::string pressureKernel(int count, int wavesPerEu) {
  std::string body = "%n = llvm.mlir.constant(256 : i32) : i32\n";
  for (int i = 0; i < count; ++i)
    body += fmt::format("%o{0} = llvm.mlir.constant({1} : i32) : i32\n"
                        "%p{0} = llvm.getelementptr %src[%o{0}] : (!llvm.ptr<1>, i32) -> "
                        "!llvm.ptr<1>, f32\n"
                        "%v{0} = llvm.load volatile %p{0} : !llvm.ptr<1> -> f32\n",
                        i, 256 * i);
  body += "rocdl.s.barrier\n";
  for (int i = 0; i < count; ++i)
    body += fmt::format("%q{0} = llvm.getelementptr %dst[%o{0}] : (!llvm.ptr<1>, i32) -> "
                        "!llvm.ptr<1>, f32\n"
                        "llvm.store volatile %v{0}, %q{0} : f32, !llvm.ptr<1>\n",
                        i);
  return copyKernel(body, "copy", wavesPerEu);
}

codegen::KernelInfo inspect(const Result<Bytes> &image) {
  INFO((image ? "" : image.error().message));
  REQUIRE(image);
  Result<codegen::KernelInfo> info = codegen::readKernel(*image);
  INFO((info ? "" : info.error().message));
  REQUIRE(info);
  return *info;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

std::string errorOf(const Result<Bytes> &result) {
  REQUIRE_FALSE(result);
  return result.error().message;
}

TEST_CASE("a code object states its kernel's arguments and nothing hidden") {
  const codegen::KernelInfo info = inspect(compile(copyKernel()));
  CHECK(info.name == "copy");
  CHECK(info.maxWorkgroupThreads == 256);
  CHECK(info.kernargBytes == 32);
  REQUIRE(info.args.size() == 4);
  const uint32_t offsets[] = {0, 8, 16, 24}, sizes[] = {8, 8, 4, 8};
  for (size_t i = 0; i < 4; ++i) {
    CHECK(info.args[i].offset == offsets[i]);
    CHECK(info.args[i].size == sizes[i]);
  }
  CHECK(info.resources.vgpr > 0);
  CHECK(info.resources.sgpr > 0);
  CHECK(info.resources.scratchBytes == 0);
}

TEST_CASE("LLVM's backend still has every pass that is skipped") {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = codegen::takeMachine("gfx950");
  REQUIRE(machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  codegen::LeanPassManager passes;
  CHECK_FALSE(passes.unmet().empty());
  REQUIRE_FALSE(
      (*machine)->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile));
  CHECK(passes.unmet() == std::vector<std::string>());
}

TEST_CASE("equal inputs give equal bytes, on one thread or several") {
  const Result<Bytes> first = compile(copyKernel());
  REQUIRE(first);
  std::vector<Bytes> results(4);
  std::vector<std::thread> threads;
  for (Bytes &result : results)
    threads.emplace_back([&result] {
      for (int i = 0; i < 3; ++i)
        if (Result<Bytes> image = compile(copyKernel()))
          result = std::move(*image);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Bytes &result : results)
    CHECK(result == *first);
  CHECK(compile(copyKernel("", "other")).value() != *first);
}

TEST_CASE("no path and no temporary name is in the bytes") {
  const Result<Bytes> image = compile(copyKernel());
  REQUIRE(image);
  const std::string text(image->begin(), image->end());
  CHECK_FALSE(contains(text, "/tmp"));
  CHECK_FALSE(contains(text, "kernel.o"));
}

TEST_CASE("LDS, registers and spills are read from the code object") {
  const std::string lds =
      "llvm.mlir.global internal @lds() {addr_space = 3 : i32, alignment = 16 : i64} "
      ": !llvm.array<163840 x i8>\n";
  const std::string use = "%lds = llvm.mlir.addressof @lds : !llvm.ptr<3>\n"
                          "%y = llvm.load volatile %lds : !llvm.ptr<3> -> f32\n";
  CHECK(inspect(compile(lds + copyKernel(use))).resources.ldsBytes == 163840);

  const Resources fits = inspect(compile(pressureKernel(100, 1))).resources;
  CHECK(fits.vgpr + fits.agpr >= 100);
  CHECK(fits.vgpr + fits.agpr <= 128);
  CHECK(fits.scratchBytes == 0);
  CHECK(fits.vgprSpills == 0);

  const Resources spills = inspect(compile(pressureKernel(100, 8))).resources;
  CHECK(spills.vgpr + spills.agpr == 64);
  CHECK(spills.scratchBytes > 0);
  CHECK(spills.vgprSpills > 0);
}

TEST_CASE("what LLVM refuses is an error that names the kernel, and the next kernel compiles") {
  const std::string lds =
      "llvm.mlir.global internal @lds() {addr_space = 3 : i32, alignment = 16 : i64} "
      ": !llvm.array<163844 x i8>\n";
  const std::string use = "%lds = llvm.mlir.addressof @lds : !llvm.ptr<3>\n"
                          "%y = llvm.load volatile %lds : !llvm.ptr<3> -> f32\n";
  const std::string tooMuch = errorOf(compile(lds + copyKernel(use)));
  CHECK(contains(tooMuch, "copy"));
  CHECK(contains(tooMuch, "163844"));

  // This counter came after gfx950: the backend has no instruction to select and ends the process,
  // but for the guard.
  const std::string noInstruction = errorOf(compile(copyKernel("rocdl.s.wait.asynccnt 0")));
  CHECK(contains(noInstruction, "copy"));
  CHECK(contains(noInstruction, "annot select"));

  CHECK(inspect(compile(copyKernel())).name == "copy");
}

TEST_CASE("a fatal error inside a guard comes back as its message") {
  CHECK(codegen::runGuarded([] {}) == std::nullopt);
  const auto inner = codegen::runGuarded([] {
    CHECK(codegen::runGuarded([] { llvm::report_fatal_error("deep"); }) == "deep");
    llvm::report_fatal_error("shallow");
  });
  CHECK(inner == "shallow");
}

TEST_CASE("a module must hold one kernel, for a processor that exists") {
  CHECK(contains(errorOf(compile("llvm.func @f() { llvm.return }")), "no llvm.func"));
  CHECK(contains(errorOf(compile(copyKernel() + copyKernel("", "second"))), "second"));
  const Result<Bytes> unknown = compile(copyKernel(), "gfx000");
  CHECK(contains(errorOf(unknown), "gfx000"));
  CHECK(unknown.error().code == ErrorCode::Unsupported);
}

TEST_CASE("LLD's variables reach no code object, and temporary files need no TMPDIR") {
  const Bytes usual = *compile(copyKernel());
  for (const auto &[name, value] : {std::pair{"LLD_VERSION", "LLD of somebody, with a long name"},
                                    {"TMPDIR", "/nowhere/at/all"}}) {
    INFO(name);
    setenv(name, value, 1);
    Result<Bytes> other = compile(copyKernel());
    unsetenv(name);
    REQUIRE(other);
    CHECK(*other == usual);
  }
  const std::string text(usual.begin(), usual.end());
  for (const char *section : {".comment", ".symtab", ".debug"})
    CHECK(text.find(section) == std::string::npos);
}

std::string told(const codegen::KernelInfo &info) {
  const Resources &r = info.resources;
  std::string text = fmt::format("{} {} {}: {} {} {} {} {} {} {}", info.name, info.kernargBytes,
                                 info.maxWorkgroupThreads, r.vgpr, r.agpr, r.sgpr, r.ldsBytes,
                                 r.scratchBytes, r.vgprSpills, r.sgprSpills);
  for (const KernelArg &arg : info.args)
    text += fmt::format("; {} {} {}", arg.name, arg.offset, arg.size);
  return text;
}

TEST_CASE("Assembly text says of its kernel what the code object says") {
  // Names that YAML would take for something else, and a kernel that spills.
  for (const std::string &text : {copyKernel(), copyKernel("", "true"), copyKernel("", "_1e5"),
                                  copyKernel("", "null"), pressureKernel(100, 8)}) {
    const codegen::KernelInfo object = inspect(compile(text));
    Result<codegen::LlvmKernel> kernel = optimized(text);
    REQUIRE(kernel);
    Result<std::string> isa = codegen::emitIsa(*kernel);
    REQUIRE(isa);
    Result<codegen::KernelInfo> info = codegen::readIsa(*isa);
    INFO((info ? "" : info.error().message));
    REQUIRE(info);
    CHECK(told(*info) == told(object));
  }
  CHECK_FALSE(codegen::readIsa(""));
  CHECK_FALSE(codegen::readIsa("\t.amdgpu_metadata\namdhsa.kernels: []\n\t.end_amdgpu_metadata\n"));
}

TEST_CASE("a broken code object is an error") {
  Result<Bytes> image = compile(copyKernel());
  REQUIRE(image);
  CHECK_FALSE(codegen::readKernel({}));
  CHECK_FALSE(codegen::readKernel(Bytes(image->begin(), image->begin() + 100)));
  CHECK_FALSE(codegen::link("not an object", "copy"));
  CHECK(inspect(compile(copyKernel())).name == "copy"); // the linker runs again after a failure
}

} // namespace
