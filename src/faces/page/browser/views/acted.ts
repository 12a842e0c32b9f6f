import { html, nothing, type TemplateResult } from 'lit-html';
import type { Transcript, TranscriptStep, TranscriptTurn } from '../../../../agents/acting/transcript/transcript.ts';
import type { WorkspaceDiff } from '../../../../agents/arena/workspace-diff.ts';
import { formatCount } from '../../../../kernel/text/figures.ts';
import { readArguments } from '../model/transcript.ts';
import { formatReward } from './agents.ts';
import { renderFigures } from './figures.ts';
import { renderCall, renderPatch, renderStages, renderText } from './step-parts.ts';

/** Renders what an agent did in an episode of an evaluation: each tool call with its answer and its changes, and the verdict with its stages. */
export function renderActed({ steps, omitted }: Transcript): TemplateResult {
  const isOnly = steps.length === 1;
  return html`${steps.map((step) => renderStep(step, isOnly ? '' : `Step ${step.name}: `))}
  ${omitted === 0 ? nothing : html`<p class="muted">${formatCount(omitted)} characters of long texts were not kept.</p>`}`;
}

function renderStep(step: TranscriptStep, before: string): TemplateResult {
  const { turns, prompt, rest, printed } = step;
  return html`${renderVerdict(step, before)}
    <section aria-label="${before}Transcript">
      <div class="head"><h2>${before}Transcript</h2></div>
      ${
        prompt.length === 0
          ? nothing
          : html`<details class="card">
              <summary>The model's first messages</summary>
              ${prompt.map(({ role, content }) => renderText(role, content))}
            </details>`
      }
      ${turns.length === 0 && !rest ? html`<p class="muted">The agent has done nothing.</p>` : nothing}
      <ol class="steps">
        ${turns.map(renderTurn)}
        ${
          rest || printed !== null
            ? html`<li class="card step">
                <div class="head"><h3>${turns.length === 0 ? 'By itself' : 'Beside the calls'}</h3></div>
                ${printed === null ? nothing : renderText('printed', printed, 'answered')} ${rest ? renderChange(rest) : nothing}
              </li>`
            : nothing
        }
      </ol>
    </section>`;
}

function renderVerdict({ verdict, stopReason, model, turns }: TranscriptStep, before: string): TemplateResult {
  const figures: readonly (readonly [string, string])[] = [
    ...(model === null ? [] : [['model', model] as const]),
    ['turns', formatCount(turns.length)],
    ['ended by', stopReason],
    ...(verdict
      ? ([
          ['tests', `${verdict.passed} of ${verdict.total}`],
          ['gate', String(verdict.gate)],
        ] as const)
      : []),
    ...(verdict?.components ?? []).map(({ name, score }) => [name, formatReward(score)] as const),
  ];
  return html`<section class="card answer" aria-label="${before}Verdict">
    <p class="headline">
      ${before}${verdict ? (verdict.reward === null ? 'no reward' : `reward ${formatReward(verdict.reward)}`) : 'not graded'}
    </p>
    ${verdict?.problem ? html`<p class="warning">${verdict.problem.detail}</p>` : nothing}
    ${verdict ? renderStages(verdict.stages) : nothing} ${renderFigures(figures)}
  </section>`;
}

function renderTurn({ content, reasoning, calls, remarks, at }: TranscriptTurn, position: number): TemplateResult {
  const names = calls.map(({ name }) => name);
  return html`<li class="card step">
    <div class="head">
      <h3>${position + 1}. ${names.length === 0 ? 'no call' : names.map((name) => html`<code>${name}</code> `)}</h3>
      ${at === null ? nothing : html`<time class="muted" datetime=${at} title=${at}>${at.slice(11, 19)}</time>`}
    </div>
    ${reasoning === null || reasoning === '' ? nothing : renderText('reasoning', reasoning)}
    ${content === '' ? nothing : renderText('said', content)}
    ${calls.map(
      ({ arguments: given, answer, diff }) =>
        html`${renderCall(readArguments(given), answer ?? '')}
        ${answer === null ? html`<p class="muted">It was not carried out.</p>` : nothing}
        ${diff && diff.files.length > 0 ? renderChange(diff) : nothing}`,
    )}
    ${remarks.map((remark) => renderText('told', remark, 'answered'))}
  </li>`;
}

function renderChange(diff: WorkspaceDiff): TemplateResult {
  const { length } = diff.files;
  return html`<details open>
    <summary>Changed ${length === 1 ? html`<bdi>${diff.files[0]?.path}</bdi>` : `${formatCount(length)} files`}</summary>
    ${renderPatch(diff)}
  </details>`;
}
