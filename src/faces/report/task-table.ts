import type { Summary } from '../../orchestrator/results/summary.ts';
import { stripCell, stripHead, stripScale } from './charts/interval-strip.ts';
import type { Strip } from './charts/interval-strip.ts';
import { markup } from './text/markup.ts';
import type { Markup } from './text/markup.ts';
import { count, countText, ends, figure, share, spreadFigure } from './text/numbers.ts';
import type { Scale } from './charts/plot.ts';

type Official = Summary['official'];
type Task = Official['tasks'][number];

interface Row {
  readonly task: Task;
  readonly source: string;
  readonly strip: Strip;
}

/** More tasks than this scroll within the page. */
const AT_ONCE = 15;

/** The weakest task first: it is what a reader looks for. */
export function taskTable(official: Official, source: string): Markup {
  const rows = official.tasks
    .map((task, position) => ({ task, source: `${source}.tasks.${position}`, strip: stripOf(task) }))
    .sort((a, b) => (a.task.mean ?? Infinity) - (b.task.mean ?? Infinity) || 0);
  const scale = stripScale(
    rows.map(({ strip }) => strip),
    [official.mean],
  );
  const byInterval = rows.some(({ task }) => task.interval !== null);
  const scrolls = rows.length > AT_ONCE;
  return markup`<section class="card"><h3>Tasks</h3>
<p>${countText(rows.length, 'task')}, the lowest mean first. The line of a dot is ${byInterval ? 'its interval' : 'one standard error to either side'}; the line through all of them is the mean return.</p>
<div class="scroll ${scrolls ? 'tall' : 'wide'}" role="region" aria-label="Tasks" tabindex="0"><table class="tasks">
<thead><tr><th scope="col">Task</th><th scope="col">Mean</th><th scope="col" class="picture">${scale && stripHead(scale)}</th><th scope="col">Standard error</th>${byInterval ? markup`<th scope="col">Interval</th>` : undefined}<th scope="col">Episodes</th><th scope="col">Unresolved</th><th scope="col">Weight</th></tr></thead>
<tbody>
${rows.map((row) => taskRow(row, scale, official.mean, byInterval))}
</tbody></table></div></section>`;
}

function taskRow({ task, source, strip }: Row, scale: Scale | undefined, mean: number | null, byInterval: boolean): Markup {
  const spread = task.standardError ?? Math.abs(task.mean ?? 1);
  return markup`<tr><th scope="row"><bdi>${task.name}</bdi></th><td>${figure(task.mean, spread, `${source}.mean`)}</td><td class="picture">${scale && stripCell(strip, scale, mean)}</td><td>${spreadFigure(task.standardError, `${source}.standardError`)}</td>${byInterval ? markup`<td>${task.interval ? ends(task.interval, spread, `${source}.interval`) : '–'}</td>` : undefined}<td>${count(task.episodes, `${source}.episodes`)}</td><td>${count(task.unresolved, `${source}.unresolved`)}</td><td>${share(task.weight, `${source}.weight`)}</td></tr>
`;
}

function stripOf({ mean, standardError, interval }: Task): Strip {
  if (interval) return { value: mean, low: interval.low, high: interval.high };
  if (mean === null || standardError === null) return { value: mean, low: null, high: null };
  return { value: mean, low: mean - standardError, high: mean + standardError };
}
