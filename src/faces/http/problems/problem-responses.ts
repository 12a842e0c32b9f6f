import { PROBLEM_TYPE, problemSchema } from './problem.ts';

function response(description: string): { description: string; content: Record<string, { schema: typeof problemSchema }> } {
  return { description, content: { [PROBLEM_TYPE]: { schema: problemSchema } } };
}

/** What any call may answer in place of what was asked for. */
export const PROBLEMS = {
  400: response('the request is not one: see `errors`'),
  401: response('the caller is unknown'),
  403: response('the caller may not do this'),
  404: response('there is no such thing'),
  409: response('it contradicts an earlier request'),
  413: response('it is too large'),
  415: response('it is of a type that is not understood'),
  422: response('what it asks for cannot be done: see `detail`'),
  429: response('too much at a time: see the header Retry-After'),
  500: response('a defect of Muster'),
  503: response('not now: the store, the machine or a shutdown'),
};
