// Package guest parses the network addresses of a VM into a form that is small and quick to compare: those that its guest
// tools report (guest.net), and those that its guestinfo.metadata configures with cloud-init.
//
// Floor 1: it imports nothing of this module.
package guest
