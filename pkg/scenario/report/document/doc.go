// Package document writes results as one JSON document for programs. Its format is stable: fields may be added, but none is
// removed or changes its meaning. Times are RFC 3339, durations are seconds.
//
// Floor 4.
package document
