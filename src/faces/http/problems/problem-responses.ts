import { PROBLEM_TYPE, problemSchema } from './problem.ts';

function describeResponse(description: string): { description: string; content: Record<string, { schema: typeof problemSchema }> } {
  return { description, content: { [PROBLEM_TYPE]: { schema: problemSchema } } };
}

/** The error answers of any call. */
export const PROBLEMS = {
  400: describeResponse('the request is invalid: see `errors`'),
  401: describeResponse('the caller is unknown'),
  403: describeResponse('the caller may not do this'),
  404: describeResponse('not found'),
  409: describeResponse('the request contradicts an earlier one'),
  413: describeResponse('the request is too large'),
  415: describeResponse('the content type is not supported'),
  422: describeResponse('the request cannot be carried out: see `detail`'),
  429: describeResponse('too many requests: see the header Retry-After'),
  500: describeResponse('a defect of Muster'),
  503: describeResponse('not available now: the store, the machine, or a shutdown'),
};
