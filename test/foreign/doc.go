// Package foreign tests that other modules can import pkg/sim and pkg/provider: with a go.mod of their own, and no replace lines
// but the one for this checkout.
package foreign
