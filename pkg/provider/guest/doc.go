// Package guest is what a VM tells of its network, in a form that is small to hold and quick to compare: what its guest
// tools report (guest.net), and what its guestinfo.metadata has cloud-init configure.
//
// Floor 1: it imports nothing of this module.
package guest
