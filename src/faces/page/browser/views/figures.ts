import { html, nothing, type TemplateResult } from 'lit-html';

/** Renders names, each with its figure. */
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

/** A heading, or one with the class of its column: figures stand to the right, pictures take the width that is left. */
export type Column = string | TemplateResult | { readonly name: string; readonly kind: 'number' | 'picture' };

export function listNumbers(...names: readonly string[]): readonly Column[] {
  return names.map((name) => ({ name, kind: 'number' }));
}

/** Renders a table that scrolls by itself where it is wider than the page. @param label says what it holds. */
export function renderTable(label: string, columns: readonly Column[], rows: unknown, look?: string): TemplateResult {
  return html`<div class="card scroll" tabindex="0" role="region" aria-label=${label}>
    <table class=${look ?? nothing}>
      <thead>
        <tr>
          ${columns.map(renderHeading)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

function renderHeading(column: Column): TemplateResult {
  const isPlain = typeof column === 'string' || !('kind' in column);
  return isPlain ? html`<th>${column}</th>` : html`<th class=${column.kind}>${column.name}</th>`;
}
