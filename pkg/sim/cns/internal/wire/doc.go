// Package wire has the answers of CNS's queries as a vCenter sends them: with the xsi:type of a volume's backing, which govmomi's
// types read but do not write. Without it clients treat a volume as neither a disk nor a file share, and upstream's driver
// panics.
//
// The names of the types are those on the wire.
//
// Floor 2, inside pkg/sim/cns.
package wire
