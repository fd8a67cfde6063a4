// Package vmx writes the configuration file of a VM: what a client reads when it downloads the .vmx from a datastore. libvirt's
// ESX driver makes the XML of a domain from it.
//
// Floor 2, inside pkg/sim.
package vmx
