import type { Summary } from '../../orchestrator/results/summary.ts';
import { markup, type Markup } from './text/markup.ts';
import { count, renderData, renderEnds, renderFigure, NONE, formatPercentage, renderSpreadFigure, computeSpread } from './text/numbers.ts';
import { formatEnding, formatMethod, formatRule } from './text/wording.ts';

type Official = Summary['official'];

/** Renders the answer, how sure it is, and what the certainty promises. */
export function renderAnswer({ official, ended, partial, allFailed }: Summary, source: string): Markup {
  const { interval, mean, episodes } = official;
  const isAnswered = mean !== null && allFailed !== true;
  const spread = computeSpread(interval, mean);
  return markup`<section class="card answer" aria-label="Answer">
<div><p class="label">Mean return</p>
<p class="headline">${isAnswered ? renderFigure(mean, spread, `${source}official.mean`) : 'none'}</p>
${allFailed === true ? markup`<p>There is no answer: all episodes failed, and the figures below are those of their scores.</p>` : markup`${renderReducedLine(official, `${source}official`)}${renderIntervalLine(official, `${source}official`)}`}</div>
<dl>
<div><dt>Episodes</dt><dd>${count(episodes, `${source}official.episodes`)}, ${formatEnding(ended)}</dd></div>
<div><dt>Stopping rule</dt><dd>${formatRule(official.stop)}</dd></div>
<div><dt>Half-width</dt><dd>${renderHalfWidth(official, `${source}official`)}</dd></div>
<div><dt>State</dt><dd>${partial ? PARTIAL : COMPLETE}</dd></div>
</dl>
</section>`;
}

export const PARTIAL = markup`<span class="state caution">◐ partial</span>`;
const COMPLETE = markup`<span class="state good">✓ complete</span>`;

function renderReducedLine({ stop, endedBy, biasReducedMean, interval, mean }: Official, source: string): Markup | undefined {
  if (stop.rule === 'fixed' || endedBy !== 'rule' || biasReducedMean === null) return undefined;
  return markup`<p class="note">Bias-reduced <b>${renderFigure(biasReducedMean, computeSpread(interval, mean), `${source}.biasReducedMean`)}</b>: quote this one, since the returns decided when to stop.</p>
`;
}

function renderIntervalLine({ interval, mean, episodes }: Official, source: string): Markup {
  if (mean === null) return markup`<p>No ${episodes === 0 ? 'episode was played' : 'episode was resolved'}.</p>`;
  if (interval === null) return markup`<p>There is no interval for it.</p>`;
  const { confidence, method, guarantee } = interval;
  const percent = renderData(confidence, formatPercentage(confidence), `${source}.interval.confidence`);
  return markup`<p class="interval">${percent} interval ${renderEnds(interval, computeSpread(interval, mean), `${source}.interval`)}</p>
<p class="note"><b>${formatMethod(method)}</b>: ${guarantee}.</p>`;
}

function renderHalfWidth({ interval, targetHalfWidth }: Official, source: string): Markup {
  const reached = interval === null ? NONE : renderSpreadFigure((interval.high - interval.low) / 2);
  if (targetHalfWidth === null) return reached;
  return markup`${reached}, asked for ${renderData(targetHalfWidth, String(targetHalfWidth), `${source}.targetHalfWidth`)}`;
}
