import { markup, type Content, type Markup } from './markup.ts';

/** A line of a table of figures: what it is, its value, and what a reader must know to use it. */
export interface FigureRow {
  readonly name: string;
  readonly value: Content;
  readonly note?: Content;
}

export interface RowGroup {
  readonly title: string;
  readonly rows: readonly FigureRow[];
}

/** Groups without rows are left out. */
export function renderFigureTable(groups: readonly RowGroup[]): Markup {
  const bodies = groups
    .filter(({ rows }) => rows.length > 0)
    .map(({ title, rows }) => markup`<tbody><tr><th scope="rowgroup" colspan="3">${title}</th></tr>${rows.map(renderFigureRow)}</tbody>`);
  return markup`<table class="figures"><thead class="unseen"><tr><th scope="col">Figure</th><th scope="col">Value</th><th scope="col">Note</th></tr></thead>
${bodies}</table>`;
}

function renderFigureRow({ name, value, note }: FigureRow): Markup {
  return markup`<tr><th scope="row">${name}</th><td>${value}</td><td class="note">${note}</td></tr>
`;
}

/** Joins the items of a list, with text between them. */
export function joinContent(items: readonly Content[], between: string): Content {
  return items.flatMap((item, position) => (position === 0 ? [item] : [between, item]));
}
