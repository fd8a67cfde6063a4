// Package strict reads the YAML that people write into structs by their json tags, and reports everything that is wrong at
// once, each with its line: unknown keys with the nearest known one, keys given twice, values of the wrong kind.
//
// It accepts nothing that the file does not say directly: no aliases (which make small files huge), no merge keys. Types
// that have a form of their own in YAML implement [Decoder].
//
// Floor 0.
package strict
