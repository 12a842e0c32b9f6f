import { markup, type Markup } from './markup.ts';

/** Renders warnings about the figures; nothing when there are none. */
export function renderWarningList(warnings: readonly string[]): Markup | undefined {
  if (warnings.length === 0) return undefined;
  const title = warnings.length === 1 ? 'A warning' : `${warnings.length} warnings`;
  return markup`<section class="card warnings"><h3><span aria-hidden="true">⚠ </span>${title}</h3>
<ul>${warnings.map((warning) => markup`<li><bdi>${warning}</bdi></li>`)}</ul></section>`;
}
