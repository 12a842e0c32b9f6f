import { formatCount } from '../../kernel/text/figures.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import { renderAnswer } from './answer.ts';
import { renderCourseChart } from './charts/course-chart.ts';
import { renderHistogramChart } from './charts/histogram-chart.ts';
import { type Strip, renderStripCell, renderStripHead, createStripScale } from './charts/interval-strip.ts';
import type { Scale } from './charts/plot.ts';
import { hasFailed, renderFailures } from './failures.ts';
import { renderFigures } from './figures.ts';
import { runSection } from './run-section.ts';
import { renderCheckpointLine } from './text/checkpoint-name.ts';
import { markup, type Markup } from './text/markup.ts';
import { count, formatQuantity, renderEnds, renderFigure, renderShare, renderSpreadFigure, computeSpread } from './text/numbers.ts';
import { renderFigureTable } from './text/rows.ts';
import { renderWarningList } from './text/warnings.ts';

/**
 * Renders one checkpoint's evaluation, the answer first.
 *
 * @param position among the evaluations of the page. @param source path of the summary in the document: empty, or `summaries.1.`
 */
export function renderEvaluation(summary: Summary, name: string, position: number, source: string): Markup {
  const { official, checkpoint, run } = summary;
  const at = `${source}official`;
  return markup`<section id="evaluation-${position}"><h2><bdi>${name}</bdi></h2>
<p class="line">${renderCheckpointLine(checkpoint, official.checkpoint.digest)}</p>
${renderAnswer(summary, source)}
${renderWarningList([...official.warnings, ...summary.warnings])}
${renderCourseChart(official, at)}
<div class="${hasFailed(official) ? 'pair' : 'alone'}">${renderHistogramChart(official, computeSpread(official.interval, official.mean), at)}
${renderFailures(official, run, at)}</div>
${official.tasks.length > 1 ? renderTaskTable(official, at) : undefined}
${renderFigures(official, at)}
${official.metrics.length > 0 ? renderMetricTable(official.metrics, at) : undefined}
${runSection(run, `${source}run`)}
${renderProvenance(summary)}
</section>`;
}

type Metric = Summary['official']['metrics'][number];

/** Renders what the environments measured besides the return. */
function renderMetricTable(metrics: readonly Metric[], source: string): Markup {
  return markup`<section class="card"><h3>Metrics</h3>
<div class="scroll wide" role="region" aria-label="Metrics" tabindex="0"><table>
<thead><tr><th scope="col">Metric</th><th scope="col">Mean</th><th scope="col">Standard deviation</th><th scope="col">Lowest</th><th scope="col">Highest</th><th scope="col">Episodes</th><th scope="col">Missing in</th></tr></thead>
<tbody>${metrics.map((metric, position) => renderMetricRow(metric, `${source}.metrics.${position}`))}</tbody></table></div>
<p>Over completed episodes.</p></section>`;
}

function renderMetricRow({ name, mean, standardDeviation, min, max, count: episodes, missing }: Metric, source: string): Markup {
  const spread = standardDeviation ?? Math.abs(mean ?? 1);
  return markup`<tr><th scope="row"><bdi>${name}</bdi></th><td>${renderFigure(mean, spread, `${source}.mean`)}</td><td>${renderSpreadFigure(standardDeviation, `${source}.standardDeviation`)}</td><td>${renderFigure(min, spread, `${source}.min`)}</td><td>${renderFigure(max, spread, `${source}.max`)}</td><td>${count(episodes, `${source}.count`)}</td><td>${count(missing, `${source}.missing`)}</td></tr>
`;
}

/** Renders what is needed to repeat the evaluation. */
function renderProvenance({ official, checkpoint }: Summary): Markup {
  const { suite, stop, budgetEpisodes } = official;
  const rows = [
    { name: 'Suite', value: markup`<bdi>${suite.name}</bdi>`, note: markup`<code>${suite.digest}</code>` },
    {
      name: 'Checkpoint',
      value: `${formatQuantity(checkpoint.files, 'file')}, ${formatQuantity(checkpoint.bytes, 'byte')}`,
      note: markup`<code>${official.checkpoint.digest}</code>`,
    },
    { name: 'Stopping rule', value: stop.rule, note: markup`<code>${JSON.stringify(stop)}</code>` },
    { name: 'Budget', value: budgetEpisodes === null ? 'none' : `${formatCount(budgetEpisodes)} episodes` },
  ];
  return markup`<section class="card"><h3>What was evaluated</h3>${renderFigureTable([{ title: 'Inputs', rows }])}</section>`;
}

type Official = Summary['official'];
type Task = Official['tasks'][number];

interface Row {
  readonly task: Task;
  readonly source: string;
  readonly strip: Strip;
}

/** Longer tables of tasks scroll within the page. */
const AT_ONCE = 15;

/** Lists the weakest task first: it is what a reader looks for. */
function renderTaskTable(official: Official, source: string): Markup {
  const rows = official.tasks
    .map((task, position) => ({ task, source: `${source}.tasks.${position}`, strip: toStrip(task) }))
    .sort((a, b) => (a.task.mean ?? Infinity) - (b.task.mean ?? Infinity) || 0);
  const scale = createStripScale(
    rows.map(({ strip }) => strip),
    [official.mean],
  );
  const byInterval = rows.some(({ task }) => task.interval !== null);
  const scrolls = rows.length > AT_ONCE;
  return markup`<section class="card"><h3>Tasks</h3>
<p>${formatQuantity(rows.length, 'task')}, the lowest mean first. The line of a dot is ${byInterval ? 'its interval' : 'one standard error to either side'}; the line through all of them is the mean return.</p>
<div class="scroll ${scrolls ? 'tall' : 'wide'}" role="region" aria-label="Tasks" tabindex="0"><table class="tasks">
<thead><tr><th scope="col">Task</th><th scope="col">Mean</th><th scope="col" class="picture">${scale && renderStripHead(scale)}</th><th scope="col">Standard error</th>${byInterval ? markup`<th scope="col">Interval</th>` : undefined}<th scope="col">Episodes</th><th scope="col">Unresolved</th><th scope="col">Weight</th></tr></thead>
<tbody>
${rows.map((row) => renderTaskRow(row, scale, official.mean, byInterval))}
</tbody></table></div></section>`;
}

function renderTaskRow({ task, source, strip }: Row, scale: Scale | undefined, mean: number | null, byInterval: boolean): Markup {
  const spread = task.standardError ?? Math.abs(task.mean ?? 1);
  return markup`<tr><th scope="row"><bdi>${task.name}</bdi></th><td>${renderFigure(task.mean, spread, `${source}.mean`)}</td><td class="picture">${scale && renderStripCell(strip, scale, mean)}</td><td>${renderSpreadFigure(task.standardError, `${source}.standardError`)}</td>${byInterval ? markup`<td>${task.interval ? renderEnds(task.interval, spread, `${source}.interval`) : '–'}</td>` : undefined}<td>${count(task.episodes, `${source}.episodes`)}</td><td>${count(task.unresolved, `${source}.unresolved`)}</td><td>${renderShare(task.weight, `${source}.weight`)}</td></tr>
`;
}

function toStrip({ mean, standardError, interval }: Task): Strip {
  if (interval) return { value: mean, low: interval.low, high: interval.high };
  if (mean === null || standardError === null) return { value: mean, low: null, high: null };
  return { value: mean, low: mean - standardError, high: mean + standardError };
}
