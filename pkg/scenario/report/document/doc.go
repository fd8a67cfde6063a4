// Package document writes results as one JSON document for programs. Its field names stay as they are: fields may come,
// none goes or changes its meaning. Times are RFC 3339, lengths of time numbers of seconds.
//
// Floor 4.
package document
