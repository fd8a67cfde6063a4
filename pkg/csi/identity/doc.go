// Package identity implements the CSI Identity service for both modes of the driver: its name, its capabilities, and whether
// it is ready.
//
// Floor 1: of this module it imports package names only.
package identity
