include_guard()

option(WARPMETER_CUDA "Build the recorder's injected library and the kernels (needs the CUDA toolkit >= 13.0.1)" ON)
option(WARPMETER_GUI "Build warpmeter-gui (needs Qt 6)" ON)
option(WARPMETER_TESTS "Build the tests (needs GoogleTest)" ON)
option(WARPMETER_BENCHMARKS "Build the benchmarks (needs Google Benchmark)" OFF)
option(WARPMETER_WERROR "Warnings are errors" OFF)
option(WARPMETER_STATIC "Link SQLite, libstdc++ and libgcc statically: runs on machines that lack them" OFF)
set(WARPMETER_SANITIZE "" CACHE STRING "-fsanitize= value for everything but the injected library")
set(WARPMETER_CUDA_ARCHITECTURES "90" CACHE STRING "SASS targets of the kernels; PTX of the last one is added")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

# libgcc stays shared: the static one asks for _dl_find_object (GLIBC_2.35). Without --gc-sections libstdc++ brings
# arc4random (2.36) along for a random_device that nobody uses.
set(WARPMETER_PORTABLE_LINK_OPTIONS -static-libstdc++ -Wl,--gc-sections -Wl,--exclude-libs,ALL)
if(WARPMETER_STATIC)
  add_link_options("$<$<LINK_LANGUAGE:CXX>:${WARPMETER_PORTABLE_LINK_OPTIONS}>")
endif()

find_package(Threads REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)

if(WARPMETER_CUDA)
  # The newest toolkit on the machine wins; -DCUDAToolkit_ROOT=... picks another.
  find_package(CUDAToolkit REQUIRED)
  find_path(WARPMETER_CUPTI_INCLUDE cupti.h
    HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include REQUIRED)
  if(CUDAToolkit_VERSION VERSION_LESS 13.0)
    message(FATAL_ERROR "CUDA toolkit ${CUDAToolkit_VERSION} found, 13.0.1 or newer is needed to build the "
      "recorder. Use the preset 'viewer' for a build without it.")
  endif()
  set(CMAKE_CUDA_ARCHITECTURES OFF)  # the kernels say their own -gencode
  enable_language(CUDA)
endif()

if(WARPMETER_GUI)
  find_package(Qt6 6.4 REQUIRED COMPONENTS Core Gui Widgets)
endif()
