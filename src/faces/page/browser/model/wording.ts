import { getCheckpointName } from '../../../checkpoint-name.ts';
import { html, type TemplateResult } from 'lit-html';
import { formatAge, formatCount, formatDuration, formatFigure } from '../../../../kernel/text/figures.ts';
import { isOpen } from '../../../client/live-board.ts';
import type { EvaluationItem } from '../../../http/schemas/evaluation-schemas.ts';
import type { Bar } from '../charts/interval-bar.ts';
import { getEnds } from './ends.ts';
import type { PageState } from './state.ts';

/** Numbers and times of evaluations as the page writes them. */

const NONE = '–';

/** Formats `483.1 ± 9.2`; a dash while there is none. */
export function formatEstimate(item: EvaluationItem): string {
  const figures = item.running;
  if (figures?.kind === 'comparison') return formatComparison(figures.candidates);
  if (!figures || figures.mean === null) return NONE;
  const { mean, halfWidth } = figures;
  return halfWidth === null ? formatFigure(mean, 0) : `${formatFigure(mean, halfWidth)} ± ${formatFigure(halfWidth, halfWidth)}`;
}

function formatComparison(candidates: readonly { readonly verdict: string | null; readonly difference: number | null }[]): string {
  const decided = candidates.filter(({ verdict }) => verdict !== null);
  const [only] = candidates;
  if (candidates.length !== 1 || !only) return `${decided.length} of ${candidates.length} decided`;
  return only.verdict ?? (only.difference === null ? NONE : `difference ${formatFigure(only.difference, 0)}`);
}

export function toBar({ running }: EvaluationItem): Bar | undefined {
  if (running?.kind !== 'evaluation' || running.mean === null) return undefined;
  const { mean, target } = running;
  return { mean, interval: getEnds(mean, running) ?? null, target: target === null ? null : [mean - target, mean + target] };
}

/** Formats the time left, or the time that it took. */
export function formatEvaluationDuration(item: EvaluationItem): string {
  const { running, startedAt, endedAt } = item;
  if (isOpen(item)) return running?.secondsLeft === null || !running ? NONE : `${formatDuration(running.secondsLeft)} left`;
  if (startedAt === null || endedAt === null) return NONE;
  return formatDuration((Date.parse(endedAt) - Date.parse(startedAt)) / 1000);
}

export function formatEpisodes({ running }: EvaluationItem): string {
  return running ? formatCount(running.episodes) : NONE;
}

export function formatRate(item: EvaluationItem): string {
  return isOpen(item) && item.running ? `${formatCount(item.running.episodesPerSecond)}/s` : '';
}

/** Renders how long ago a time was, with the exact time on hover. @param now milliseconds since 1970. */
export function renderAge(time: string, now: number): TemplateResult {
  return html`<time datetime=${time} title=${time}>${formatAgeOf(time, now)} ago</time>`;
}

export function formatAgeOf(time: string, now: number): string {
  return formatAge(now - Date.parse(time));
}

/** Formats how long something is still leased. @param now milliseconds since 1970. */
export function formatLease(until: string, now: number): string {
  const seconds = (Date.parse(until) - now) / 1000;
  return seconds > 0 ? `${formatDuration(seconds)} left` : 'over';
}

/** Formats the checkpoint's name, with the version of its run. */
export function formatCheckpoint({ checkpoints, run, version }: EvaluationItem): string {
  const subject = checkpoints.find(({ part }) => part !== 'baseline') ?? checkpoints[0];
  const file = subject === undefined ? NONE : getCheckpointName(subject);
  const others = checkpoints.length - (checkpoints.some(({ part }) => part === 'baseline') ? 1 : 0);
  const name = others > 1 ? `${others} candidates` : file;
  return run === null ? name : `${run}${version === null ? '' : ` @ ${formatCount(version)}`} · ${name}`;
}

/** Formats the title of the browser's tab: the view comes first, since tabs are narrow. */
export function formatTitle({ route, detail, transcript, stream }: PageState): string {
  switch (route.view) {
    case 'overview':
      return `${route.filter.run === '' ? 'Evaluations' : route.filter.run} · Muster`;
    case 'evaluation':
      return `${detail?.evaluation ? `${formatEstimate(detail.evaluation)} · ${detail.evaluation.suite}` : route.id} · Muster`;
    case 'episode':
      return `Episode ${formatCount(route.index)} · Muster`;
    case 'batches':
      return `${route.name === '' ? 'Batches' : route.name} · Muster`;
    case 'rollouts':
      return 'Rollouts · Muster';
    case 'stream':
      return `${stream?.board ? `${stream.board.stream.policy} on ${stream.board.stream.suite}` : route.id} · Muster`;
    case 'agents':
      return 'Agents · Muster';
    case 'agent':
      return `${transcript?.episode?.task ?? route.id} · Muster`;
    case 'pools':
      return 'Pools · Muster';
    case 'access':
      return 'Access · Muster';
    case 'unknown':
      return 'No such page · Muster';
  }
}

export function renderState({ state }: Pick<EvaluationItem, 'state'>): TemplateResult {
  return html`<span class="state ${state}">${state}</span>`;
}
