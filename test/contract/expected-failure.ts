/* oxlint-disable vitest/no-standalone-expect, vitest/expect-expect, vitest/valid-title, vitest/no-conditional-tests -- contracts make their tests with it */
import { expect, it } from 'vitest';

/** The reason why an adapter cannot fulfil a case of its contract, and the message of the error with which the case ends. */
export interface ExpectedFailure {
  readonly reason: string;
  /** Absent if the load of the machine decides the outcome. The case is then skipped. */
  readonly error?: RegExp;
}

/** Expected failures by the title of the case. */
export type ExpectedFailures = Readonly<Record<string, ExpectedFailure>>;

/**
 * Makes a test of a contract's case. A case that the adapter cannot fulfil also runs, and must fail with the expected error. So an expectation
 * that no longer holds is noticed, and another fault is not taken for the expected one.
 */
export function contractCase(title: string, run: () => Promise<void>, expected: ExpectedFailure | undefined): void {
  if (expected === undefined) {
    it(title, run);
    return;
  }
  const { reason, error } = expected;
  it.skipIf(error === undefined)(`${title} (cannot: ${reason})`, async () => {
    await expect(run()).rejects.toThrow(error);
  });
}
