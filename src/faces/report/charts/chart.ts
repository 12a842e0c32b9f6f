import { markup, type Content, type Markup } from '../text/markup.ts';
/** The look of a mark of the legend: a class of the style sheet. */
export type Swatch = 'area' | 'estimate' | 'target' | 'level' | 'bar' | 'quartiles' | 'promote' | 'regress' | 'dot';

export interface LegendEntry {
  readonly swatch: Swatch;
  readonly text: Content;
}

export interface Chart {
  readonly title: string;
  /** Explains what the chart shows. */
  readonly note?: Content | undefined;
  /** It is undefined where there is nothing to draw; `absent` then says why. */
  readonly drawing: Markup | undefined;
  readonly absent: Content;
  readonly legend: readonly LegendEntry[];
  readonly table?: FoldedTable | undefined;
}

export interface FoldedTable {
  /** Path in the document of the list with an entry for each row. */
  readonly source?: string;
  readonly columns: readonly Column[];
  /** `<tr>` elements. */
  readonly rows: readonly Markup[];
}

export interface Column {
  readonly title: string;
  /** The entry's member that the column shows. */
  readonly member?: string;
}

export function renderChart({ title, note, drawing, absent, legend, table }: Chart): Markup {
  const caption = markup`<figcaption><h3>${title}</h3>${note === undefined || drawing === undefined ? undefined : markup`<p>${note}</p>`}</figcaption>`;
  if (drawing === undefined) return markup`<figure class="card">${caption}<p class="absent">${absent}</p></figure>`;
  return markup`<figure class="card">${caption}
${drawing}
<ul class="legend">${legend.map(({ swatch, text }) => markup`<li><span class="swatch ${swatch}"></span><span>${text}</span></li>`)}</ul>
${table && renderFoldedTable(title, table)}
</figure>`;
}

function renderFoldedTable(title: string, { source, columns, rows }: FoldedTable): Markup {
  return markup`<details><summary>The figures of this chart</summary>
<div class="scroll" role="region" aria-label="Figures: ${title}" tabindex="0"><table${source === undefined ? undefined : markup` data-source="${source}"`}>
<thead><tr>${columns.map(({ title, member }) => markup`<th scope="col"${member === undefined ? undefined : markup` data-member="${member}"`}>${title}</th>`)}</tr></thead>
<tbody>
${rows}
</tbody></table></div></details>`;
}
