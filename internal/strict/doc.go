// Package strict reads YAML of users into structs by their json tags, and reports all problems at once, each with its
// line: unknown keys with the nearest known one, duplicate keys, values of the wrong kind.
//
// It accepts nothing that the file does not say directly: no aliases (which make small files huge), no merge keys. Types
// with a special form in YAML implement [Decoder].
//
// Floor 0.
package strict
