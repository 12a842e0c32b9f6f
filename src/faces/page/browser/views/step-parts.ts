import { html, nothing, type TemplateResult } from 'lit-html';
import type { WorkspaceDiff } from '../../../../agents/arena/workspace-diff.ts';

/** How a step is shown: alike for every kind of agent. */

const STAGE_KINDS: Readonly<Record<string, string>> = { passed: 'finished', failed: 'failed', infrastructure: 'lost', 'not-run': '' };

export function renderStages(
  stages: readonly { readonly stage: string; readonly outcome: string; readonly detail?: string }[],
): TemplateResult {
  return html`<ol class="stages" aria-label="Stages of the verdict">
    ${stages.map(
      ({ stage, outcome, detail = '' }) =>
        html`<li>
          ${stage} <span class="state ${STAGE_KINDS[outcome] ?? 'waiting'}">${outcome}</span>
          ${detail === '' ? nothing : html`<p class="muted detail">${detail}</p>`}
        </li>`,
    )}
  </ol>`;
}

/** Renders a tool's arguments, by the names of its parameters, and its answer. */
export function renderCall(fields: readonly (readonly [string, string])[], answer: string): TemplateResult {
  return html`${fields.map(([name, value]) => renderText(name, value))}
  ${answer === '' ? nothing : renderText('answer', answer, 'answered')}`;
}

/** Characters of a text beside its name. */
const SHORT = 80;

export function renderText(name: string, text: string, kind = ''): TemplateResult {
  if (kind === '' && text.length <= SHORT && !text.includes('\n'))
    return html`<p class="field"><span class="muted">${name}</span> <code>${text}</code></p>`;
  return html`<p class="field"><span class="muted">${name}</span></p>
    <pre tabindex="0" class=${kind}>${text}</pre>`;
}

export function renderPatch({ files, patch }: WorkspaceDiff): TemplateResult {
  if (files.length === 0) return html`<p class="muted">No file.</p>`;
  const hidden = files.filter(({ isShown }) => !isShown);
  return html`${
    patch === ''
      ? nothing
      : html`<pre tabindex="0" class="patch">
${patch
            .trimEnd()
            .split('\n')
            .map((line) => html`<span class=${classifyLine(line)}>${`${line}\n`}</span>`)}</pre>`
  }
  ${hidden.map(({ path, change }) => html`<p class="muted">${change}, not shown: <bdi>${path}</bdi></p>`)}`;
}

function classifyLine(line: string): string {
  if (line.startsWith('+++') || line.startsWith('---')) return 'file';
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@@') ? 'place' : '';
}
