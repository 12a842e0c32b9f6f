import { formatNotice } from './error-report.ts';

const EARLIER = {
  resumed: () => 'continues the run that was interrupted there, with the episodes that it kept',
  'begun-anew': () => 'every episode of an earlier run failed there; they are played again',
  complete: (run: string) => `this ${run} is complete; its summary is shown again, and nothing is played`,
} as const;

/** Explains what happens to the present content of `--out`. @param run "evaluation" or "comparison". */
export function formatEarlierRun(out: string, run: string, earlier: keyof typeof EARLIER): string {
  return formatNotice(`${out}: ${EARLIER[earlier](run)}`);
}
