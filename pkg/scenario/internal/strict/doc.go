// Package strict reads YAML into structs by their json tags, and reports everything that is wrong at once, each with its
// line: unknown keys with the nearest known one, keys given twice, values of the wrong kind.
//
// Nothing is accepted that the file does not say directly: no aliases, no merge keys. Types that have a form of their own
// in YAML implement [Decoder].
package strict
