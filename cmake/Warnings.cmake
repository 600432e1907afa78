include_guard()

add_library(warpmeter_warnings INTERFACE)
target_compile_options(warpmeter_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wno-missing-field-initializers>)
if(WARPMETER_WERROR AND PROJECT_IS_TOP_LEVEL)
  target_compile_options(warpmeter_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

# warpmeter_library(NAME SOURCES ...): a static library with the project's warnings and sanitizers, whose public
# headers lie in include/ and whose private headers lie beside the sources.
function(warpmeter_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  endif()
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} warpmeter_warnings)
  warpmeter_sanitize(${name})
endfunction()

# fmt: shared in development (a third of the compile time), header-only where the build must run elsewhere: the
# distribution has no static libfmt.
add_library(warpmeter_fmt INTERFACE)
target_link_libraries(warpmeter_fmt INTERFACE $<IF:$<BOOL:${WARPMETER_STATIC}>,fmt::fmt-header-only,fmt::fmt>)

# SQLite: shared in development, static where the build must run elsewhere.
add_library(warpmeter_sqlite INTERFACE)
if(WARPMETER_STATIC)
  find_library(WARPMETER_SQLITE_STATIC libsqlite3.a REQUIRED)
  target_include_directories(warpmeter_sqlite INTERFACE ${SQLite3_INCLUDE_DIRS})
  target_link_libraries(warpmeter_sqlite INTERFACE ${WARPMETER_SQLITE_STATIC} Threads::Threads ${CMAKE_DL_LIBS} m)
else()
  target_link_libraries(warpmeter_sqlite INTERFACE SQLite::SQLite3)
endif()
