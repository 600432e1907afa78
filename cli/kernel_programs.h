// SPDX-License-Identifier: Apache-2.0
// The bundled programs (kernels/): where they lie, what they say about themselves, and what a run of one
// measured.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/gpu_probe.h"
#include "cli/json.h"
#include "warpmeter/analyzer/reference.h"

namespace warpmeter::cli {

// In the order of their names. Errors: notFound in a build without the CUDA toolkit.
Result<std::vector<std::filesystem::path>> kernelPrograms();
// Errors: usage, naming those that there are; as above.
Result<std::filesystem::path> kernelProgram(const std::string& name);

// What the program says about itself (docs/kernels.schema.json); null when it says nothing that can be
// understood.
Json describeProgram(const std::filesystem::path& program);

// "memory", "compute": the folder of the program's source; "" when the installation does not say.
std::string groupOf(const std::string& program);

std::string textIn(const Json& json, const char* key);  // harmless; "" when it is no text
std::optional<double> numberIn(const Json& json, const char* key);
bool hasOption(const Json& description, const std::string& name);  // "--block"

// One run of one variant.
struct VariantRun {
  // notAvailable: what it needs is not here (a library, a second GPU), it ended well and measured nothing.
  // noTime: not run.
  enum class Status { measured, notAvailable, failed, noTime };
  Status status = Status::noTime;
  int exitCode = 0;
  double seconds = 0;                // the whole process
  std::string reason;                // one line, unless measured
  analyzer::ReferenceResult result;  // measured: its rates
  Json values;                       // measured: all that it printed
  std::string limiter;               // as described
};
std::string_view idOf(VariantRun::Status status);  // "measured", "not_available", "failed", "no_time"

// Everything but the rates, from one of description["variants"].
VariantRun variantOf(const Json& description, const Json& variant);

// Runs PROGRAM --variant V --json MORE and takes its answer into `run`. timeoutMs: it is ended then, and has
// failed.
void measureVariant(VariantRun& run, const std::filesystem::path& program,
                    const std::vector<std::string>& more, int timeoutMs);

// Time of one launch, or the first time that the program prints where it has no launches to time.
std::optional<double> timeNsOf(const VariantRun& run);
std::string rateText(const VariantRun& run);  // "4.10 TB/s", "60.1 TFLOP/s", "—"

// The GPU that --gpu means (nullopt: CUDA's first) of those that the driver names. noGpu: there is none at
// all.
struct ChosenGpu {
  std::optional<ProbedGpu> gpu;
  bool noGpu = false;
  std::string why;
};
ChosenGpu chooseGpu(std::optional<std::int64_t> wanted);

// As recordings describe it: UUID without "GPU-".
GpuInfo infoOf(const ProbedGpu& gpu);

}  // namespace warpmeter::cli
