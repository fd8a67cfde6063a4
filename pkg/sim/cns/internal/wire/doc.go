// Package wire is the answers of CNS's queries as a vCenter sends them: with the type of what is behind a volume, which
// govmomi's types leave out when they are written (it reads it). Without it clients take a disk or a file share for neither,
// and upstream's driver panics.
//
// The names of the types are those that are sent.
//
// Floor 2, inside pkg/sim/cns.
package wire
