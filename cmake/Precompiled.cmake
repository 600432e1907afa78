include_guard()

# warpmeter_precompile(TARGET HEADERS ...): where WARPMETER_PCH is on, compiles these headers once per target. For builds
# from nothing (scripts/test.sh): half of the tests' compile time is GoogleTest. Off for development, where ccache does
# more and cannot see through precompiled headers. Sources include all they use themselves either way: the presets
# viewer and asan-ubsan build without it.
function(warpmeter_precompile target)
  if(WARPMETER_PCH)
    target_precompile_headers(${target} PRIVATE ${ARGN} <algorithm> <filesystem> <functional> <map> <memory> <optional>
      <span> <string> <string_view> <thread> <unordered_map> <vector>)
    # With precompiled headers GCC 12 finds faults inside std::string that are none (its bugs 105329 and 105651).
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-maybe-uninitialized>)
  endif()
endfunction()
