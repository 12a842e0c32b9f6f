import type { CommandResult, PrintedOutput } from '../../workspace/command.ts';
import type { Counted } from './counted-run.ts';

type Measure = 'registers' | 'sharedMemoryBytes';

/**
 * Resource reports of GPU compilers for each kernel: `ptxas -v` ("ptxas info    : Used 32 registers, 8192 bytes smem", also "8192+16 bytes smem") and
 * hipcc with -Rpass-analysis=kernel-resource-usage ("remark: … VGPRs: 32", "LDS Size [bytes/block]: 8192").
 */
const PATTERNS: Readonly<Record<Measure, readonly RegExp[]>> = {
  registers: [/\bUsed (\d{1,9}) registers\b/g, /\bVGPRs: (\d{1,9})\b/g],
  sharedMemoryBytes: [/\b(\d{1,12}(?:\+\d{1,12})?) bytes smem\b/g, /\bLDS Size \[bytes\/block\]: (\d{1,12})\b/g],
};

/**
 * The most that any kernel takes, as the compile step has printed it. A source can make the compiler print further numbers, which can only raise it.
 *
 * @param compiled undefined where nothing was compiled.
 */
export function readKernelResources(measure: Measure, compiled: CommandResult | undefined): Counted {
  if (compiled === undefined) return { reason: 'nothing was compiled' };
  const texts = [compiled.stdout, compiled.stderr].map(getWholeText);
  if (texts.includes(undefined)) return { reason: 'the compile step printed more than is read' };
  const text = texts.join('\n');
  const registers = findNumbers('registers', text);
  if (registers.length === 0) return { reason: 'the compile step printed no resources of a kernel; expected what ptxas -v prints' };
  // A kernel without shared memory has no number of it.
  return { count: Math.max(0, ...(measure === 'registers' ? registers : findNumbers(measure, text))) };
}

function findNumbers(measure: Measure, text: string): readonly number[] {
  return PATTERNS[measure].flatMap((pattern) =>
    Array.from(text.matchAll(pattern), ([, amount = '']) => amount.split('+').reduce((sum, part) => sum + Number(part), 0)),
  );
}

function getWholeText({ head, tail, total }: PrintedOutput): string | undefined {
  return head.length + tail.length < total ? undefined : `${head.toString('latin1')}${tail.toString('latin1')}`;
}
