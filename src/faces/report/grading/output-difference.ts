import { diffWordsWithSpace } from 'diff';
import { markup } from '../text/markup.ts';
import type { Markup } from '../text/markup.ts';

/** Changes that are looked for; two texts that have less in common than that are shown as they are. */
const MOST_CHANGES = 400;

interface Outputs {
  readonly expected: string;
  readonly got: string;
}

/** Two outputs beside one another; what only one of them has is marked. */
export function renderOutputDifference({ expected, got }: Outputs): Markup {
  const parts = diffWordsWithSpace(expected, got, { maxEditLength: MOST_CHANGES }) ?? [
    { value: expected, removed: true, added: false },
    { value: got, removed: false, added: true },
  ];
  const wanted = parts.map(({ value, removed, added }) => (added ? undefined : removed ? markup`<del>${value}</del>` : value));
  const found = parts.map(({ value, removed, added }) => (removed ? undefined : added ? markup`<ins>${value}</ins>` : value));
  return markup`<div class="outputs"><figure><figcaption>Expected</figcaption><pre tabindex="0"><bdi>${wanted}</bdi></pre></figure>
<figure><figcaption>Got</figcaption><pre tabindex="0"><bdi>${found}</bdi></pre></figure></div>`;
}
