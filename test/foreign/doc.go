// Package foreign tests that other modules can import pkg/sim and pkg/provider: with their go.mod, and no replace lines
// but the one for this checkout.
package foreign
