import type { Summary } from '../../orchestrator/results/summary.ts';
import { markup } from './text/markup.ts';
import type { Markup } from './text/markup.ts';
import { count, figure, spreadFigure } from './text/numbers.ts';

type Metric = Summary['official']['metrics'][number];

/** What the environments measured beside the return. */
export function metricTable(metrics: readonly Metric[], source: string): Markup {
  return markup`<section class="card"><h3>Metrics</h3>
<div class="scroll wide" role="region" aria-label="Metrics" tabindex="0"><table>
<thead><tr><th scope="col">Metric</th><th scope="col">Mean</th><th scope="col">Standard deviation</th><th scope="col">Lowest</th><th scope="col">Highest</th><th scope="col">Episodes</th><th scope="col">Missing in</th></tr></thead>
<tbody>${metrics.map((metric, position) => metricRow(metric, `${source}.metrics.${position}`))}</tbody></table></div>
<p>Over completed episodes.</p></section>`;
}

function metricRow({ name, mean, standardDeviation, min, max, count: episodes, missing }: Metric, source: string): Markup {
  const spread = standardDeviation ?? Math.abs(mean ?? 1);
  return markup`<tr><th scope="row"><bdi>${name}</bdi></th><td>${figure(mean, spread, `${source}.mean`)}</td><td>${spreadFigure(standardDeviation, `${source}.standardDeviation`)}</td><td>${figure(min, spread, `${source}.min`)}</td><td>${figure(max, spread, `${source}.max`)}</td><td>${count(episodes, `${source}.count`)}</td><td>${count(missing, `${source}.missing`)}</td></tr>
`;
}
