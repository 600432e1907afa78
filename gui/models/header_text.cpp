// SPDX-License-Identifier: Apache-2.0
#include "models/header_text.h"

#include <QStringList>

#include "warpmeter/analyzer/format.h"

namespace warpmeter::gui {
namespace {

using analyzer::formatCount;
using analyzer::formatPercent;
using analyzer::formatTime;

QString q(const std::string& text) { return QString::fromStdString(text); }

QString qualityLine(const analyzer::Quality& quality) {
  if (!quality.lossesRecorded) {
    return QStringLiteral("%1 of %2 launches timed; an nsys export does not say what was lost")
        .arg(q(formatCount(quality.timed)), q(formatCount(quality.launches)));
  }
  const QString launches = QStringLiteral("%1 of %2 launches timed, %3 records lost")
                               .arg(q(formatCount(quality.timed)), q(formatCount(quality.launches)),
                                    q(formatCount(quality.lostRecords)));
  QStringList parts{(quality.complete ? QStringLiteral("complete: ") : QStringLiteral("incomplete: ")) +
                    launches};
  if (quality.unfinished)
    parts << QStringLiteral("the file was not closed (still recording, or the recorder died)");
  if (quality.unknownLosses) parts << QStringLiteral("and losses of unknown size");
  if (quality.ownCostPct)
    parts << QStringLiteral("own cost at least ") + q(formatPercent(*quality.ownCostPct));
  return parts.join(QStringLiteral("; "));
}

QString lossLines(const analyzer::Quality& quality) {
  QStringList lines;
  for (const analyzer::LossLine& loss : quality.losses) {
    const QString count = loss.count ? q(formatCount(*loss.count)) : QStringLiteral("unknown count");
    lines << QStringLiteral("%1: %2 (%3)").arg(q(loss.kind), count, q(loss.why));
  }
  return lines.join(QChar(u'\n'));
}

QString processText(const analyzer::ProfileView& view) {
  if (view.processes().empty()) return {};
  const ProcessInfo& first = view.processes().front().info;
  QString text = first.name.empty() ? QStringLiteral("pid %1").arg(first.pid)
                                    : QStringLiteral("%1 (pid %2)").arg(q(first.name)).arg(first.pid);
  if (view.processes().size() > 1) text += QStringLiteral(" and %1 more").arg(view.processes().size() - 1);
  return text;
}

QString gpuText(const analyzer::ProfileView& view) {
  if (view.gpus().empty()) return QStringLiteral("no GPU");
  const GpuInfo& first = view.gpus().front().info;
  QString text = first.name.empty() ? QStringLiteral("GPU %1").arg(first.id) : q(first.name);
  if (view.gpus().size() > 1)
    return QStringLiteral("%1 GPUs: ").arg(view.gpus().size()) + text + QStringLiteral(", ...");
  if (!isNull(first.computeMajor) && !isNull(first.smCount)) {
    text += QStringLiteral(" (cc %1.%2, %3 SMs)")
                .arg(first.computeMajor)
                .arg(first.computeMinor)
                .arg(first.smCount);
  }
  return text;
}

QString timeLine(const analyzer::TimeBuckets& time) {
  if (!time.anyGpuWork) return QStringLiteral("no GPU work recorded");
  const double busyPct =
      time.wallNs() > 0 ? 100.0 * static_cast<double>(time.busyNs) / static_cast<double>(time.wallNs()) : 0;
  return QStringLiteral("GPU busy %1 (%2): kernels %3, copies %4")
      .arg(q(formatTime(time.busyNs)), q(formatPercent(busyPct)), q(formatTime(time.kernelNs)),
           q(formatTime(time.copyNs)));
}

}  // namespace

HeaderText headerText(const LoadedProfile& profile) {
  HeaderText header;
  QStringList run{profile.fileName, processText(*profile.view), gpuText(*profile.view)};
  if (profile.run) {
    header.complete = profile.run->quality.complete;
    header.quality = qualityLine(profile.run->quality);
    header.details = lossLines(profile.run->quality);
    run << q(formatTime(profile.run->time.wallNs())) + QStringLiteral(" in all")
        << timeLine(profile.run->time);
  } else {
    header.quality = QStringLiteral("%1 kernels so far, reading host calls and NVTX ranges ...")
                         .arg(q(formatCount(static_cast<std::int64_t>(profile.view->kernelCount()))));
  }
  run.removeAll(QString());
  header.run = run.join(QStringLiteral(u"  \u00b7  "));
  return header;
}

}  // namespace warpmeter::gui
