// Package volume is the faults of volumes: what Cloud Native Storage does with them, and what happens to them behind its
// back, or Kubernetes'.
//
// Floor 2, inside pkg/sim/fault.
package volume
