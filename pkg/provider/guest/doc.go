// Package guest is what a VM's guest tools report of its network, in a form that is small to hold and quick to compare.
//
// Floor 1: it imports nothing of this module.
package guest
