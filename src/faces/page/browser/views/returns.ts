import { html, nothing, type TemplateResult } from 'lit-html';
import type { RunningReturns } from '../../../../aggregation/results/running-returns.ts';
import type { TaskStatistics } from '../../../../aggregation/results/statistics.ts';
import { formatCount, formatFigure } from '../../../../kernel/text/figures.ts';
import { renderHistogram } from '../charts/histogram.ts';
import { computeDomain, renderIntervalBar, type Bar } from '../charts/interval-bar.ts';
import type { Actions } from '../model/actions.ts';
import { toEvaluation } from '../model/route.ts';
import { renderFigures } from './figures.ts';
import { renderLink } from './link.ts';

/** Renders how often each return came, what failed and why, and which tasks went well; of a running evaluation, the state so far. */
export function renderReturns(official: RunningReturns, id: string, actions: Actions): TemplateResult {
  const failed = Object.entries(official.failures).filter(([, episodes]) => episodes > 0);
  return html`<div class="beside">
      ${renderDistribution(official)} ${failed.length === 0 ? nothing : renderFailures(failed, official, id, actions)}
    </div>
    ${official.tasks.length > 1 ? renderTasks(official.tasks) : nothing}`;
}

function renderDistribution({ histogram, quantiles, mean, min, max, interval }: RunningReturns): TemplateResult | typeof nothing {
  if (!histogram || mean === null || min === null || max === null) return nothing;
  const spread = interval ? (interval.high - interval.low) / 2 : 0;
  const format = (value: number): string => formatFigure(value, spread);
  const figures: readonly (readonly [string, string])[] = [
    ['mean', format(mean)],
    ...(quantiles
      ? ([
          ['median', format(quantiles.p50)],
          ['middle half', `${format(quantiles.p25)} to ${format(quantiles.p75)}`],
          ['5 % to 95 %', `${format(quantiles.p05)} to ${format(quantiles.p95)}`],
        ] as const)
      : []),
  ];
  return html`<figure class="card">
    <figcaption>Distribution of returns</figcaption>
    ${renderHistogram({ ...histogram, min, max, mean, format })} ${renderFigures(figures)}
  </figure>`;
}

function renderFailures(
  failed: readonly (readonly [cause: string, episodes: number])[],
  { resolved }: RunningReturns,
  id: string,
  actions: Actions,
): TemplateResult {
  const most = Math.max(...failed.map(([, episodes]) => episodes));
  return html`<section class="card" aria-labelledby="failures">
    <div class="head">
      <h2 id="failures">Failed episodes</h2>
      ${renderLink(actions, toEvaluation(id, { ranking: 'failed' }), 'List them')}
    </div>
    <table>
      <thead>
        <tr>
          <th>Cause</th>
          <th class="number">Episodes</th>
          <th class="number">Share</th>
          <th class="picture"><span class="unseen">Picture</span></th>
        </tr>
      </thead>
      <tbody>
        ${failed
          .toSorted(([, one], [, other]) => other - one)
          .map(
            ([cause, episodes]) =>
              html`<tr>
                <th scope="row">${cause}</th>
                <td class="number">${formatCount(episodes)}</td>
                <td class="number">${((100 * episodes) / Math.max(1, resolved)).toFixed(1)} %</td>
                <td class="picture"><progress class="failed" max=${most} .value=${episodes} aria-label="${cause}"></progress></td>
              </tr>`,
          )}
      </tbody>
    </table>
  </section>`;
}

/** Renders the weakest task first, since readers look for it. All on one scale. */
function renderTasks(tasks: readonly TaskStatistics[]): TemplateResult {
  const rows = tasks.toSorted((one, other) => (one.mean ?? Infinity) - (other.mean ?? Infinity) || 0);
  const domain = computeDomain(rows.flatMap((task) => toTaskBar(task) ?? []));
  const isByInterval = rows.some(({ interval }) => interval !== null);
  return html`<section class="card" aria-labelledby="tasks">
    <div class="head">
      <h2 id="tasks">Tasks</h2>
      <p class="muted">The lowest mean first, with ${isByInterval ? 'its interval' : 'one standard error to either side'}.</p>
    </div>
    <div class="scroll tall" tabindex="0" role="region" aria-label="Table of tasks">
      <table>
        <thead>
          <tr>
            <th>Task</th>
            <th class="picture">On one scale</th>
            <th class="number">Mean</th>
            <th class="number">Standard error</th>
            <th class="number">Episodes</th>
            <th class="number">Weight</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map((task) => {
            const { name, mean, standardError, episodes, weight } = task;
            const text = mean === null ? '–' : formatFigure(mean, standardError ?? 0);
            const bar = toTaskBar(task);
            return html`<tr>
              <th scope="row" class="name"><bdi>${name}</bdi></th>
              <td class="picture">${bar && domain ? renderIntervalBar(bar, domain, text) : nothing}</td>
              <td class="number">${text}</td>
              <td class="number">${standardError === null ? '–' : formatFigure(standardError, standardError)}</td>
              <td class="number">${formatCount(episodes)}</td>
              <td class="number">${(100 * weight).toFixed(1)} %</td>
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
  </section>`;
}

function toTaskBar({ mean, standardError, interval }: TaskStatistics): Bar | undefined {
  if (mean === null) return undefined;
  if (interval) return { mean, interval: [interval.low, interval.high], target: null };
  return { mean, interval: standardError === null ? null : [mean - standardError, mean + standardError], target: null };
}
