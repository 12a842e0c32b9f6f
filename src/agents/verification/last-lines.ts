import type { Evidence } from './evidence.ts';
import { findEndingProblem } from './judged-stages.ts';

/** Lists the last lines that the programs of these stages printed; of cases, those of the first run that failed. They may quote a hidden case. */
export function listLastLines(evidence: readonly Evidence[], most: number): readonly string[] {
  const text = evidence.map(getPrinted).join('\n').trim();
  return text === '' ? [] : text.split('\n').slice(-most);
}

function getPrinted(one: Evidence): string {
  if ('output' in one) return one.output;
  if ('runs' in one) return one.runs.map(({ output }) => output).join('\n');
  if (one.stage !== 'execute' || !('cases' in one)) return '';
  const runs = one.cases.flatMap((each) => each.runs);
  return runs.find(({ ending, errors }) => findEndingProblem(ending) !== '' && errors.trim() !== '')?.errors ?? '';
}
