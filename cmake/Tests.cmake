include_guard()

if(WARPMETER_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# warpmeter_add_test(NAME LABEL label SOURCES ... LIBRARIES ...): one GoogleTest binary per library.
# Labels: unit (no processes), proc (starts processes), gui (Qt offscreen), gpu (needs a GPU, not run by CI).
# TOGETHER pattern: tests that share what is dear to make run as one.
# Tests find the source tree by WARPMETER_SOURCE_DIR and real public data by WARPMETER_DATA_DIR.
function(warpmeter_add_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT;TOGETHER" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main warpmeter_warnings)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE
    WARPMETER_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    WARPMETER_BINARY_DIR="${PROJECT_BINARY_DIR}"
    WARPMETER_DATA_DIR="${PROJECT_SOURCE_DIR}/../shared/data")
  # The code under test is compiled as it is used; the tests themselves only have to compile quickly (-O2 -g takes twice as
  # long for them).
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1;-g1>)
  warpmeter_sanitize(${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  # Tests that start processes watch what happens in seconds: alone, so that a loaded machine is not what they see.
  set(serial FALSE)
  if(ARG_LABEL STREQUAL proc)
    set(serial TRUE)
  endif()
  set(environment "QT_QPA_PLATFORM=offscreen;ASAN_OPTIONS=detect_leaks=1;UBSAN_OPTIONS=print_stacktrace=1")
  set(filter "")
  if(ARG_TOGETHER)
    set(filter TEST_FILTER "-${ARG_TOGETHER}")
    add_test(NAME ${ARG_TOGETHER} COMMAND ${name} "--gtest_filter=${ARG_TOGETHER}")
    set_tests_properties(${ARG_TOGETHER} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 600 RUN_SERIAL ${serial} ENVIRONMENT "${environment}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 ${filter} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${serial}
    ENVIRONMENT "${environment}")
endfunction()
