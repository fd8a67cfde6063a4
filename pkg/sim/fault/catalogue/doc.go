// Package catalogue lists all kinds of faults by theme. Programs use it where no sandbox runs: for help, completion, the page
// docs/faults.md, and the check of a scenario's text. The engine gets its kinds from here.
//
// A new kind is one file in its theme's package and a line in that package's Kinds.
//
// Floor 2, above the packages of the themes.
package catalogue
