import { html, type TemplateResult } from 'lit-html';

/** Names, each with its figure. */
export function renderFigures(figures: readonly (readonly [name: string, text: string])[]): TemplateResult {
  return html`<dl class="figures">
    ${figures.map(
      ([name, text]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${text}</dd>
        </div>`,
    )}
  </dl>`;
}
