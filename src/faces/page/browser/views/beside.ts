import { html, nothing, type TemplateResult } from 'lit-html';
import type { Actions } from '../model/actions.ts';
import { MOST_BESIDE, type Route } from '../model/route.ts';

type Placed = Extract<Route, { readonly beside: readonly string[] }>;

interface Offered {
  readonly value: string;
  readonly text: string;
}

/** Renders the other curves of the chart, which can be removed, and those that can be added. @param offered without those in the chart. */
export function renderBeside(place: Placed, label: string, known: readonly Offered[], actions: Actions): TemplateResult {
  const { beside } = place;
  const offered = known.filter(({ value }) => !beside.includes(value));
  const onChange = ({ target }: Event): void => {
    if (!(target instanceof HTMLSelectElement) || target.value === '') return;
    actions.go({ ...place, beside: [...beside, target.value] });
    target.value = '';
  };
  return html`${
    offered.length === 0 || beside.length >= MOST_BESIDE
      ? nothing
      : html`<label
          >${label}
          <select @change=${onChange}>
            <option value="">none</option>
            ${offered.map(({ value, text }) => html`<option value=${value}>${text}</option>`)}
          </select></label
        >`
  }
  ${beside.map((each) => {
    const text = known.find(({ value }) => value === each)?.text ?? each;
    return html`<button type="button" @click=${() => actions.go({ ...place, beside: beside.filter((other) => other !== each) })}>
      <bdi>${text}</bdi> <span aria-hidden="true">×</span><span class="unseen">: take it away</span>
    </button>`;
  })}`;
}
