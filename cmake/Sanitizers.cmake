include_guard()

# Everything but the injected library, which lives in foreign processes.
function(warpmeter_sanitize target)
  if(WARPMETER_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WARPMETER_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>)
    target_link_options(${target} PUBLIC -fsanitize=${WARPMETER_SANITIZE})
  endif()
endfunction()
