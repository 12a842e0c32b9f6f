import type { RunFacts } from '../../orchestrator/facts/run-facts.ts';
import { formatRate } from '../../kernel/text/figures.ts';
import { markup, type Markup } from './text/markup.ts';
import { count, renderData, renderDuration, renderSpreadFigure } from './text/numbers.ts';
import { renderFigureTable, joinContent, type FigureRow } from './text/rows.ts';
/** Indices of episodes that are listed before the rest is counted. */
const NAMED = 20;

/** Renders what the run cost, and its sandboxes: facts that depend on time and machine. */
export function runSection(run: RunFacts, source: string): Markup {
  return markup`<section class="card"><h3>How it ran</h3>
${renderFigureTable([
  { title: 'Time', rows: renderTimeRows(run, source) },
  { title: 'Episodes', rows: renderEpisodeRows(run, source) },
  { title: 'Sandboxes', rows: renderSandboxRows(run.pool, `${source}.pool`) },
])}</section>`;
}

function renderTimeRows(
  { startedAt, seconds, outcomes, firstEpisodeSeconds, episodesPerSecond, episodeSeconds, sandboxSeconds, cost }: RunFacts,
  source: string,
): FigureRow[] {
  const rows: FigureRow[] = [
    { name: 'Started', value: startTime(startedAt) },
    { name: 'Wall clock', value: renderDuration(seconds, `${source}.seconds`), note: 'from the request to the summary' },
  ];
  if (outcomes > 0)
    rows.push({
      name: 'Rate',
      value: markup`${renderData(episodesPerSecond, formatRate(episodesPerSecond), `${source}.episodesPerSecond`)} episodes/s`,
      note: 'from the first outcome on',
    });
  if (firstEpisodeSeconds !== undefined)
    rows.push({ name: 'First outcome', value: markup`after ${renderDuration(firstEpisodeSeconds, `${source}.firstEpisodeSeconds`)}` });
  if (episodeSeconds) {
    const of = (member: keyof typeof episodeSeconds): Markup =>
      renderDuration(episodeSeconds[member], `${source}.episodeSeconds.${member}`);
    rows.push({
      name: 'One episode',
      value: of('mean'),
      note: markup`mean; half take at most ${of('p50')}, 95 % at most ${of('p95')}, the longest took ${of('max')}`,
    });
  }
  rows.push({
    name: 'Sandbox time',
    value: renderDuration(sandboxSeconds, `${source}.sandboxSeconds`),
    note: 'for how long sandboxes were leased, added up',
  });
  if (cost !== null)
    rows.push({ name: 'Cost', value: renderSpreadFigure(cost, `${source}.cost`), note: 'sandbox time at the price of the template' });
  return rows;
}

/** Formats the start to the minute, in UTC as in the summary. */
export function startTime(startedAt: string): Markup {
  return markup`<time datetime="${startedAt}">${startedAt.slice(0, 10)} ${startedAt.slice(11, 16)} UTC</time>`;
}

function renderEpisodeRows({ outcomes, recalled, surplus, retried, duplicated, nonDeterministic }: RunFacts, source: string): FigureRow[] {
  const rows: FigureRow[] = [
    { name: 'Played', value: count(outcomes, `${source}.outcomes`), note: 'to their end, whether or not the result needed them' },
    { name: 'Not needed', value: count(surplus, `${source}.surplus`), note: 'they were under way when the result was there' },
    { name: 'Played again', value: count(retried, `${source}.retried`), note: 'because their sandbox was lost' },
    { name: 'Played twice', value: count(duplicated, `${source}.duplicated`), note: 'because they were slow: the first outcome counts' },
  ];
  if (recalled !== undefined && recalled > 0)
    rows.push({ name: 'Known already', value: count(recalled, `${source}.recalled`), note: 'and so not played again' });
  if (nonDeterministic.length > 0) {
    const more = nonDeterministic.length - NAMED;
    const named = nonDeterministic.slice(0, NAMED).join(', ');
    rows.push({
      name: 'Not deterministic',
      value: count(nonDeterministic.length),
      note: `played twice, and came out differently: ${named}${more > 0 ? ` and ${more} more` : ''}`,
    });
  }
  return rows;
}

function renderSandboxRows(pool: RunFacts['pool'], source: string): FigureRow[] {
  const limits = Object.entries(pool.limits).map(
    ([name, { scope, by }]) =>
      markup`${name} ${scope === 'none' ? markup`<b>not enforced</b>` : `by ${by}${scope === 'process' ? ', each process for itself' : ''}`}`,
  );
  return [
    {
      name: 'Provider',
      value: markup`<bdi>${pool.provider}</bdi>`,
      note: markup`template <bdi>${pool.template}</bdi>, isolated by <bdi>${pool.mechanism}</bdi>`,
    },
    { name: 'At a time', value: count(pool.sandboxesMax, `${source}.sandboxesMax`), note: 'at most' },
    {
      name: 'Created',
      value: count(pool.created, `${source}.created`),
      note: markup`${count(pool.destroyed, `${source}.destroyed`)} destroyed, ${count(pool.died, `${source}.died`)} died, ${count(pool.failed, `${source}.failed`)} failed to start, ${count(pool.swept, `${source}.swept`)} left over from earlier processes`,
    },
    ...(limits.length > 0 ? [{ name: 'Limits', value: count(limits.length), note: joinContent(limits, '; ') }] : []),
  ];
}
