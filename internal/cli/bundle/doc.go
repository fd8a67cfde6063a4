// Package bundle writes bug reports: an archive of what a maintainer asks for, of this machine and of every sandbox, alive,
// dead or hanging, with every secret masked (package mask). What cannot be had in time is named in the archive's index.
//
// It judges nothing, and sends nothing anywhere.
//
// Floor 5.
package bundle
