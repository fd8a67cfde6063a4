// Package catalogue lists every kind of fault, by theme. It is all that a program needs to tell of them where nothing
// runs: help, completion, the page docs/faults.md, and the check of a scenario's text. The engine gets its kinds from here.
//
// A new kind is one file in its theme's package and a line in that package's Kinds.
//
// Floor 2, above the packages of the themes.
package catalogue
