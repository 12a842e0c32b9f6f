import { describe, expect, it } from 'vitest';
import { type Architecture, REFUSED_SYSTEM_CALLS } from '../../../../src/adapters/sandbox/local/program/refused-system-calls.ts';
import { buildSystemCallFilter } from '../../../../src/adapters/sandbox/local/program/system-call-filter.ts';

/** Of linux/audit.h. */
const AUDIT: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
const AUDIT_I386 = 0x40000003;
const AUDIT_ARM = 0x40000028;
const X32_BIT = 0x40000000;
const ERRNO = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97, EPROTONOSUPPORT: 93 } as const;
/** seccomp(2) takes no longer program: BPF_MAXINSNS. */
const INSTRUCTIONS_MAX = 4096;

interface Call {
  readonly architecture: number;
  readonly number: number;
  readonly arguments?: readonly bigint[];
}

/** What the kernel would do with the call: a small interpreter of the instructions of classic BPF that seccomp allows for. */
function verdict(program: Uint8Array, call: Call): string {
  const data = seccompData(call);
  const code = new DataView(program.buffer, program.byteOffset, program.byteLength);
  let accumulator = 0;
  for (let at = 0; at < program.byteLength / 8; at += 1) {
    const operation = code.getUint16(at * 8, true);
    const value = code.getUint32(at * 8 + 4, true);
    const jump = (holds: boolean): number => code.getUint8(at * 8 + (holds ? 2 : 3));
    switch (operation) {
      case 0x20: // BPF_LD | BPF_W | BPF_ABS
        accumulator = data.getUint32(value, true);
        break;
      case 0x15: // BPF_JMP | BPF_JEQ | BPF_K
        at += jump(accumulator === value);
        break;
      case 0x35: // BPF_JMP | BPF_JGE | BPF_K
        at += jump(accumulator >= value);
        break;
      case 0x45: // BPF_JMP | BPF_JSET | BPF_K
        at += jump((accumulator & value) !== 0);
        break;
      case 0x06: // BPF_RET | BPF_K
        return named(value);
      default:
        throw new Error(`instruction ${at} has the operation ${operation}`);
    }
  }
  throw new Error('the program ends without a verdict');
}

/** struct seccomp_data */
function seccompData(call: Call): DataView {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, call.number, true);
  data.setUint32(4, call.architecture, true);
  for (const [i, argument] of (call.arguments ?? []).entries()) data.setBigUint64(16 + i * 8, argument, true);
  return data;
}

function named(value: number): string {
  if (value === 0x7fff0000) return 'allowed';
  if (value === 0x80000000) return 'killed';
  if (value >>> 16 === 0x0005) return `errno ${value & 0xffff}`;
  throw new Error(`the verdict ${value.toString(16)} means nothing`);
}

