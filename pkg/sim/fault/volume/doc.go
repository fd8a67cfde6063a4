// Package volume has the faults of volumes: those of Cloud Native Storage, and changes of volumes that it or Kubernetes does not
// know of.
//
// Floor 2, inside pkg/sim/fault.
package volume
