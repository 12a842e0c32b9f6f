import type { WorkspaceDiff } from '../arena/workspace-diff.ts';
import { countTests } from '../arena/verdict-components.ts';
import type { Turn } from '../rollouts/record/trajectory.ts';
import type { Verdict } from '../verification/verdict.ts';
import type { Acted, PerformedAction } from './acted/acted.ts';
import type { PlayedStep } from './play-steps.ts';
import type { Transcript, TranscriptStep, TranscriptTurn } from './transcript/transcript.ts';

/** Limits on the characters of one text, and of all texts: a store keeps one transcript for each episode. */
const MOST = { text: 32 * 1024, all: 2 ** 20 };

/** The transcript is for people, so long texts are shortened. */
export function buildTranscript(played: readonly PlayedStep[]): Transcript {
  const texts = new Texts();
  const steps = played.map(({ step, acted, verdict }): TranscriptStep => {
    const { course, stopReason, printed, rest } = acted;
    return {
      name: step.name,
      model: course?.model ?? null,
      prompt: (course?.prompt ?? []).map(({ role, content }) => ({ role, content: texts.shorten(content) })),
      turns: course
        ? course.turns.map((turn, at) => toTurn(turn, at, acted, texts))
        : (acted.performed ?? []).map((each) => toScripted(each, texts)),
      rest: rest && rest.files.length > 0 ? texts.shortenDiff(rest) : null,
      stopReason,
      printed: printed === undefined || printed === '' ? null : texts.shorten(printed),
      verdict: verdict ? toJudged(verdict, texts) : null,
    };
  });
  return { format: 1, steps, omitted: texts.omitted };
}

function toTurn(
  { message, toolCalls, observations, startedAt }: Turn,
  at: number,
  { performed = [] }: Acted,
  texts: Texts,
): TranscriptTurn {
  const answers = new Map(observations.map(({ toolCall, text }) => [toolCall, text]));
  const diffs = new Map(performed.filter(({ turn }) => turn === at).map(({ call, diff }) => [call, diff]));
  const ids = new Set<string | null>(toolCalls.map(({ id }) => id));
  return {
    content: texts.shorten(message.content),
    reasoning: message.reasoning && texts.shorten(message.reasoning),
    calls: toolCalls.map((call) => {
      const answer = answers.get(call.id);
      const diff = diffs.get(call.id);
      return {
        name: texts.shorten(call.name),
        arguments: texts.shorten(call.arguments),
        answer: answer === undefined ? null : texts.shorten(answer),
        diff: diff ? texts.shortenDiff(diff) : null,
      };
    }),
    remarks: observations.filter(({ toolCall }) => !ids.has(toolCall)).map(({ text }) => texts.shorten(text)),
    at: startedAt,
  };
}

/** Shows an action that no model requested as a turn. */
function toScripted({ action, text, diff }: PerformedAction, texts: Texts): TranscriptTurn {
  const { name, rest } = splitAction(action);
  const call = {
    name,
    arguments: texts.shorten(JSON.stringify(rest)),
    answer: texts.shorten(text),
    diff: diff ? texts.shortenDiff(diff) : null,
  };
  return { content: '', reasoning: null, calls: [call], remarks: [], at: null };
}

function splitAction(action: object): { readonly name: string; readonly rest: object } {
  const entries: readonly (readonly [string, unknown])[] = Object.entries(action);
  const name = entries.find(([key]) => key === 'action')?.[1];
  return { name: typeof name === 'string' ? name : 'tool', rest: Object.fromEntries(entries.filter(([key]) => key !== 'action')) };
}

function toJudged(verdict: Verdict, texts: Texts): TranscriptStep['verdict'] {
  const { reward, problem, gate, components, stages } = verdict;
  const { passed, total } = countTests(verdict);
  return {
    reward,
    problem: problem && { ...problem, detail: texts.shorten(problem.detail) },
    gate,
    components,
    stages: stages.map(({ stage, outcome, detail }) => ({ stage, outcome, detail: texts.shorten(detail) })),
    passed,
    total,
  };
}

/** Bounds the total of all texts. */
class Texts {
  omitted = 0;
  #left = MOST.all;

  shorten(text: string): string {
    const most = Math.min(MOST.text, this.#left);
    const kept = text.length <= most ? text : text.slice(0, most).toWellFormed();
    this.#left -= kept.length;
    this.omitted += text.length - kept.length;
    return kept === text ? text : `${kept}\n[… ${text.length - kept.length} characters left out …]`;
  }

  /** A patch is shown whole or not at all: a shortened one would suggest that the rest did not change. */
  shortenDiff({ files, patch }: WorkspaceDiff): {
    files: { path: string; change: 'added' | 'changed' | 'removed'; isShown: boolean }[];
    patch: string;
  } {
    const isKept = patch.length <= Math.min(MOST.text, this.#left);
    if (isKept) this.#left -= patch.length;
    else this.omitted += patch.length;
    const named = files.slice(0, MOST_FILES).map(({ path, change, isShown }) => ({ path, change, isShown: isShown && isKept }));
    return { files: named, patch: isKept ? patch : '' };
  }
}

/** The largest number of files named in one diff. */
const MOST_FILES = 200;
