import type { ModelScript, ScriptedReply } from '../../test/support/model-server.ts';

/**
 * The model's answers in the pictures. It mends `sorting.py` in a task that has it. In other tasks, the seed decides whether it finds the
 * answer.
 */
export function playInPictures(asked: Parameters<ModelScript>[0], solution: string): ScriptedReply {
  const isSorting = asked.messages.some(({ content }) => content?.includes('sorting.py'));
  if (!isSorting) return answerBySeed(asked.seed ?? 0);
  const turn = asked.messages.filter(({ role }) => role === 'assistant').length;
  return mendSorting(solution)[turn] ?? { calls: [{ name: 'submit', arguments: {} }] };
}

function answerBySeed(seed: number): ScriptedReply {
  const content = seed % 5 < 2 ? '42\n' : 'no\n';
  const write = { name: 'write_file', arguments: { file: 'answer.txt', content } };
  return { calls: [write, { name: 'submit', arguments: {} }] };
}

function mendSorting(solution: string): readonly ScriptedReply[] {
  const look = 'from sorting import sort_records; print(sort_records([(2, "a"), (1, "b"), (2, "c")]))';
  const run = { name: 'run', arguments: { command: `python3 -c '${look}'` } };
  return [
    { reasoning: 'First I look at what the function does.', calls: [{ name: 'read_file', arguments: { file: 'sorting.py' } }] },
    { text: "Of the records that have the pivot's key, only the pivot is kept. I try it with two of one key.", calls: [run] },
    {
      text: 'One is lost. A third list keeps them, in the order in which they came.',
      calls: [{ name: 'write_file', arguments: { file: 'sorting.py', content: solution } }],
    },
    { calls: [run] },
  ];
}
