// Package upstream builds programs of other projects' Go modules, unmodified: with the go.mod and go.sum that they were
// released with, whose replace directives hold only for a main module, and therefore in a copy of the module's files.
//
//	t := upstream.Toolchain{Say: say}
//	err := t.Build(ctx, upstream.Module{Path: "example.com/m", Version: "v1.2.3", Sum: "h1:…"},
//		upstream.Program{Package: "./cmd/p", Path: "/where/it/goes"})
//
// It needs a Go toolchain, and the module proxy or a module cache that has everything.
//
// Floor 0: it imports nothing of this module.
package upstream
