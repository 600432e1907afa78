// SPDX-License-Identifier: Apache-2.0
#include "support/recordings.h"

#include <unistd.h>
#include <zlib.h>

#include <fstream>
#include <stdexcept>
#include <vector>

namespace warpmeter::tests {

std::filesystem::path recordingsFolder() {
  return std::filesystem::path(WARPMETER_SOURCE_DIR) / "tests" / "data" / "recordings";
}

UnpackedRecording::UnpackedRecording(const std::string& name) {
  const auto packed = recordingsFolder() / (name + ".wm.sqlite.gz");
  path_ = std::filesystem::temp_directory_path() / (packed.filename().string() + "." + std::to_string(getpid()) + ".wm.sqlite");
  gzFile in = gzopen(packed.c_str(), "rb");
  if (in == nullptr) throw std::runtime_error("cannot open " + packed.string());
  std::ofstream out(path_, std::ios::binary | std::ios::trunc);
  std::vector<char> block(1 << 16);
  int bytes = 0;
  while ((bytes = gzread(in, block.data(), static_cast<unsigned>(block.size()))) > 0)
    out.write(block.data(), bytes);
  gzclose(in);
  out.close();
  if (bytes < 0 || !out) throw std::runtime_error("cannot unpack " + packed.string());
}

UnpackedRecording::~UnpackedRecording() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

analyzer::ProfileView UnpackedRecording::view() const {
  auto reader = ProfileReader::open(path_);
  if (!reader) throw std::runtime_error(reader.error().message);
  auto view = analyzer::ProfileView::load({std::make_shared<const ProfileReader>(std::move(*reader))});
  if (!view) throw std::runtime_error(view.error().message);
  return std::move(*view);
}

}  // namespace warpmeter::tests
