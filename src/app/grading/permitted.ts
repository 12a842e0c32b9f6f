import type { GradingSandbox } from '../../agents/grading/grading-sandboxes.ts';

/** Opens a sandbox that gives the permit back when it is disposed of, or cannot be opened. */
export async function openPermitted(permit: Disposable | undefined, open: () => Promise<GradingSandbox>): Promise<GradingSandbox> {
  try {
    const { session, signal, [Symbol.asyncDispose]: dispose } = await open();
    return {
      session,
      signal,
      [Symbol.asyncDispose]: async () => {
        try {
          await dispose();
        } finally {
          permit?.[Symbol.dispose]();
        }
      },
    };
  } catch (error) {
    permit?.[Symbol.dispose]();
    throw error;
  }
}
