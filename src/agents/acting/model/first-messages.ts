import type { ModelAgent } from './model-agent.ts';

const SYSTEM = `You work on a task in a sandbox. Its working directory is {workdir}. Use the tools to look at the files, to change them and to run commands. Each command runs in a shell of its own that begins in the working directory. Call submit when you are done: what lies in the working directory is then graded.`;

/** What a model reads before its first answer. */
export function composeFirstMessages(
  { system = SYSTEM }: Pick<ModelAgent, 'system'>,
  { instruction, workdir }: { readonly instruction: string; readonly workdir: string },
): readonly { readonly role: 'system' | 'user'; readonly content: string }[] {
  return [
    { role: 'system', content: system.replaceAll('{workdir}', workdir) },
    { role: 'user', content: instruction },
  ];
}
