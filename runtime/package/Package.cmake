# `cpack --config build/PRESET/CPackConfig.cmake -D CPACK_PACKAGE_CONTACT="NAME <ADDRESS>"` makes the .debs. Who packs
# answers for the packages, so there is no default: without a contact CPack refuses. Dependencies are read from the files
# by dpkg-shlibdeps: only attune-compiler needs LLVM and MLIR.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME attune)
set(CPACK_PACKAGE_VENDOR "the authors of Attune")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENTS_ALL attune attune-dev)
if(TARGET attune_compiler_library)
  list(APPEND CPACK_COMPONENTS_ALL attune-compiler)
endif()

set(same "(= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_ATTUNE_PACKAGE_NAME attune)
set(CPACK_COMPONENT_ATTUNE_DESCRIPTION "Attention kernels for gfx950: the runtime
 Loads and launches kernels from caches and bundles; a simulator of gfx950; a Python package.")
set(CPACK_DEBIAN_ATTUNE_PACKAGE_RECOMMENDS "attune-compiler, libcurl4, python3-numpy")

set(CPACK_DEBIAN_ATTUNE-COMPILER_PACKAGE_NAME attune-compiler)
set(CPACK_COMPONENT_ATTUNE-COMPILER_DESCRIPTION "Attention kernels for gfx950: the compiler
 What libattune loads when no cache has a kernel, and the command attune.")
set(CPACK_DEBIAN_ATTUNE-COMPILER_PACKAGE_DEPENDS "attune ${same}")

set(CPACK_DEBIAN_ATTUNE-DEV_PACKAGE_NAME attune-dev)
set(CPACK_COMPONENT_ATTUNE-DEV_DESCRIPTION "Attention kernels for gfx950: headers
 attune.h, attune.hpp, and what find_package and pkg-config read.")
set(CPACK_DEBIAN_ATTUNE-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_ATTUNE-DEV_PACKAGE_DEPENDS "attune ${same}")
include(CPack)
