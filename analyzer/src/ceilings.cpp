// SPDX-License-Identifier: Apache-2.0
// What a GPU can reach: measured, else shipped for its model, else computed from clocks and widths.
#include <algorithm>
#include <array>

#include "warpmeter/analyzer/bound.h"

namespace warpmeter::analyzer {
namespace {

// Operations per cycle of one multiprocessor; an FMA is two. 0 = not published for that chip. FP32 and FP64:
// table "Throughput of Native Arithmetic Instructions" of the CUDA C++ Programming Guide 13.0. Tensor (BF16,
// dense, FP32 accumulation): NVIDIA's architecture papers for A100, GA102, Ada, H100 and Blackwell; of chips
// sold with two rates the higher one.
struct ChipRates {
  int capability;  // major * 10 + minor
  double fp32, fp64, tensorBf16;
};
constexpr std::array kChips{
    ChipRates{75, 128, 4, 0},       ChipRates{80, 128, 64, 2048}, ChipRates{86, 256, 4, 1024},
    ChipRates{87, 256, 4, 0},       ChipRates{89, 256, 4, 1024},  ChipRates{90, 256, 128, 4096},
    ChipRates{100, 256, 128, 8192}, ChipRates{103, 256, 4, 8192}, ChipRates{110, 256, 4, 0},
    ChipRates{120, 256, 4, 1024},   ChipRates{121, 256, 4, 1024},
};

// Medians of `warpmeter calibrate` on GPUs of that model, whose name is TARGET_INFO_GPU.name without the
// vendor. A line is added only from a measured run: its date and driver go into docs/metrics.md.
struct ShippedCeilings {
  std::string_view model;
  double dramBytesPerSec, fp32PerSec, fp64PerSec, tensorBf16PerSec;
};
constexpr std::array<ShippedCeilings, 1> kShipped{{{"H200", 4.26e12, 65.2e12, 33.4e12, 979e12}}};

// Outside are no GPUs, but damaged files; an infinite rate too.
constexpr double kLeastPerSec = 1e6, kMostPerSec = 1e18;
bool plausible(double perSec) { return perSec >= kLeastPerSec && perSec <= kMostPerSec; }

std::optional<Ceilings> measuredCeilings(std::span<const CeilingInfo> measured) {
  Ceilings out;
  bool any = false;
  for (const CeilingInfo& c : measured) {
    if (c.source != "calibrated" || !plausible(c.value)) continue;
    double* const to = c.kind == "dram"          ? &out.dramBytesPerSec
                       : c.kind == "fp32"        ? &out.fp32PerSec
                       : c.kind == "fp64"        ? &out.fp64PerSec
                       : c.kind == "tensor.bf16" ? &out.tensorBf16PerSec
                                                 : nullptr;
    if (!to) continue;
    *to = c.value;
    any = true;
  }
  if (!any) return std::nullopt;
  out.source = CeilingSource::calibrated;
  out.from = "calibrated on this GPU";
  return out;
}

std::optional<Ceilings> shippedCeilings(std::string_view name) {
  constexpr std::string_view kVendor = "NVIDIA ";
  if (name.starts_with(kVendor)) name.remove_prefix(kVendor.size());
  const auto* const found = std::find_if(kShipped.begin(), kShipped.end(),
                                         [&](const ShippedCeilings& s) { return s.model == name; });
  if (found == kShipped.end()) return std::nullopt;
  return Ceilings{found->dramBytesPerSec, found->fp32PerSec,
                  found->fp64PerSec,      found->tensorBf16PerSec,
                  CeilingSource::shipped, "shipped for " + std::string(found->model)};
}

double known(std::int64_t value) { return isNull(value) || value <= 0 ? 0.0 : static_cast<double>(value); }

std::optional<Ceilings> theoreticalCeilings(const GpuInfo& gpu) {
  Ceilings out;
  // Data moves on both edges of the memory clock.
  out.dramBytesPerSec = known(gpu.memoryClockHz) * 2 * known(gpu.memoryBusBits) / 8;
  if (out.dramBytesPerSec <= 0) out.dramBytesPerSec = known(gpu.memoryBandwidth);
  if (!isNull(gpu.computeMajor) && !isNull(gpu.computeMinor)) {
    const std::int64_t capability = gpu.computeMajor * 10 + gpu.computeMinor;
    const double cycles = known(gpu.smCount) * known(gpu.clockRate);  // of all multiprocessors, each second
    for (const ChipRates& chip : kChips) {
      if (chip.capability != capability) continue;
      out.fp32PerSec = chip.fp32 * cycles;
      out.fp64PerSec = chip.fp64 * cycles;
      out.tensorBf16PerSec = chip.tensorBf16 * cycles;
    }
  }
  for (double* rate : {&out.dramBytesPerSec, &out.fp32PerSec, &out.fp64PerSec, &out.tensorBf16PerSec})
    if (!plausible(*rate)) *rate = 0;
  if (out.dramBytesPerSec <= 0 && out.fp32PerSec <= 0) return std::nullopt;
  out.source = CeilingSource::theoretical;
  out.from = "theoretical, from clocks and widths";
  return out;
}

}  // namespace

std::string_view idOf(CeilingSource source) {
  constexpr std::array<std::string_view, 3> kIds{"calibrated", "shipped", "theoretical"};
  return kIds[static_cast<std::size_t>(source)];
}

std::optional<Ceilings> ceilingsFrom(const GpuInfo& gpu, std::span<const CeilingInfo> measured) {
  if (auto out = measuredCeilings(measured)) return out;
  if (auto out = shippedCeilings(gpu.name)) return out;
  return theoreticalCeilings(gpu);
}

std::optional<Ceilings> ceilingsOf(const ProfileView& view, std::uint32_t gpu,
                                   std::span<const CalibratedGpu> known) {
  if (gpu >= view.gpus().size()) return std::nullopt;
  const ViewGpu& g = view.gpus()[gpu];
  std::vector<CeilingInfo> measured;
  if (auto all = view.sources()[g.source].reader->ceilings())
    for (const CeilingInfo& c : *all)
      if (c.gpuId == g.info.id) measured.push_back(c);
  if (measured.empty() && !g.info.uuid.empty())
    for (const CalibratedGpu& k : known)
      if (k.uuid == g.info.uuid) measured = k.values;
  return ceilingsFrom(g.info, measured);
}

}  // namespace warpmeter::analyzer
