// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <algorithm>
#include <array>

#include "cli/counters_option.h"

namespace warpmeter::cli {
namespace {

constexpr std::uint32_t kRecord = verbBit(Verb::record), kReport = verbBit(Verb::report),
                        kOccupancy = verbBit(Verb::occupancy), kDoctor = verbBit(Verb::doctor),
                        kCalibrate = verbBit(Verb::calibrate), kList = verbBit(Verb::kernelsList), kRun = verbBit(Verb::kernelsRun),
                        kCompare = verbBit(Verb::kernelsCompare), kTune = verbBit(Verb::kernelsTune);
constexpr std::uint32_t kEvery = verbBit(Verb::count) - 1;

using enum ValueKind;

constexpr OptionSpec kOptions[] = {
    // record
    {Opt::output, "--output", 'o', text, "FILE", "", "WARPMETER_OUTPUT",
     "./NAME.wm.sqlite, then NAME.2.wm.sqlite ...",
     "file to write; an existing one is refused without --force", kRecord},
    {Opt::force, "--force", 0, flag, "", "", "", "", "let --output replace an existing file", kRecord},
    {Opt::delay, "--delay", 0, seconds, "SECONDS", "", "", "0",
     "keep nothing from the first SECONDS of the run", kRecord},
    {Opt::duration, "--duration", 0, seconds, "SECONDS", "", "", "to the end",
     "keep SECONDS from then on; the application runs on; not with --capture-range", kRecord},
    {Opt::captureRange, "--capture-range", 0, captureRange, "RANGE", "", "", "the whole run",
     "keep only what happens between cudaProfilerStart and cudaProfilerStop (cudaProfilerApi) or inside the "
     "NVTX range NAME (nvtx:NAME)",
     kRecord},
    {Opt::api, "--api", 0, choice, "SET", "work|all|none", "WARPMETER_API", "work",
     "API calls to keep: work = launches, copies, memsets, allocations, synchronization, streams, events, "
     "graphs, module, library and context calls",
     kRecord},
    {Opt::flushMs, "--flush-ms", 0, whole, "MS", "", "WARPMETER_FLUSH_MS", "250",
     "how often finished records are handed over; what ended two seconds before a kill -9 is always kept",
     kRecord},
    {Opt::maxMemory, "--max-memory", 0, bytes, "BYTES", "", "WARPMETER_MAX_MEMORY",
     "1 GiB or 1/8 of the container's limit", "record buffers of all processes together (48M, 1G), 4M at least", kRecord},
    {Opt::maxSize, "--max-size", 0, bytes, "BYTES", "", "WARPMETER_MAX_SIZE", "unlimited",
     "stop keeping records when the file and its spill file reach this size; losses are counted", kRecord},
    {Opt::launchLatency, "--launch-latency", 0, optionalChoice, "", "force", "", "off",
     "also record when launches were queued and submitted (table WM_LATENCY); only where CUPTI is free of a known deadlock "
     "(13.4 Update 1), =force everywhere",
     kRecord},
    {Opt::counters, "--counters", 0, choice, "HOW", kCountersChoices, "WARPMETER_COUNTERS", "sample",
     "counters of the GPU: sample = over the whole GPU while the application runs at its full speed; exact = around single "
     "launches, which wait for an idle GPU (not for programs whose kernels wait for each other or for the host); pc = why "
     "warps wait, per instruction and, where the code was compiled with -lineinfo, per source line; where the "
     "system does not permit it the recording goes on without and says why",
     kRecord},
    {Opt::launchesPerKernel, "--launches-per-kernel", 0, whole, "N", "", "", "3",
     "exact: launches of each distinct kernel to measure with each set of metrics, after its first launch; at most 100",
     kRecord},
    {Opt::metrics, "--metrics", 0, choice, "SET", "basic|full", "", "basic",
     "exact: basic = occupancy, DRAM, instructions, pipes, issue, L2, L1; full = also stall reasons and more, at about four "
     "times the cost",
     kRecord},
    {Opt::pcPeriod, "--pc-period", 0, whole, "N", "", "", "18",
     "pc: a sample every 2^N cycles, 5 to 31; a smaller N gives more samples and costs more; without effect on Blackwell",
     kRecord},
    {Opt::samplerCpu, "--sampler-cpu", 0, cores, "CORES", "", "WARPMETER_SAMPLER_CPU", "0.5",
     "CPU cores that sampling may use, 0.05 to 8: more gives more samples", kRecord},
    {Opt::noNvtx, "--no-nvtx", 0, flag, "", "", "", "", "leave NVTX ranges out", kRecord},
    {Opt::cupti, "--cupti", 0, text, "PATH", "", "WARPMETER_CUPTI", "beside the application's CUDA toolkit",
     "the libcupti to use", kRecord},
    {Opt::quiet, "--quiet", 'q', flag, "", "", "", "", "print nothing", kRecord},

    // report
    {Opt::top, "--top", 0, whole, "N", "", "", "10", "kernels to list", kReport},
    {Opt::kernel, "--kernel", 0, text, "NAME", "", "", "",
     "only kernels whose name contains NAME, in full detail (occupancy: the launches to compute)",
     kReport | kOccupancy},
    {Opt::nvtx, "--nvtx", 0, flag, "", "", "", "", "add the NVTX ranges", kReport},
    {Opt::all, "--all", 0, flag, "", "", "", "", "list every kernel, stream and process", kReport},
    {Opt::wide, "--wide", 0, flag, "", "", "", "", "do not cut lines at 110 columns", kReport | kCompare},
    {Opt::fullNames, "--full-names", 0, flag, "", "", "", "", "whole kernel names with template arguments",
     kReport},

    // occupancy
    {Opt::cc, "--cc", 0, capability, "X.Y", "", "", "", "compute capability, 7.5 to 12.1", kOccupancy},
    {Opt::registers, "--registers", 0, whole, "N", "", "", "", "registers per thread", kOccupancy},
    {Opt::block, "--block", 0, extent, "N", "", "", "", "threads per block, or XxYxZ", kOccupancy},
    {Opt::sharedStatic, "--shared-static", 0, bytes, "BYTES", "", "", "0", "static shared memory per block",
     kOccupancy},
    {Opt::sharedDynamic, "--shared-dynamic", 0, bytes, "BYTES", "", "", "0",
     "dynamic shared memory per block", kOccupancy},
    {Opt::grid, "--grid", 0, extent, "N", "", "", "", "blocks of the grid, or XxYxZ; adds waves and tail",
     kOccupancy},
    {Opt::cluster, "--cluster", 0, extent, "N", "", "", "1", "blocks per cluster, or XxYxZ", kOccupancy},
    {Opt::carveout, "--carveout", 0, percent, "PERCENT", "", "", "chosen by the driver",
     "preferred shared memory share of the L1 cache", kOccupancy},
    {Opt::sms, "--sms", 0, whole, "N", "", "", "a common GPU of that capability",
     "multiprocessors of the GPU, for waves", kOccupancy},

    // doctor, calibrate, kernels
    {Opt::require, "--require", 0, choice, "WHAT", "counters", "", "", "exit with 4 when WHAT does not work",
     kDoctor},
    {Opt::gpu, "--gpu", 0, index, "N", "", "", "calibrate: every GPU; kernels: 0", "the GPU to measure, by its CUDA number",
     kCalibrate | kRun | kTune},
    {Opt::variant, "--variant", 0, text, "V", "", "", "the program's first", "variant of the kernel program",
     kRun | kTune},
    {Opt::recordRun, "--record", 0, flag, "", "", "", "", "record the run and print where the file is", kRun},
    {Opt::limit, "--limit", 0, whole, "SECONDS", "", "", "60", "time for the whole set", kRun},

    // several
    {Opt::json, "--json", 0, flag, "", "", "", "", "print JSON (docs/VERB.schema.json)",
     kReport | kOccupancy | kDoctor | kCalibrate | kList | kRun | kCompare | kTune},
    {Opt::strict, "--strict", 0, flag, "", "", "", "",
     "exit with 3 when the recording is incomplete (record: and the application exited with 0)",
     kRecord | kReport | kOccupancy},
    {Opt::help, "--help", 'h', flag, "", "", "", "", "print this help", kEvery},
};
static_assert(std::size(kOptions) == static_cast<std::size_t>(Opt::count));

constexpr Example kRecordExamples[] = {
    {"warpmeter record -- ./app --size 4096", "writes ./app.wm.sqlite"},
    {"warpmeter record -o step.wm.sqlite --capture-range nvtx:step -- python train.py",
     "only inside the range \"step\""},
    {"warpmeter record --delay 30 --duration 10 -- ./server", "10 s after a warm-up of 30 s"},
};
constexpr Example kReportExamples[] = {
    {"warpmeter report app.wm.sqlite", "what happened, what to do"},
    {"warpmeter report app.wm.sqlite --kernel saxpy", "one kernel in detail"},
    {"warpmeter report app.wm.sqlite --json | jq '.kernels[0]'", "for scripts"},
    {"warpmeter report trace.sqlite", "a file from `nsys export --type sqlite`"},
};
constexpr Example kOccupancyExamples[] = {
    {"warpmeter occupancy --cc 9.0 --registers 40 --block 256", "limiter and better block sizes"},
    {"warpmeter occupancy --cc 8.6 --registers 64 --block 16x16 --shared-dynamic 48K --grid 500",
     "with waves and tail"},
    {"warpmeter occupancy app.wm.sqlite --kernel saxpy", "launches of a recording"},
};
constexpr Example kDoctorExamples[] = {
    {"warpmeter doctor", "what works on this machine"},
    {"warpmeter doctor --require counters --json", "for scripts; 4 when counters are not permitted"},
};
constexpr Example kCalibrateExamples[] = {
    {"warpmeter calibrate", "copies, FMA and tensor rates of every GPU, kept for reports"},
    {"warpmeter calibrate --gpu 0 --json", "one GPU, for scripts"},
};
constexpr Example kListExamples[] = {{"warpmeter kernels list", "names, variants and what each one shows"}};
constexpr Example kRunExamples[] = {
    {"warpmeter kernels run", "all of them, kept as references for this GPU"},
    {"warpmeter kernels run saxpy", "runs it and checks its result"},
    {"warpmeter kernels run matmul --variant tiled --record -- --n 2048",
     "records it as matmul.wm.sqlite"},
};
constexpr Example kCompareExamples[] = {
    {"warpmeter kernels compare app.wm.sqlite", "how near its kernels come to what this GPU was seen to do"},
};
constexpr Example kTuneExamples[] = {
    {"warpmeter kernels tune saxpy", "time and possible occupancy of each block size"},
    {"warpmeter kernels tune transpose --variant padded --json", "for scripts"},
};

constexpr VerbSpec kVerbs[] = {
    {Verb::record, "record", "-- APP [ARGS]", "run a program and record its CUDA work into a file",
     "Runs APP and records its kernels, copies, API calls and NVTX ranges, and those of every process it "
     "starts. APP keeps its input, output, signals and exit code; messages go to stderr, each starting with "
     "\"warpmeter: \".",
     "the application's own; 128+n after signal n; 125 not started, 126 not executable, 127 not found; 3 by "
     "--strict",
     kRecordExamples, 0, 0, true},
    {Verb::report, "report", "FILE", "say what a recording holds: time, kernels, streams, cold start, copies",
     "Prints what FILE holds, quality of the data first. FILE is a Warpmeter recording or an nsys .sqlite "
     "export; which one is found out by content. Long loads show progress on stderr.",
     "0 printed, 2 FILE cannot be read as a profile, 3 by --strict", kReportExamples, 1, 1, false},
    {Verb::occupancy, "occupancy", "[FILE]",
     "compute theoretical occupancy, what limits it, and better block sizes",
     "Computes the theoretical occupancy of a launch and says what limits it, how many waves its grid takes "
     "and which block sizes would do better. Takes a launch as numbers (--cc, --registers, --block), or from "
     "FILE with --kernel.",
     "0 printed, 2 wrong numbers or FILE cannot be read, 3 by --strict", kOccupancyExamples, 0, 1, false},
    {Verb::doctor, "doctor", "", "check what can be recorded on this machine",
     "Checks GPUs, CUPTI, tracing (by recording a program with 1000 launches), permission for counters, "
     "other tools in the way, the host and the output folder. Each warning comes with its remedy.",
     "0 recording works, 4 no recording possible here or --require not met", kDoctorExamples, 0, 0, false},
    {Verb::calibrate, "calibrate", "", "measure what the GPUs of this machine can reach",
     "Measures the memory and the arithmetic of each GPU (a second or two each) and keeps the result per GPU in "
     "$XDG_DATA_HOME/warpmeter/ceilings.json or ~/.local/share/warpmeter/ceilings.json. Reports of recordings made on "
     "these GPUs compare kernels with it, and later recordings carry it along; without it they use shipped or "
     "theoretical ceilings, and say so. Run it on "
     "an idle GPU.",
     "0 measured and kept, 2 it failed, 4 no GPU or no CUDA in this build", kCalibrateExamples, 0, 0, false},
    {Verb::kernelsList, "kernels list", "", "list the bundled example programs",
     "Lists the bundled programs: what each one teaches, its variants and what limits it.", "0 listed, 2 no CUDA in this build",
     kListExamples, 0, 0, false},
    {Verb::kernelsRun, "kernels run", "[NAME] [-- ARGS]", "run a bundled example program, or measure all of them",
     "Runs a bundled program, which checks its result against the CPU. Without NAME every variant of all of them, at most "
     "60 s: prints what each reaches of the GPU's ceilings and keeps it per GPU in $XDG_DATA_HOME/warpmeter/references.json "
     "or ~/.local/share/warpmeter/references.json, where reports and kernels compare find it. What did not fit into the time "
     "is said, and keeps its older result. Run it on an idle GPU.",
     "the program's own; without NAME: 0 measured and kept, 1 a program failed, 2 they could not be kept, 4 no GPU",
     kRunExamples, 0, 1, true},
    {Verb::kernelsCompare, "kernels compare", "FILE", "compare the kernels of a recording with the bundled programs",
     "For each of the ten longest running kernels of FILE that have a bound: the bundled program of the same bound and kind "
     "(what it does to memory, or its precision) with the highest share of that ceiling, and how far the kernel reaches it. "
     "Uses what kernels run measured on the GPU of the recording, else results that ship for its model. The recording needs "
     "counters.",
     "0 printed, 2 FILE cannot be read as a profile", kCompareExamples, 1, 1, false},
    {Verb::kernelsTune, "kernels tune", "NAME", "try every block size of a bundled program",
     "Runs one variant of a bundled program with each multiple of 32 that its option --block takes, and prints time, rate and "
     "possible occupancy, which comes from a short recording of its own. The fastest is marked.",
     "0 printed, 1 a run failed, 2 no such program, or it has no --block, 4 no GPU", kTuneExamples, 1, 1, false},
};
static_assert(std::size(kVerbs) == static_cast<std::size_t>(Verb::count));

constexpr EnvironmentSpec kEnvironment[] = {
    {"NO_COLOR", "no colours, also on a terminal"},
    {"XDG_DATA_HOME", "where calibrate and kernels run keep their results; without it ~/.local/share"},
    {"XDG_RUNTIME_DIR", "where the recorder's socket lies; without it the temporary folder is used"},
    {"WARPMETER_SOCKET", "set by record for the application: the recorder's socket"},
    {"WARPMETER_RUN", "set by record for the application: the run id"},
    {"WARPMETER_EXACT", "set by record --counters exact for the application: launches per kernel"},
    {"WARPMETER_PC", "set by record --counters pc for the application: --pc-period, or auto"},
    {"WARPMETER_LAUNCH_LATENCY", "set by record --launch-latency for the application"},
    {"CUDA_INJECTION64_PATH",
     "set by record for the application: Warpmeter's library, loaded by the CUDA driver"},
    {"NVTX_INJECTION64_PATH",
     "set by record for the application unless --no-nvtx: the same library, loaded by NVTX"},
};

constexpr bool inOrder() {
  for (std::size_t i = 0; i < std::size(kVerbs); ++i)
    if (kVerbs[i].id != static_cast<Verb>(i)) return false;
  return true;
}
static_assert(inOrder(), "specOf(Verb) indexes the table");

}  // namespace

std::span<const OptionSpec> optionTable() { return kOptions; }
std::span<const VerbSpec> verbTable() { return kVerbs; }
std::span<const EnvironmentSpec> environmentTable() { return kEnvironment; }

const VerbSpec& specOf(Verb verb) { return kVerbs[static_cast<std::size_t>(verb)]; }

const OptionSpec& specOf(Opt option) {
  return *std::find_if(std::begin(kOptions), std::end(kOptions),
                       [&](const OptionSpec& o) { return o.id == option; });
}

}  // namespace warpmeter::cli
