import type { Summary } from '../../orchestrator/results/summary.ts';
import { markup, type Content, type Markup } from './text/markup.ts';
import {
  count,
  formatQuantity,
  renderData,
  renderEnds,
  renderFigure,
  NONE,
  formatPercentage,
  renderShare,
  renderSpreadFigure,
  computeSpread,
} from './text/numbers.ts';
import { renderFigureTable, joinContent, type FigureRow, type RowGroup } from './text/rows.ts';
import { formatMethod } from './text/wording.ts';

type Official = Summary['official'];
type Interval = NonNullable<Official['interval']>;

/** Renders everything that describes the returns besides their mean. */
export function renderFigures(official: Official, source: string): Markup {
  const groups = [renderSpread, renderRobust, renderSuccess, renderEstimands, renderCertainty].map((group): RowGroup =>
    group(official, source),
  );
  return markup`<section class="card"><h3>Figures</h3>${renderFigureTable(groups)}</section>`;
}

function renderSpread(official: Official, source: string): RowGroup {
  const { interval, mean, variance, standardError, min, max, quantiles, meanLength, resolved, stop } = official;
  const around = computeSpread(interval, mean);
  const renderQuantile = (...members: readonly (keyof NonNullable<typeof quantiles>)[]): Content =>
    quantiles
      ? joinContent(
          members.map((member) => renderFigure(quantiles[member], around, `${source}.quantiles.${member}`)),
          ' · ',
        )
      : NONE;
  return {
    title: 'Returns',
    rows: [
      {
        name: 'Standard deviation',
        value: renderSpreadFigure(variance === null ? null : Math.sqrt(variance)),
        note: markup`of a single episode; variance ${renderSpreadFigure(variance, `${source}.variance`)}, with the divisor n − 1`,
      },
      {
        name: 'Standard error',
        value: renderSpreadFigure(standardError, `${source}.standardError`),
        note: stop.rule === 'fixed' ? 'of the mean' : 'of the mean; no interval can be built on it, since the returns decided when to stop',
      },
      {
        name: 'Lowest · highest',
        value: joinContent([renderFigure(min, around, `${source}.min`), renderFigure(max, around, `${source}.max`)], ' · '),
        note: markup`of ${count(resolved, `${source}.resolved`)} resolved episodes`,
      },
      { name: 'Quartiles', value: renderQuantile('p25', 'p50', 'p75'), note: 'a quarter, half and three quarters are below' },
      { name: '5 % · 95 % quantile', value: renderQuantile('p05', 'p95') },
      {
        name: 'Length',
        value: renderFigure(meanLength, Math.abs(meanLength ?? 1) / 10, `${source}.meanLength`),
        note: 'mean environment steps of a completed episode',
      },
    ],
  };
}

function renderRobust({ iqm, bca, interval, mean }: Official, source: string): RowGroup {
  const rows: FigureRow[] = [];
  if (iqm)
    rows.push({
      name: 'Interquartile mean',
      value: estimate(iqm.value, iqm.interval, computeSpread(interval, mean), `${source}.iqm`),
      note: markup`mean of the middle half of all returns${iqm.interval ? markup`; ${renderPromise(iqm.interval)} (${count(iqm.replicates, `${source}.iqm.replicates`)} replicates)` : undefined}`,
    });
  if (bca)
    rows.push({
      name: 'Bootstrap interval of the mean',
      value: renderEnds(bca, computeSpread(bca, mean), `${source}.bca`),
      note: renderPromise(bca),
    });
  return { title: 'Robust figures', rows };
}

