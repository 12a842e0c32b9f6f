import { html, nothing, type TemplateResult } from 'lit-html';
import { compareLatestFirst } from '../../../client/live-board.ts';
import type { EvaluationItem, EvaluationResource } from '../../../http/schemas/evaluation-schemas.ts';
import { renderCurve } from '../charts/curve.ts';
import { computeDomain, renderIntervalBar } from '../charts/interval-bar.ts';
import type { Actions } from '../model/actions.ts';
import { alignCourses, type Course } from '../model/overlaid.ts';
import { toEvaluation } from '../model/route.ts';
import { getCourse, type CoursePoint, type Detail, type PageState } from '../model/state.ts';
import { formatEstimate, formatCheckpoint, formatEpisodes, toBar } from '../model/wording.ts';
import { renderBeside } from './beside.ts';
import { renderLink } from './link.ts';

/** The latest ones, to choose from. */
const MOST_OFFERED = 50;

/**
 * Renders how the interval of an evaluation has narrowed, and those of others in the same chart: separate evaluations of one suite, which no verdict
 * compares.
 */
export function renderCourse(detail: Detail, evaluation: EvaluationResource, state: PageState, actions: Actions): TemplateResult {
  const { route } = state;
  const own = getCourse(detail);
  const beside = detail.beside.filter(({ kind }) => kind === 'evaluation');
  const courses = [
    { label: beside.length === 0 ? 'mean' : formatCheckpoint(evaluation), points: own.map(toPoint) },
    ...beside.map((other) => ({ label: formatCheckpoint(other), points: getCourse({ evaluation: other, course: [] }).map(toPoint) })),
  ];
  const others = listOthers(state, evaluation, detail.beside);
  const isOffered = route.view === 'evaluation' && (others.length > 0 || route.beside.length > 0);
  return html`${isOffered ? html`<form class="filters">${renderBeside(route, 'Over it', others, actions)}</form>` : nothing}
  ${beside.length === 0 ? nothing : renderTable([evaluation, ...beside], actions)}
  ${courses.every(({ points }) => points.length < 2) ? nothing : renderCourses(courses, own.at(-1)?.episodes ?? 0)}`;
}

function toPoint({ episodes, ...point }: CoursePoint): Course['points'][number] {
  return { ...point, x: episodes };
}

/** Lists evaluations of the same suite that the page knows. */
function listOthers(
  { evaluations }: PageState,
  { id, suite }: EvaluationResource,
  shown: readonly EvaluationItem[],
): readonly { readonly value: string; readonly text: string }[] {
  const known = new Map([...evaluations.values(), ...shown].map((item) => [item.id, item]));
  return [...known.values()]
    .filter((item) => item.suite === suite && item.id !== id && item.kind === 'evaluation')
    .sort(compareLatestFirst)
    .slice(0, MOST_OFFERED)
    .map((item) => ({ value: item.id, text: `${formatCheckpoint(item)}: ${formatEstimate(item)}` }));
}

function renderCourses(courses: readonly Course[], episodes: number): TemplateResult {
  const names = courses.map(({ label }) => label).join(', ');
  return html`<div class="card">
    ${renderCurve({
      title: courses.length === 1 ? 'The interval, episode by episode' : 'The intervals, episode by episode',
      xLabel: 'episodes',
      ...alignCourses(courses),
      alternative:
        courses.length === 1
          ? `The running mean and its interval over ${episodes} episodes.`
          : `The running means and their intervals, of ${names}; the table above has the figures.`,
    })}
  </div>`;
}

function renderTable(items: readonly EvaluationItem[], actions: Actions): TemplateResult {
  const domain = computeDomain(items.flatMap((item) => toBar(item) ?? []));
  return html`<div class="card scroll" tabindex="0" role="region" aria-label="Evaluations beside each other">
    <table>
      <thead>
        <tr>
          <th>Checkpoint</th>
          <th class="picture">Interval</th>
          <th class="number">Estimate</th>
          <th class="number">Episodes</th>
        </tr>
      </thead>
      <tbody>
        ${items.map((item) => {
          const bar = toBar(item);
          return html`<tr>
            <th scope="row" class="name">${renderLink(actions, toEvaluation(item.id), html`<bdi>${formatCheckpoint(item)}</bdi>`)}</th>
            <td class="picture">${bar && domain ? renderIntervalBar(bar, domain, formatEstimate(item)) : nothing}</td>
            <td class="number">${formatEstimate(item)}</td>
            <td class="number">${formatEpisodes(item)}</td>
          </tr>`;
        })}
      </tbody>
    </table>
    <p class="muted">
      No verdict: these are separate evaluations. <code>muster compare</code> plays the same episodes with both, and decides.
    </p>
  </div>`;
}
