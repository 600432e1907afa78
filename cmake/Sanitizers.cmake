include_guard()

# Everything but the injected library, which lives in foreign processes.
function(warpmeter_sanitize target)
  if(WARPMETER_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WARPMETER_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>
      # What the sanitizers add to <regex> and std::function makes GCC 12 see reads of uninitialized members.
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PUBLIC -fsanitize=${WARPMETER_SANITIZE})
  endif()
endfunction()
