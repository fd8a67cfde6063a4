// Package clients runs programs that others wrote in other languages against a simulated vCenter: Debian's pyvmomi, libvirt's
// ESX driver and fence agents. A client that is not installed (python3-pyvmomi, libvirt-clients, fence-agents) is skipped, with the
// name of its package.
package clients
