import type { Summary } from '../../orchestrator/results/summary.ts';
import { answer } from './answer.ts';
import { checkpointLine } from './text/checkpoint-name.ts';
import { courseChart } from './charts/course-chart.ts';
import { anyFailed, failures } from './failures.ts';
import { figures } from './figures.ts';
import { histogramChart } from './charts/histogram-chart.ts';
import { markup } from './text/markup.ts';
import type { Markup } from './text/markup.ts';
import { metricTable } from './metric-table.ts';
import { spreadOf } from './text/numbers.ts';
import { provenance } from './provenance.ts';
import { runSection } from './run-section.ts';
import { taskTable } from './task-table.ts';
import { warningList } from './text/warnings.ts';

/**
 * One checkpoint's evaluation, the answer first.
 *
 * @param position among the evaluations of the page. @param source where the summary stands in the document: empty, or `summaries.1.`
 */
export function evaluationSection(summary: Summary, name: string, position: number, source: string): Markup {
  const { official, checkpoint, run } = summary;
  const at = `${source}official`;
  return markup`<section id="evaluation-${position}"><h2><bdi>${name}</bdi></h2>
<p class="line">${checkpointLine(checkpoint, official.checkpoint.digest)}</p>
${answer(summary, source)}
${warningList([...official.warnings, ...summary.warnings])}
${courseChart(official, at)}
<div class="${anyFailed(official) ? 'pair' : 'alone'}">${histogramChart(official, spreadOf(official.interval, official.mean), at)}
${failures(official, run, at)}</div>
${official.tasks.length > 1 ? taskTable(official, at) : undefined}
${figures(official, at)}
${official.metrics.length > 0 ? metricTable(official.metrics, at) : undefined}
${runSection(run, `${source}run`)}
${provenance(summary)}
</section>`;
}
