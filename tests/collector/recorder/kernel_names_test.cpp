// SPDX-License-Identifier: Apache-2.0
#include "kernel_names.h"

#include <gtest/gtest.h>

namespace warpmeter::recorder {
namespace {

struct Case {
  const char* full;
  const char* shortName;
};

class ShortName : public testing::TestWithParam<Case> {};

TEST_P(ShortName, isTheIdentifierAlone) { EXPECT_EQ(shortKernelName(GetParam().full), GetParam().shortName); }

INSTANTIATE_TEST_SUITE_P(
    KernelNames, ShortName,
    testing::Values(
        Case{"saxpy(int, float, float const*, float*)", "saxpy"},
        Case{"saxpy", "saxpy"},
        Case{"void f<(int)4, float>(int, T2)", "f"},
        Case{"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >"
             "(int, at::native::FillFunctor<float>, at::detail::Array<char*, 1>)",
             "vectorized_elementwise_kernel"},
        Case{"(anonymous namespace)::f(int)", "f"},
        Case{"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 4>(float*, int (*)(int))",
             "CatArrayBatchedCopy"},
        Case{"void thrust::cuda_cub::core::_kernel_agent<thrust::A<(B)1>, void (*)(int)>(void (*)(int))", "_kernel_agent"},
        Case{"ns::S::operator()(int) const", "operator()"},
        Case{"void run<ns::less<int>::operator()(int) const::{lambda(int)#1}>(int)", "run"},
        Case{"main::{lambda()#1}::operator()() const", "operator()"},
        Case{"f(int)::g<3>(float)", "g"},
        Case{"ns::operator<<(ns::stream&, int)", "operator<<"},
        Case{"operator_table(int)", "operator_table"},
        Case{"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>(cutlass_80_tensorop_s1688gemm_"
             "128x128_16x5_nn_align4::Params)",
             "Kernel2"},
        Case{"triton_poi_fused_add_mul_0d1d2d3de", "triton_poi_fused_add_mul_0d1d2d3de"},
        Case{"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16", "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16"},
        Case{"_ZN3bad", "_ZN3bad"},
        Case{"(name lost)", "(name lost)"},
        Case{"", ""}));

TEST(Demangle, turnsMangledNamesIntoSignatures) {
  EXPECT_EQ(demangle("_Z5saxpyifPKfPf"), "saxpy(int, float, float const*, float*)");
  EXPECT_EQ(demangle("saxpy"), "saxpy");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
}

TEST(Demangle, leavesVeryLongNamesAlone) {
  // A name of half a megabyte whose expansion would be far larger.
  std::string name = "_Z1fI";
  while (name.size() < 512 * 1024) name += "St6vectorIiSaIiEE";
  name += "Evv";
  EXPECT_EQ(demangle(name), name);
  EXPECT_EQ(shortKernelName(name), name);
}

TEST(Demangle, capsWhatExpandsWithoutBound) {
  // Each level names the one before twice, so the text doubles with 8 bytes more of name.
  std::string inner = "i";
  for (int i = 0; i < 24; ++i) inner = "St4pairI" + inner + (i == 0 ? "i" : "S" + std::string(1, "0123456789ABCDEFGHIJKLMNOP"[i - 1]) + "_") + "E";
  const std::string text = demangle("_Z1fI" + inner + "Evv");
  EXPECT_LE(text.size(), kMaxDemangledBytes);
}

}  // namespace
}  // namespace warpmeter::recorder
