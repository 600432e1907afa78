include_guard()
include(GNUInstallDirs)

# bin/ warpmeter, warpmeter-gui · libexec/warpmeter/ warpmeter-recorder · lib/warpmeter/ libwarpmeter_inject.so, kernels/
# The build tree has the same shape below build/PRESET/, so that programs find each other in the same way in both.
set(WARPMETER_LIBEXEC libexec/warpmeter)
set(WARPMETER_LIB lib/warpmeter)
set(WARPMETER_KERNELS lib/warpmeter/kernels)
