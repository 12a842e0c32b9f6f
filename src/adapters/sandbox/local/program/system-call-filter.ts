import { InfrastructureError } from '../../../../kernel/errors.ts';
import { type Architecture, type ArgumentCondition, REFUSED_SYSTEM_CALLS, type RefusedSystemCall } from './refused-system-calls.ts';

/** Classic BPF as seccomp has it: linux/bpf_common.h, linux/seccomp.h. */
const LOAD_WORD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const FAIL = 0x0005_0000;

/** The layout of struct seccomp_data; the arguments are 64 bits wide, lower half first. */
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const FIRST_ARGUMENT_AT = 16;
const ARGUMENT_BYTES = 8;

const ERRNO = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97, EPROTONOSUPPORT: 93 } as const;
/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h. */
const AUDIT = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;
/** System calls of the x32 ABI: the same calls under other numbers, from this bit on. */
const X32_BIT = 0x4000_0000;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/**
 * Builds the filter that every program of a local sandbox runs under, as struct sock_filter instructions of eight bytes.
 *
 * Everything that is not in the table is allowed. A program of another architecture than the kernel's own is killed: its calls have other numbers.
 */
export function buildSystemCallFilter(architecture: Architecture): Uint8Array {
  const instructions: Instruction[] = [
    [LOAD_WORD, 0, 0, ARCHITECTURE_AT],
    [JUMP_IF_EQUAL, 1, 0, AUDIT[architecture]],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD_WORD, 0, 0, NUMBER_AT],
    ...(architecture === 'x64' ? X32_REFUSED : []),
    ...REFUSED_SYSTEM_CALLS.flatMap((call) => toRefusal(call, call[architecture])),
    [RETURN, 0, 0, ALLOW],
  ];
  const bytes = new DataView(new ArrayBuffer(instructions.length * 8));
  for (const [i, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    bytes.setUint16(i * 8, code, true);
    bytes.setUint8(i * 8 + 2, ifTrue);
    bytes.setUint8(i * 8 + 3, ifFalse);
    bytes.setUint32(i * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}

/** @throws InfrastructureError on a processor that the table has no numbers for. */
export function filterOfThisMachine(): Uint8Array {
  const { arch } = process;
  if (arch === 'x64' || arch === 'arm64') return buildSystemCallFilter(arch);
  throw new InfrastructureError(
    'sandbox.architecture',
    `local sandboxes need a system-call filter, and there is none for ${arch} processors; use a machine with x64 or arm64`,
  );
}

const X32_REFUSED: readonly Instruction[] = [
  [JUMP_IF_AT_LEAST, 0, 1, X32_BIT],
  [RETURN, 0, 0, FAIL | ERRNO.ENOSYS],
];

function toRefusal({ answer, when }: RefusedSystemCall, number: number | undefined): readonly Instruction[] {
  if (number === undefined) return [];
  const refuse: Instruction = [RETURN, 0, 0, FAIL | ERRNO[answer]];
  if (when === undefined) return [[JUMP_IF_EQUAL, 0, 1, number], refuse];
  const lower = FIRST_ARGUMENT_AT + ARGUMENT_BYTES * when.argument;
  // The code after it compares the number again.
  const decided: readonly Instruction[] = [[LOAD_WORD, 0, 0, lower], ...buildPastCheck(when), refuse, [LOAD_WORD, 0, 0, NUMBER_AT]];
  return [[JUMP_IF_EQUAL, 0, decided.length, number], ...decided];
}

/** Jumps over the refusal after it unless the condition holds. */
function buildPastCheck(condition: ArgumentCondition): readonly Instruction[] {
  if ('hasAny' in condition) return [[JUMP_IF_ANY_BIT, 0, 1, condition.hasAny]];
  const isOneOf = 'isOneOf' in condition;
  const values = isOneOf ? condition.isOneOf : condition.isNoneOf;
  // An argument that equals a refused value jumps to the refusal, and one that equals an allowed value jumps past it. If an argument equals no
  // refused value, the last comparison jumps past the refusal.
  const jump = (i: number): number => values.length - 1 - i + (isOneOf ? 0 : 1);
  return values.map((value, i) => [JUMP_IF_EQUAL, jump(i), isOneOf && i === values.length - 1 ? 1 : 0, value]);
}