describe.each<Architecture>(['x64', 'arm64'])('the system-call filter for %s', (architecture) => {
  const program = buildSystemCallFilter(architecture);
  const here = REFUSED_SYSTEM_CALLS.flatMap((call) => {
    const number = call[architecture];
    return number === undefined ? [] : [{ ...call, number }];
  });
  const byBits = here.flatMap(({ when, ...call }) => (when && 'hasAny' in when ? [{ ...call, bits: when.hasAny }] : []));
  const byList = here.flatMap(({ when, ...call }) => {
    if (!when || 'hasAny' in when) return [];
    const [list, lets] = 'isOneOf' in when ? [when.isOneOf, false] : [when.isNoneOf, true];
    return [{ ...call, argument: when.argument, list, lets }];
  });
  const passed = (number: number): bigint[] => {
    const given = [0n, 0n, 0n];
    for (const { argument, list, lets, ...call } of byList) if (call.number === number && lets) given[argument] = BigInt(list[0] ?? 0);
    return given;
  };
  /** All other arguments are let through. */
  const ask = (number: number, value = 0n, argument = 0): string =>
    verdict(program, { architecture: AUDIT[architecture], number, arguments: passed(number).with(argument, value) });

  it('is valid for the kernel: whole instructions, not too many, every jump within the program', () => {
    expect(program.byteLength % 8).toBe(0);
    const length = program.byteLength / 8;
    expect(length).toBeLessThanOrEqual(INSTRUCTIONS_MAX);
    const jumps = Array.from({ length }, (_, i) => i + 1 + Math.max(program[i * 8 + 2] ?? 0, program[i * 8 + 3] ?? 0));
    expect(jumps.every((target) => target <= length)).toBe(true);
  });

  it.each(here.filter(({ when }) => when === undefined))('answers $name with $answer', ({ number, answer }) => {
    for (const first of [0n, 1n, 0xffff_ffffn, 0xffff_ffff_ffff_ffffn]) expect(ask(number, first)).toBe(`errno ${ERRNO[answer]}`);
  });

  it.each(byBits)('answers $name with $answer if its first argument has one of the bits, and only then', ({ number, answer, bits }) => {
    const answers = Array.from({ length: 32 }, (_, bit) => ask(number, 1n << BigInt(bit)));
    const refused = `errno ${ERRNO[answer]}`;
    expect(answers).toEqual(answers.map((_, bit) => (((bits >>> bit) & 1) === 1 ? refused : 'allowed')));
    expect([ask(number), ask(number, 0xffff_ffffn), ask(number, 0xffff_ffff_0000_0000n)]).toEqual(['allowed', refused, 'allowed']);
  });

  it.each(byList)(
    'answers $name with $answer by its argument $argument, as the kernel reads it: $list',
    ({ number, answer, argument, list, lets }) => {
      const refused = `errno ${ERRNO[answer]}`;
      const values = [...Array.from({ length: 64 }, (_, value) => value), 1023, 1024, 1025, 1026, 1027, 2 ** 31, 2 ** 32 - 1];
      const expected = values.map((value) => (list.includes(value) === lets ? 'allowed' : refused));
      expect(values.map((value) => ask(number, BigInt(value), argument))).toEqual(expected);
      // The upper half is nothing to the kernel, which takes the argument for an int.
      expect(values.map((value) => ask(number, 0xffff_ffff_0000_0000n | BigInt(value), argument))).toEqual(expected);
    },
  );

  it('lets every other call through', () => {
    const numbers = new Set(here.map(({ number }) => number));
    const others = Array.from({ length: 1024 }, (_, number) => number).filter((number) => !numbers.has(number));
    expect(others.map((number) => ask(number, 0xffff_ffff_ffff_ffffn)).filter((answer) => answer !== 'allowed')).toEqual([]);
  });

  it('kills a program of any other architecture, whatever it calls', () => {
    const others = [AUDIT_I386, AUDIT_ARM, AUDIT[architecture === 'x64' ? 'arm64' : 'x64'], 0, 0xffffffff];
    for (const other of others) {
      for (const number of [0, 20, ...numbersOf(here)]) expect(verdict(program, { architecture: other, number })).toBe('killed');
    }
  });

  it('has each call number once, or with a condition each time', () => {
    const names = Map.groupBy(here, ({ number }) => number);
    for (const calls of names.values()) {
      expect(new Set(calls.map(({ name }) => name)).size).toBe(1);
      expect(calls.length === 1 || calls.every(({ when }) => when !== undefined)).toBe(true);
    }
  });
});

describe('the system-call filter for x64', () => {
  it('refuses the calls of x32, which are the same calls under other numbers', () => {
    const program = buildSystemCallFilter('x64');
    for (const number of [0, 1, 59, 512, 547, ...REFUSED_SYSTEM_CALLS.flatMap(({ x64 }) => x64 ?? [])]) {
      expect(verdict(program, { architecture: AUDIT.x64, number: X32_BIT + number })).toBe(`errno ${ERRNO.ENOSYS}`);
    }
    expect(verdict(program, { architecture: AUDIT.x64, number: 0xffffffff })).toBe(`errno ${ERRNO.ENOSYS}`);
  });
});

function numbersOf(calls: readonly { readonly number: number }[]): readonly number[] {
  return calls.map(({ number }) => number);
}
