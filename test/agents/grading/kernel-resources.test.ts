import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readElfSymbols } from '../../../src/agents/grading/measures/elf-symbols.ts';
import type { CommandResult } from '../../../src/agents/workspace/command.ts';
import { readKernelResources } from '../../../src/agents/grading/measures/measure-constraints.ts';

/** In the form that NVIDIA documents for `nvcc -Xptxas -v`; written by hand, because there is no such compiler here. */
const PTXAS = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z6matmulPKfS0_Pfi' for 'sm_80'
ptxas info    : Function properties for _Z6matmulPKfS0_Pfi
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 8192 bytes smem, 380 bytes cmem[0]
ptxas info    : Compiling entry function '_Z5smallPf' for 'sm_80'
ptxas info    : Used 12 registers, 344 bytes cmem[0]
`;
const OLD = 'ptxas info    : Used 63 registers, 4096+1024 bytes smem, 68 bytes cmem[0]\n';

function compiled(text: string, total = text.length): CommandResult {
  const printed = { head: Buffer.from(text), tail: Buffer.alloc(0), total };
  const nothing = { head: Buffer.alloc(0), tail: Buffer.alloc(0), total: 0 };
  return {
    end: { kind: 'exited', code: 0 },
    stdout: nothing,
    stderr: printed,
    report: nothing,
    seconds: 1,
    cpuSeconds: 1,
    peakBytes: 1,
    called: [],
  };
}

describe('what a compiler for GPUs prints', () => {
  it.each([
    [PTXAS, 40, 8192],
    [OLD, 63, 5120],
    [`${PTXAS}${OLD}`, 63, 8192],
    // A source that has the compiler print a line of its own can only add to it.
    [`${PTXAS}k.cu:1: warning: ptxas info : Used 1 registers, 0 bytes smem\n`, 40, 8192],
    ['ptxas info    : Used 8 registers, 320 bytes cmem[0]\n', 8, 0],
    [
      'k.hip:3:1: remark:     VGPRs: 32 [-Rpass-analysis=kernel-resource-usage]\nk.hip:3:1: remark:     LDS Size [bytes/block]: 2048\n',
      32,
      2048,
    ],
  ])('says the most that a kernel takes', (text, registers, shared) => {
    expect(readKernelResources('registers', compiled(text)).count).toBe(registers);
    expect(readKernelResources('sharedMemoryBytes', compiled(text)).count).toBe(shared);
  });

  it('gives no figures when it is cut off, names no kernel, or nothing was compiled', () => {
    expect(readKernelResources('registers', compiled(PTXAS, PTXAS.length + 1)).reason).toContain('more than is read');
    expect(readKernelResources('sharedMemoryBytes', compiled('done\n')).reason).toContain('no resources of a kernel');
    expect(readKernelResources('registers', undefined).reason).toBe('nothing was compiled');
  });
});

describe('the symbols of any bytes', () => {
  it('are read or missing, and never an error', () => {
    const header = Buffer.from('7f454c4602010100', 'hex');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4096 }), (bytes) => {
        const found = readElfSymbols(Buffer.concat([header, bytes]));
        expect(found === undefined || found.size >= 0).toBe(true);
      }),
    );
    expect(readElfSymbols(Buffer.from('#!/bin/sh\n'))).toBeUndefined();
  });
});