function renderSuccess({ success }: Official, source: string): RowGroup {
  if (success === null) return { title: 'Success', rows: [] };
  const at = `${source}.success`;
  const { threshold, rate, clopperPearson, pass } = success;
  const rows: FigureRow[] = [
    {
      name: 'Success rate',
      value: rate === null ? '–' : renderShare(rate, `${at}.rate`),
      note: markup`${count(success.count, `${at}.count`)} episodes with a score of at least ${renderData(threshold, String(threshold), `${at}.threshold`)}`,
    },
  ];
  if (clopperPearson)
    rows.push({
      name: 'Clopper–Pearson interval',
      value: renderEnds(clopperPearson, computeSpread(clopperPearson, rate), `${at}.clopperPearson`),
      note: renderPromise(clopperPearson),
    });
  for (const [position, { k, anyOf, allOf }] of pass.entries()) {
    const tries = `${formatQuantity(k, 'episode')} of a task`;
    rows.push({ name: `pass@${k}`, value: passEstimate(anyOf, `${at}.pass.${position}.anyOf`), note: `at least one success in ${tries}` });
    rows.push({ name: `pass^${k}`, value: passEstimate(allOf, `${at}.pass.${position}.allOf`), note: `nothing but successes in ${tries}` });
  }
  return { title: 'Success', rows };
}

interface PassEstimate {
  readonly value: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

function passEstimate({ value, low, high }: PassEstimate, source: string): Content {
  return estimate(value, low === null || high === null ? null : { low, high }, 0.01, source, source);
}

function renderEstimands({ estimands: { thisSuite, taskPopulation }, tasks }: Official, source: string): RowGroup {
  const at = `${source}.estimands`;
  const renderMean = ({ mean, standardError }: typeof thisSuite, name: string): Content =>
    mean === null
      ? NONE
      : markup`${renderFigure(mean, standardError ?? Math.abs(mean ?? 1), `${at}.${name}.mean`)} ± ${renderSpreadFigure(standardError, `${at}.${name}.standardError`)}`;
  const rows: FigureRow[] = [
    {
      name: 'This suite',
      value: renderMean(thisSuite, 'thisSuite'),
      note: tasks.length < 2 ? 'mean and standard error' : 'exactly these tasks, with exactly their weights; mean and standard error',
    },
  ];
  if (taskPopulation) {
    const { interval } = taskPopulation;
    rows.push({
      name: 'Task population',
      value: markup`${renderMean(taskPopulation, 'taskPopulation')}${interval ? markup`<br>${renderEnds(interval, computeSpread(interval, taskPopulation.mean), `${at}.taskPopulation.interval`)}` : undefined}`,
      note: markup`all tasks of which these ${count(taskPopulation.tasks, `${at}.taskPopulation.tasks`)} are a sample; mean and clustered standard error${interval ? markup`; ${renderPromise(interval)}` : undefined}`,
    });
  }
  return { title: 'What is estimated', rows };
}

function renderCertainty({ certainty, episodes }: Official, source: string): RowGroup {
  const title = 'Price of not knowing the spread beforehand';
  if (certainty === null) return { title, rows: [] };
  const { knownVarianceEpisodes, extraEpisodes } = certainty;
  const factor = episodes / knownVarianceEpisodes;
  const times = markup`${renderData(factor, factor.toFixed(1))} times as many in all: the interval holds although the standard deviation was unknown, and although the returns decided when to stop`;
  return {
    title,
    rows: [
      {
        name: 'Had it been known',
        value: count(knownVarianceEpisodes, `${source}.certainty.knownVarianceEpisodes`),
        note: 'episodes that an interval as narrow as was asked for would have needed, had the standard deviation been known',
      },
      {
        name: 'Played beyond that',
        value: count(extraEpisodes, `${source}.certainty.extraEpisodes`),
        note: extraEpisodes < 0 ? 'episodes: it ended before it had as many' : times,
      },
    ],
  };
}

/** @param source path of the estimate; its ends are in `interval` there unless `endsSource` says otherwise. */
function estimate(
  value: number | null,
  interval: { readonly low: number; readonly high: number } | null,
  otherwise: number,
  source: string,
  endsSource = `${source}.interval`,
): Content {
  const around = interval ? computeSpread(interval, value) : otherwise;
  return markup`${renderFigure(value, around, `${source}.value`)}${interval ? markup` ${renderEnds(interval, around, endsSource)}` : undefined}`;
}

function renderPromise({ confidence, method, guarantee }: Interval): Markup {
  return markup`${formatPercentage(confidence)} interval (${formatMethod(method)}): ${guarantee}`;
}
