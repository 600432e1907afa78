// SPDX-License-Identifier: Apache-2.0
// Text -> profile file, through ProfileWriter: the ground of tests for everything that reads a profile.
//
// One record a line; '#' starts a comment; words with blanks stand in "..."; times and durations take ns
// (default), us, ms, s, and may be negative; sizes take KiB, MiB, GiB. A..B is start and end.
//
//   session  started=T ended=T how=exited(0) epoch=N counters=REASON nvtx=1 api=work
//   process  PID name=TEXT argv="a b" start=T uncertainty=T exit=T how=TEXT status=TEXT parent=PID cupti=N
//   gpu      ID name=TEXT cc=9.0 sms=132 [bandwidth=B clock=HZ uuid=TEXT]
//   ceiling  GPU KIND VALUE [source=calibrated]
//   sampleset SET GPU chip=GH100 metrics=NAME,NAME     samples SET A..B interval=2us values=N,N   (N in each sample)
//   pc       PID FUNCTION OFFSET REASON SAMPLES [file=TEXT line=N]   REASON: behind smsp__pcsamp_warps_issue_stalled_
//   pcrun    PID GPU samples=N [period=N other=N dropped=N]
//   thread   PID/TID TEXT
//   kernel   PID NAME A..B [corr=N gpu=0 ctx=1 stream=7 grid=x,y,z block=x,y,z cluster=x,y,z regs=16 static=B
//            dynamic=B executed=B carveout=P node=N graph=N mac=N mangled=TEXT local=B]
//   untimed  PID NAME [the same without A..B]
//   api      PID/TID NAME A..B [corr=N ret=N driver]
//   memcpy   PID KIND A..B bytes=N [corr=N gpu=0 ctx=1 stream=7 src=MEM dst=MEM]   KIND: HtoD DtoH DtoD PtoP
//   HtoH memset   PID A..B bytes=N [corr=N gpu=0 ctx=1 stream=7]      MEM: pageable pinned device managed
//   unknown sync     PID A..B type=N [corr=N gpu=0 ctx=1 stream=7] nvtx     PID/TID TEXT A..B [domain=N
//   color=N startend]       or  nvtx PID/TID TEXT A mark domain   PID/TID N TEXT overhead PID/TID TYPE A..B
//   [corr=N name=TEXT]                TYPE: number of ENUM_CUPTI_OVERHEAD_TYPE mark     PID/TID KIND T
//   [bytes=N ctx=N module=N]             KIND: as MarkKind loss     KIND [count=N from=T to=T pid=PID
//   why=TEXT] cost     PID WHAT ns=T count=N stream   PID STREAM ctx=1
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "warpmeter/profile/result.h"

namespace warpmeter::support {

// Writes the profile. A line that is not understood is ErrorKind::usage with its number.
// finished = false leaves the file as a recorder that still runs (or was killed) does.
Result<void> writeProfile(const std::filesystem::path& path, std::string_view text, bool finished = true);

// A folder of its own that is removed at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace warpmeter::support
