import { html, nothing, type TemplateResult } from 'lit-html';
import type { EvaluationItem } from '../../../http/schemas/evaluation-schemas.ts';
import { renderCurve, type Mark } from '../charts/curve.ts';
import { alignCourses, type Course } from '../model/overlaid.ts';
import { toCoursePoint } from '../model/state.ts';

/** Renders the mean returns of runs by version, in one chart, and the verdicts of comparisons. Nothing while there are fewer than two versions. */
export function renderRunCurve(items: readonly EvaluationItem[], runs: readonly string[]): TemplateResult | typeof nothing {
  const courses = runs.map((run) => toCourse(items, run));
  const [first, ...others] = courses;
  if (!first || courses.every(({ points }) => points.length < 2)) return nothing;
  const marks = listMarks(items, runs);
  const names = runs.join(', ');
  const versions = courses.map(({ label, points }) => `${points.length} versions of ${label}`).join(', ');
  const verdicts = marks.map(({ kind, x }) => `${kind} at ${x}`).join(', ');
  return html`<div class="card">
    ${renderCurve({
      title: `Mean return of ${names} by version`,
      xLabel: 'version (training step)',
      ...alignCourses([{ ...first, label: others.length === 0 ? 'mean' : first.label }, ...others]),
      marks,
      alternative: `Mean return with its interval for ${versions}${verdicts === '' ? '' : `; verdicts: ${verdicts}`}; the table below has the figures.`,
    })}
    ${marks.length === 0 ? nothing : html`<p class="muted">▲ promote, ▼ regress: what comparisons decided at a version.</p>`}
  </div>`;
}

function toCourse(items: readonly EvaluationItem[], run: string): Course {
  const points = items.flatMap((item) => {
    const point = toCoursePoint(item.running);
    return item.run !== run || item.version === null || !point || point.mean === null ? [] : [{ ...point, x: item.version }];
  });
  // Latest first: of several evaluations of a version, the last one counts.
  const latest = new Map(points.toReversed().map((point) => [point.x, point]));
  return { label: run, points: [...latest.values()].sort((a, b) => a.x - b.x) };
}

function listMarks(items: readonly EvaluationItem[], runs: readonly string[]): readonly Mark[] {
  return items.flatMap(({ run, version, running }) => {
    if (run === null || version === null || !runs.includes(run) || running?.kind !== 'comparison') return [];
    // With several candidates the server does not say to which one run and version belong.
    const [only, ...others] = running.candidates;
    const verdict = others.length === 0 ? only?.verdict : null;
    return verdict === 'promote' || verdict === 'regress' ? [{ x: version, kind: verdict }] : [];
  });
}
