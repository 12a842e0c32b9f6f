import { formatCount } from '../../kernel/text/figures.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import { markup } from './text/markup.ts';
import type { Markup } from './text/markup.ts';
import { countText } from './text/numbers.ts';
import { figureTable } from './text/rows.ts';

/** What to ask for when the same is to be played again. */
export function provenance({ official, checkpoint }: Summary): Markup {
  const { suite, stop, budgetEpisodes } = official;
  const rows = [
    { name: 'Suite', value: markup`<bdi>${suite.name}</bdi>`, note: markup`<code>${suite.digest}</code>` },
    {
      name: 'Checkpoint',
      value: `${countText(checkpoint.files, 'file')}, ${countText(checkpoint.bytes, 'byte')}`,
      note: markup`<code>${official.checkpoint.digest}</code>`,
    },
    { name: 'Stopping rule', value: stop.rule, note: markup`<code>${JSON.stringify(stop)}</code>` },
    { name: 'Budget', value: budgetEpisodes === null ? 'none' : `${formatCount(budgetEpisodes)} episodes` },
  ];
  return markup`<section class="card"><h3>What was evaluated</h3>${figureTable([{ title: 'Inputs', rows }])}</section>`;
}
