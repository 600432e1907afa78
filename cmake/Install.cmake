include_guard()
include(GNUInstallDirs)

# bin/ warpmeter, warpmeter-gui · libexec/warpmeter/ warpmeter-recorder · lib/warpmeter/ libwarpmeter_inject.so, kernels/
# The build tree has the same shape below build/PRESET/, so that programs find each other in the same way in both.
set(WARPMETER_LIBEXEC libexec/warpmeter)
set(WARPMETER_LIB lib/warpmeter)
set(WARPMETER_KERNELS lib/warpmeter/kernels)

# The demo and its recordings travel along, so that an unpacked portable folder shows itself.
install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/demo.sh ${PROJECT_SOURCE_DIR}/scripts/setup.sh
  ${PROJECT_SOURCE_DIR}/scripts/common.sh DESTINATION share/warpmeter/scripts)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tests/data/recordings/ DESTINATION share/warpmeter/recordings
  FILES_MATCHING PATTERN "*.wm.sqlite.gz")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/warpmeter)
