// Package identity is CSI's Identity service of this driver, in both of its modes: what it is called, what it can do,
// and whether it is ready.
//
// Floor 1: of this module it imports package names only.
package identity
