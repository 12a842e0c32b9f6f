import type { ComparisonSummary } from '../../orchestrator/results/comparison-summary.ts';
import type { ReplayDocument } from '../../orchestrator/replay/replay-document.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import { PARTIAL } from './answer.ts';
import { renderCheckpointLine, nameCheckpoint, renderShortDigest } from './text/checkpoint-name.ts';
import { renderComparison } from './comparison.ts';
import type { ReportDocument } from './document.ts';
import { renderEvaluation } from './evaluation.ts';
import { renderCheckSections } from './grading/check-sections.ts';
import { renderPreparation } from './grading/preparation-sections.ts';
import type { Preparation } from '../../agents/preparation/preparation-report.ts';
import type { CheckedTask, GradedSubmission } from './grading/graded-submission.ts';
import { renderVerdictSections } from './grading/verdict-sections.ts';
import { markup, type Content, type Markup } from './text/markup.ts';
import { formatQuantity } from './text/numbers.ts';
import { renderReplay } from './replay.ts';
import { rankEntries, renderRankingTable } from './ranking.ts';
import { startTime } from './run-section.ts';
import { STYLE } from './text/style.ts';
import { renderWarningList } from './text/warnings.ts';

/**
 * Renders a document as one HTML page for people. The page is self-contained: it has no script and fetches nothing, which its content security policy
 * enforces. All of the document's texts are escaped.
 */
export function renderReportPage(document: ReportDocument): string {
  return getPage(document).toString();
}

function getPage(document: ReportDocument): Markup {
  switch (document.kind) {
    case 'evaluation':
      return renderEvaluationPage(document.summary);
    case 'evaluations':
      return renderRankingPage(document.summaries);
    case 'comparison':
      return renderComparisonPage(document.comparison);
    case 'verdict':
      return renderVerdictPage(document.submission);
    case 'check':
      return checkPage(document.tasks);
    case 'replay':
      return renderReplayPage(document.replay);
    case 'preparation':
      return renderPreparationPage(document.preparation);
  }
}

function renderEvaluationPage(summary: Summary): Markup {
  const { name } = summary.official.suite;
  const checkpoint = nameCheckpoint(summary.checkpoint);
  return renderPage({
    title: `${name} · ${checkpoint}`,
    kind: 'Evaluation',
    heading: name,
    line: startTime(summary.run.startedAt),
    main: renderEvaluation(summary, checkpoint, 0, ''),
  });
}

function renderRankingPage(summaries: readonly Summary[]): Markup {
  const ranked = rankEntries(summaries);
  const suites = [...new Map(summaries.map(({ official: { suite } }) => [suite.digest, suite.name])).values()];
  const name = suites.join(', ');
  const mixed = suites.length > 1 ? ['These evaluations are of different suites: their means cannot be ranked against each other.'] : [];
  return renderPage({
    title: `${name} · ${formatQuantity(summaries.length, 'checkpoint')}`,
    kind: 'Evaluations',
    heading: name === '' ? 'nothing' : name,
    line: formatQuantity(summaries.length, 'checkpoint'),
    main: markup`${renderWarningList(mixed)}${renderRankingTable(ranked)}
${ranked.entries.map(({ summary, name, position }) => renderEvaluation(summary, name, position, `summaries.${position}.`))}`,
  });
}

function renderComparisonPage(comparison: ComparisonSummary): Markup {
  const { official, baseline, run, partial } = comparison;
  return renderPage({
    title: `${official.suite.name} · comparison with ${nameCheckpoint(baseline)}`,
    kind: 'Comparison',
    heading: official.suite.name,
    line: markup`Baseline ${renderCheckpointLine(baseline, official.baseline.digest)} · ${startTime(run.startedAt)}${partial ? markup` · ${PARTIAL}` : undefined}`,
    main: renderComparison(comparison),
  });
}

function renderVerdictPage(submission: GradedSubmission): Markup {
  const { task, verdict } = submission;
  const { reward } = verdict;
  return renderPage({
    title: `${task.id} · ${reward === null ? 'no reward' : `reward ${Number(reward.toFixed(4))}`}`,
    kind: 'Verdict',
    heading: task.id,
    line: markup`Step <bdi>${task.step}</bdi> · ${renderShortDigest(task.digest)}`,
    main: renderVerdictSections(submission, ''),
  });
}

function checkPage(tasks: readonly CheckedTask[]): Markup {
  const sound = tasks.filter(({ soundness }) => soundness.isSound).length;
  const line = `${sound} of ${formatQuantity(tasks.length, 'task')} ${sound === 1 ? 'is' : 'are'} sound`;
  const [only] = tasks;
  const heading = tasks.length === 1 && only ? only.soundness.task : formatQuantity(tasks.length, 'task');
  return renderPage({ title: `${heading} · check`, kind: 'Check of tasks', heading, line, main: renderCheckSections(tasks) });
}

function renderReplayPage(replay: ReplayDocument): Markup {
  const { suite, checkpoint, index, task, environmentSeed, policySeed } = replay;
  return renderPage({
    title: `${suite.name} · episode ${index}`,
    kind: 'Replay',
    heading: `${suite.name}, episode ${index}`,
    line: markup`Task <bdi>${task}</bdi> · environment seed ${environmentSeed} · policy seed ${policySeed} · ${renderShortDigest(checkpoint.digest)}`,
    main: renderReplay(replay),
  });
}

function renderPreparationPage(preparation: Preparation): Markup {
  const { repository, candidates } = preparation;
  const tasks = candidates.filter(({ task }) => task !== null).length;
  const line = `${formatQuantity(tasks, 'task')} of ${formatQuantity(candidates.length, 'candidate')}`;
  return renderPage({
    title: `${repository} · preparation`,
    kind: 'Preparation',
    heading: repository,
    line,
    main: renderPreparation(preparation),
  });
}

interface Page {
  readonly title: string;
  readonly kind: string;
  readonly heading: string;
  readonly line: Content;
  readonly main: Markup;
}

function renderPage({ title, kind, heading, line, main }: Page): Markup {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Muster</title>
<link rel="icon" href="data:,">
${STYLE}
</head>
<body>
<header><p class="label">${kind}</p>
<h1><bdi>${heading}</bdi></h1>
<p class="line">${line}</p></header>
<main>
${main}
</main>
<footer><p>A page of <b>Muster</b>. Every number carries its exact value; figures that do not exist are shown as “–”.</p></footer>
</body>
</html>
`;
}
